/* recover.c - what the cluster has when the daemon starts */
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/adopt.h"
#include "aischedd/run/kube/client/call.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

static struct job_seen *job_of(struct kube *kube, const struct kube_owner *id)
{
	char name[KUBE_NAME_SIZE];

	kube_object_name(name, kube->home.cluster, id->job, id->attempt);
	return map_find(&kube->jobs, kube_text_key(name));
}

static void answer(struct kube *kube, const struct kube_owner *id,
                   enum run_event_kind kind, int64_t time)
{
	kube->fn(&(struct run_event){ .kind = kind,
	                              .job = id->job,
	                              .attempt = id->attempt,
	                              .time = time },
	         kube->arg);
}

/* The pod of the same index that failed and that this one replaces. */
static struct kube_task *before(struct kube_attempt *a,
                                const struct kube_task *task)
{
	struct kube_task *other;

	TAILQ_FOREACH(other, &a->tasks, of_list)
		if (other != task && other->pod.index == task->pod.index &&
		    *other->pod.node)
			return other;
	return NULL;
}

/*
 * Its tasks are those that it was started with, less those that left, plus
 * those that joined it.  Where one of the first did not run, the start was
 * under way, or it broke; false.
 */
static bool find_slots(struct kube_attempt *a, uint32_t started)
{
	uint32_t size = started + a->have, n = 0, ran = 0;
	struct slot *slot = xcalloc(size + 1, sizeof(*slot));
	struct kube_task *task;

	TAILQ_FOREACH(task, &a->tasks, of_list) {
		uint32_t index = (uint32_t)task->pod.index;
		struct kube_task *was = NULL;
		const char *node = task->pod.node;

		if (task->pod.index < 0 || index >= a->have || n == size ||
		    kube_task_at(a, index) != task)
			continue;
		if (a->replace)
			was = before(a, task);
		if (was && !*node)
			node = was->pod.node;
		ran += index < started && (was || task->pod.ran);
		if (!*node || !strcmp(task->pod.leave, KUBE_LEAVE_SHRINK))
			continue;
		slot[n++] = (struct slot){ .node = xstrdup(node),
			                   .index = index,
			                   .seen = true };
	}
	a->slot = slot;
	a->nslots = n;
	a->indexes = a->have;
	return ran >= started;
}

static void recover_one(struct kube *kube, const struct kube_owner *id)
{
	struct job_seen *job = job_of(kube, id);
	struct kube_attempt *a;
	struct kube_task *task;
	int64_t start = 0;

	if (kube_adopt_recover(kube, id))
		return;
	if (!job || job->owner.job != id->job ||
	    job->owner.attempt != id->attempt) {
		answer(kube, id, RUN_UNKNOWN, 0);
		return;
	}
	a = kube_attempt_new(kube, id);
	kube_attempt_set_uid(a, job->uid);
	a->have = job->indexes;
	a->replace = job->replace;
	if (!find_slots(a, job->tasks)) {
		answer(kube, id, RUN_UNKNOWN, 0);
		return;
	}
	TAILQ_FOREACH(task, &a->tasks, of_list)
		if (task->pod.start > start)
			start = task->pod.start;
	a->started = true;
	if (job->queue) /* whether it is there is not known */
		a->service = kube_object_service(
		    &kube->home, &(struct run_job){ .job = id->job,
		                                    .attempt = id->attempt,
		                                    .queue = job->queue });
	answer(kube, id, RUN_STARTED, start);
	/* If it has ended meanwhile, that is told now. */
	kube_attempt_step(a);
}

void kube_recover(struct runner *r, size_t n, const uint64_t *job,
                  const uint32_t *attempt)
{
	struct kube *kube = kube_of(r);

	kube->want_job = xcalloc(n + 1, sizeof(*job));
	kube->want_attempt = xcalloc(n + 1, sizeof(*attempt));
	kube->nwant = n;
	for (size_t i = 0; i < n; i++) {
		kube->want_job[i] = job[i];
		kube->want_attempt[i] = attempt[i];
	}
	kube_try_recover(kube);
}

void kube_try_recover(struct kube *kube)
{
	uint64_t *job = kube->want_job;
	uint32_t *attempt = kube->want_attempt;

	for (int i = 0; i < SEE_N; i++)
		if (!kube->synced[i])
			return;
	if (kube->recovered || !job || !kube_lease_left_ms(kube->lease) ||
	    !kube->version_known || kube->old.code)
		return;
	kube->recovered = true;
	kube->want_job = NULL;
	kube->want_attempt = NULL;
	kube_nodes_flush(kube->nodes);
	for (size_t i = 0; i < kube->nwant; i++)
		recover_one(kube, &(struct kube_owner){ job[i], attempt[i] });
	free(job);
	free(attempt);
	kube->fn(&(struct run_event){ .kind = RUN_SYNCED }, kube->arg);
	kube_sweep(kube);
	kube_shared_recall(kube);
	kube_adopt_step_all(kube);
}

void kube_sweep_one(struct kube *kube, struct job_seen *job)
{
	if (kube->recovered && kube_lease_left_ms(kube->lease) &&
	    !job->removing && !job->deleting &&
	    clock_boot_ms() >= job->rest_ms &&
	    !kube_attempt_find(kube, &job->owner))
		kube_ask_remove(kube, job);
}

void kube_sweep(struct kube *kube)
{
	struct job_seen *job;
	size_t at = 0;

	while ((job = map_each(&kube->jobs, &at)))
		kube_sweep_one(kube, job);
}
