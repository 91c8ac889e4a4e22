/* recover.c - find the daemon's attempts in the cluster when the daemon
 * starts */
#include "aischedd/run/kube/recover.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/jobs.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/shared.h"
#include "aischedd/run/kube/space/ports.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

/* An attempt that recover() asked about. */
struct kube_asked {
	struct kube_owner id;
	bool started; /* the daemon knows that the start was complete */
	char *space;  /* its namespace; NULL: not known */
};

/* Returns the Job of this name in one of the namespaces, or NULL. If several
 * namespaces have one, prefer a Job that is not being deleted: older policies
 * let users put our labels on a Job of theirs while it was being deleted. */
static struct kube_job *search(struct kube *kube, const char *name)
{
	struct kube_job *ret = NULL;

	for (size_t i = 0; i < kube->spaces.n; i++) {
		struct kube_job *job = kube_jobs_find(kube->spaces.s[i], name);

		if (job && (!ret || (ret->deleting && !job->deleting)))
			ret = job;
	}
	return ret;
}

/* Returns the Job of the attempt, or NULL. */
static struct kube_job *job_of(struct kube *kube, const struct kube_asked *ask)
{
	const struct kube_owner *id = &ask->id;
	char name[KUBE_NAME_SIZE];
	struct kube_space *space;
	struct kube_job *job;

	kube_object_name(name, kube->home.cluster, id->job, id->attempt);
	if (ask->space) {
		space = kube_space_find(kube, ask->space);
		job = space ? kube_jobs_find(space, name) : NULL;
	} else {
		job = search(kube, name);
	}
	return job && job->tasks && job->owner.job == id->job &&
	               job->owner.attempt == id->attempt
	           ? job
	           : NULL;
}

/* Add to the map the attempts that have a pod in a namespace whose Jobs cannot
 * be listed. Pods are watched in the whole cluster. */
static void find_hidden(const struct kube *kube, struct map *ret)
{
	struct kube_task *task;
	size_t at = 0;

	if (kube_space_all_known(kube))
		return;
	while ((task = map_each(&kube->pods.ours, &at))) {
		const struct kube_space *space =
		    kube_space_find(kube, task->pod.namespace);

		if (space && !kube_space_is_known(space))
			map_set(ret,
			        kube_attempt_key(task->owner.job,
			                         task->owner.attempt),
			        task);
	}
}

/* Whether the attempt's Job may be in a namespace whose Jobs cannot be listed:
 * a pod of the attempt is there, or it is an adopted Job that was not seen yet.
 * An attempt without pods does not count, as it can be started again. */
static bool is_hidden(struct kube *kube, const struct map *hidden,
                      const struct kube_asked *ask)
{
	const struct kube_adoptee *j = kube_adopt_of(kube, ask->id.job);
	const struct kube_space *space =
	    ask->space ? kube_space_find(kube, ask->space) : NULL;

	if (space && kube_space_is_known(space))
		return false;
	if (map_find(hidden, kube_attempt_key(ask->id.job, ask->id.attempt)))
		return true;
	return j && !j->seen && !kube_space_all_known(kube);
}

static void answer_unknown(struct kube *kube, const struct kube_owner *id)
{
	kube->fn(&(struct run_event){ .kind = RUN_UNKNOWN,
	                              .job = id->job,
	                              .attempt = id->attempt },
	         kube->arg);
}

/* Returns the last other pod of the attempt that had a node and the same index
 * as `task`; NULL: there is none. */
static struct kube_task *before(struct kube_attempt *a,
                                const struct kube_task *task)
{
	struct kube_task *other, *found = NULL;

	TAILQ_FOREACH(other, &a->tasks, of_list)
		if (other != task && other->pod.index == task->pod.index &&
		    *other->pod.node &&
		    (!found || other->pod.end >= found->pod.end))
			found = other;
	return found;
}

/*
 * Set the slots of the attempt: one for each pod that has a node and was not
 * told to leave. A pod that is not bound yet, but replaces one that failed, has
 * the node of that pod; if it replaces a lost one, resize() says where its task
 * is. Returns whether the start was complete: each of the
 * `started` tasks with which the attempt started has run.
 */
static bool find_slots(struct kube_attempt *a, uint32_t started)
{
	uint32_t n = 0, ran = 0;
	struct kube_slot *slot;
	struct kube_task *task;
	size_t size = 0;

	TAILQ_FOREACH(task, &a->tasks, of_list)
		size++;
	slot = xcalloc(size + 1, sizeof(*slot));
	TAILQ_FOREACH(task, &a->tasks, of_list) {
		uint32_t index = (uint32_t)task->pod.index;
		struct kube_task *was = NULL;
		const char *node = task->pod.node;

		if (task->pod.index < 0 || index >= a->slots.have ||
		    kube_attempt_at(a, index) != task)
			continue;
		if (a->make.replace)
			was = before(a, task);
		if (was && !*node && !kube_task_is_lost(a, was))
			node = was->pod.node;
		ran += index < started && (was || task->pod.ran);
		if (!*node || !strcmp(task->pod.leave, KUBE_LEAVE_SHRINK))
			continue;
		slot[n++] = (struct kube_slot){ .node = xstrdup(node),
			                        .index = index,
			                        .milli = 1000,
			                        .seen = true };
	}
	a->slots.slot = slot;
	a->slots.n = n;
	a->slots.indexes = a->slots.have;
	return ran >= started;
}

static void recover_one(struct kube *kube, const struct kube_asked *ask)
{
	const struct kube_owner *id = &ask->id;
	struct kube_job *job = job_of(kube, ask);
	struct kube_attempt *a;
	struct kube_task *task;
	struct kube_home home;
	int64_t start = 0;
	bool whole;

	if (kube_adopt_run_recover(kube, id))
		return;
	if (!job) {
		answer_unknown(kube, id);
		return;
	}
	home = kube_space_home(job->space);
	a = kube_attempt_new(job->space, id);
	kube_attempt_set_uid(a, job->uid);
	a->slots.have = job->indexes;
	a->make.replace = job->replace;
	a->make.loss = job->loss;
	a->make.once = job->once;
	whole = find_slots(a, job->tasks);
	a->give.named = !job->queue;
	kube_give_recall(a);
	/* If the job goes on without lost tasks, find_slots() may return false
	 * for a started attempt, because of a pod that replaces a lost one and
	 * has not run yet: then trust ask->started. */
	if (!whole && !(ask->started && a->make.loss.least)) {
		answer_unknown(kube, id);
		return;
	}
	TAILQ_FOREACH(task, &a->tasks, of_list)
		if (task->pod.start > start)
			start = task->pod.start;
	a->start.told = true;
	a->telling.lost = a->make.loss.whole > 0;
	/* the Service may not have been made before the restart */
	if (job->queue)
		a->make.service = kube_object_service(
		    &home, &(struct run_job){ .job = id->job,
		                              .attempt = id->attempt,
		                              .queue = job->queue });
	kube_tell(a, &(struct run_event){ .kind = RUN_STARTED,
	                                  .time = start,
	                                  .space = job->space->name });
	/* The attempt may have ended while no daemon ran: report that at
	 * once. */
	kube_life_step(a);
}

void kube_recover(struct runner *r, size_t n, const struct run_attempt *list)
{
	struct kube *kube = kube_of(r);
	struct kube_recovery *rec = &kube->recovery;

	rec->asked = xcalloc(n + 1, sizeof(*rec->asked));
	rec->n = n;
	for (size_t i = 0; i < n; i++)
		rec->asked[i] = (struct kube_asked){
			.id = { list[i].job, list[i].attempt },
			.started = list[i].started,
			.space = list[i].space ? xstrdup(list[i].space) : NULL,
		};
	kube_recover_try(kube);
}

void kube_recover_free(struct kube *kube)
{
	struct kube_recovery *r = &kube->recovery;

	for (size_t i = 0; i < r->n; i++)
		free(r->asked[i].space);
	free(r->asked);
	map_free(&r->open);
}

/* Whether enough is known to answer recover(): the version, which must be new
 * enough, and the objects of each watch. Namespaces to which access is refused
 * do not count. */
static bool is_ready(const struct kube *kube)
{
	for (int i = 0; i < SEE_N; i++)
		if (i != SEE_JOBS && i != SEE_CLAIMS &&
		    !kube->sight.synced[i] &&
		    (i < SEE_CLAIMS || !kube->sight.blind[i].code))
			return false;
	for (size_t i = 0; i < kube->spaces.n; i++) {
		const struct kube_sight *sight = &kube->spaces.s[i]->sight;

		if (sight->watch[SEE_CLAIMS] && !sight->synced[SEE_CLAIMS] &&
		    !sight->blind[SEE_CLAIMS].code)
			return false;
	}
	return kube_space_all_tried(kube) && kube->version.known &&
	       !kube->version.old.code;
}

bool kube_recover_is_open(const struct kube *kube, const struct kube_owner *id)
{
	return map_find(&kube->recovery.open,
	                kube_attempt_key(id->job, id->attempt));
}

/* Answer recover() for all attempts, except those in namespaces whose Jobs
 * cannot be listed. */
static void answer_all(struct kube *kube)
{
	struct kube_recovery *r = &kube->recovery;
	struct map hidden = { 0 }, open = { 0 };
	struct kube_task *task;
	size_t left = 0, at = 0;

	find_hidden(kube, &hidden);
	for (size_t i = 0; i < r->n; i++) {
		struct kube_asked *ask = &r->asked[i];

		if (!is_hidden(kube, &hidden, ask)) {
			recover_one(kube, ask);
			free(ask->space);
			continue;
		}
		map_set(&open, kube_attempt_key(ask->id.job, ask->id.attempt),
		        r);
		r->asked[left++] = *ask;
	}
	r->n = left;
	map_free(&hidden);
	map_free(&r->open);
	r->open = open;
	while ((task = map_each(&kube->pods.ours, &at)))
		kube_task_count(kube, task);
}

void kube_recover_try(struct kube *kube)
{
	struct kube_recovery *r = &kube->recovery;

	if (!r->asked || !kube_lease_left_ms(kube->lease) || !is_ready(kube))
		return;
	if (r->done) {
		if (r->n)
			answer_all(kube);
		return;
	}
	r->done = true;
	kube_nodes_flush(kube->nodes);
	kube_claims_tell(kube);
	kube_devices_known(kube);
	answer_all(kube);
	kube_nodes_flush(kube->nodes);
	kube->fn(&(struct run_event){ .kind = RUN_SYNCED }, kube->arg);
	kube_recover_sweep(kube);
	kube_shared_recall(kube);
	kube_ports_step(kube);
	kube_adopt_step_all(kube);
}

void kube_recover_sweep_one(struct kube *kube, struct kube_job *job)
{
	const struct kube_attempt *a = kube_attempt_find(kube, &job->owner);

	if (kube->recovery.done && kube_lease_left_ms(kube->lease) &&
	    kube_space_is_known(job->space) && !job->removing &&
	    !job->deleting && clock_boot_ms() >= job->rest_ms &&
	    (!a || a->space != job->space) &&
	    !kube_recover_is_open(kube, &job->owner))
		kube_ask_remove(job);
}

void kube_recover_sweep(struct kube *kube)
{
	struct kube_job *job;
	size_t at = 0;

	while ((job = map_each(&kube->jobs, &at)))
		kube_recover_sweep_one(kube, job);
}
