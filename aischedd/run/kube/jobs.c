/* jobs.c - our Jobs, as the watch reports them */
#include "aischedd/run/kube/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/agent.h"
#include "aischedd/run/kube/object/secret.h"
#include "aischedd/run/kube/shared.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

static uint32_t number_of(const json_t *value)
{
	const char *s = json_string_value(value);

	return s ? (uint32_t)strtoul(s, NULL, 10)
	         : (uint32_t)json_integer_value(value);
}

/* Returns the number of tasks in one of our annotations. Returns 0 if no job
 * can have that many tasks: somebody else may have changed the annotation. */
static uint32_t tasks_noted(const json_t *notes, const char *name)
{
	uint32_t n = number_of(json_object_get(notes, name));

	return n > LIMIT_TASKS ? 0 : n;
}

uint32_t kube_jobs_tasks(const json_t *obj)
{
	return tasks_noted(
	    json_object_get(json_object_get(obj, "metadata"), "annotations"),
	    KUBE_NOTE_TASKS);
}

struct spec_loss kube_jobs_loss(const json_t *obj)
{
	const json_t *notes =
	    json_object_get(json_object_get(obj, "metadata"), "annotations");

	return (struct spec_loss){ tasks_noted(notes, KUBE_NOTE_LEAST),
		                   tasks_noted(notes, KUBE_NOTE_WHOLE) };
}

static void job_free(struct kube_job *job)
{
	free(job->name);
	free(job->uid);
	free(job->queue);
	free(job);
}

static void job_lose(struct kube *kube, struct kube_job *job)
{
	struct kube_attempt *a = kube_attempt_find(kube, &job->owner);

	map_del(&kube->jobs, kube_space_key(job->space, job->name));
	kube_shared_put(job->shared);
	if (a && a->uid && !strcmp(a->uid, job->uid)) {
		a->end.job_gone = true;
		kube_attempt_touch(a);
	}
	job_free(job);
}

/* Returns the queue of the Job, on the heap, if the Job's pods find each other
 * by a Service. Otherwise, or if no label names the queue, returns NULL. */
static char *queue_of(const json_t *obj)
{
	const json_t *pods = json_object_get(
	    json_object_get(json_object_get(obj, "spec"), "template"), "spec");
	const json_t *labels =
	    json_object_get(json_object_get(obj, "metadata"), "labels");
	const char *queue = kube_text_at(labels, KUBE_LABEL_QUEUE);

	return json_object_get(pods, "subdomain") && queue ? xstrdup(queue)
	                                                   : NULL;
}

struct kube_job *kube_jobs_find(const struct kube_space *space,
                                const char *name)
{
	return map_find(&space->kube->jobs, kube_space_key(space, name));
}

static void on_job(struct kube_space *space, json_t *obj, bool deleted)
{
	struct kube *kube = space->kube;
	const json_t *meta = json_object_get(obj, "metadata");
	const char *name = kube_text_at(meta, "name");
	const char *uid = kube_text_at(meta, "uid");
	const json_t *notes = json_object_get(meta, "annotations");
	const json_t *spec = json_object_get(obj, "spec");
	char our_name[KUBE_NAME_SIZE];
	struct kube_owner owner;
	struct kube_job *job;
	const char *shared;

	if (kube_standin_job_seen(space, obj, deleted))
		return;
	if (!name || !uid || !kube_object_is_ours(obj, &kube->home, &owner)) {
		kube_adopt_seen(space, obj, deleted);
		return;
	}
	kube_object_name(our_name, kube->home.cluster, owner.job,
	                 owner.attempt);
	if (strcmp(name, our_name) != 0)
		/* others made this Job, and copied our labels to it */
		return;
	shared = kube_object_secret_shared(obj, &kube->home);
	job = kube_jobs_find(space, name);
	if (job && strcmp(job->uid, uid) != 0) {
		job_lose(kube, job);
		job = NULL;
	}
	if (deleted) {
		if (job)
			job_lose(kube, job);
		return;
	}
	if (!job && !kube_jobs_tasks(obj))
		return;
	if (!job) {
		job = xcalloc(1, sizeof(*job));
		job->space = space;
		job->name = xstrdup(name);
		job->uid = xstrdup(uid);
		job->queue = queue_of(obj);
		if (shared)
			job->shared = kube_shared_get(space, shared);
		map_set(&kube->jobs, kube_space_key(space, name), job);
	}
	job->owner = owner;
	job->marked = false;
	job->deleting = json_object_get(meta, "deletionTimestamp") != NULL;
	job->indexes = number_of(json_object_get(spec, "completions"));
	job->replace = number_of(json_object_get(spec, "backoffLimitPerIndex"));
	job->tasks = kube_jobs_tasks(obj);
	job->loss = kube_jobs_loss(obj);
	job->once = json_object_get(notes, KUBE_NOTE_ONCE) != NULL;
	kube_recover_sweep_one(kube, job);
}

void kube_jobs_remove_later(struct kube_job *job)
{
	job->removing = false;
	job->rest_ms = clock_boot_ms() + KUBE_REST_MS;
}

static void jobs_drop(struct kube *kube, const struct kube_space *space)
{
	uint64_t *gone = xcalloc(kube->jobs.n + 1, sizeof(*gone));
	size_t n = 0;

	for (size_t i = 0; i < kube->jobs.cap; i++) {
		struct kube_job *job = kube->jobs.slot[i].value;

		if (job && job->marked && job->space == space)
			gone[n++] = kube->jobs.slot[i].key;
	}
	for (size_t i = 0; i < n; i++)
		job_lose(kube, map_find(&kube->jobs, gone[i]));
	free(gone);
}

void kube_jobs_news(struct kube_space *space, enum kube_news news, json_t *obj)
{
	struct kube *kube = space->kube;
	struct kube_job *job;
	size_t at = 0;

	if (news == KUBE_RESET)
		while ((job = map_each(&kube->jobs, &at)))
			job->marked |= job->space == space;
	else if (news == KUBE_SYNCED)
		jobs_drop(kube, space);
	else if (news != KUBE_TROUBLE)
		on_job(space, obj, news == KUBE_DELETED);
}

void kube_jobs_free(struct kube *kube)
{
	struct kube_job *job;
	size_t at = 0;

	while ((job = map_each(&kube->jobs, &at)))
		job_free(job);
	map_free(&kube->jobs);
}
