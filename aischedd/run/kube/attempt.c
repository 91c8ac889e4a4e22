/* attempt.c - attempts of jobs, and the pods of each */
#include "aischedd/run/kube/attempt.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/make.h"
#include "aischedd/run/kube/shared.h"
#include "aischedd/run/kube/slot.h"
#include "libcommon/mem.h"

uint64_t kube_attempt_key(uint64_t job, uint32_t attempt)
{
	return hash_bytes(attempt, &job, sizeof(job));
}

struct kube_attempt *kube_attempt_find(struct kube *kube,
                                       const struct kube_owner *id)
{
	return map_find(&kube->attempts,
	                kube_attempt_key(id->job, id->attempt));
}

struct kube_attempt *kube_attempt_new(struct kube_space *space,
                                      const struct kube_owner *id)
{
	struct kube_attempt *a = xcalloc(1, sizeof(*a));
	struct kube *kube = space->kube;

	a->kube = kube;
	a->space = space;
	a->id = *id;
	TAILQ_INIT(&a->tasks);
	kube_object_name(a->name, kube->home.cluster, id->job, id->attempt);
	map_set(&kube->attempts, kube_attempt_key(id->job, id->attempt), a);
	return a;
}

void kube_attempt_each(struct kube *kube, kube_attempt_fn *fn, void *arg)
{
	/* Collect the keys first: an attempt that is freed changes the map. */
	uint64_t *key = xcalloc(kube->attempts.n + 1, sizeof(*key));
	size_t n = 0;

	for (size_t i = 0; i < kube->attempts.cap; i++)
		if (kube->attempts.slot[i].value)
			key[n++] = kube->attempts.slot[i].key;
	for (size_t i = 0; i < n; i++) {
		struct kube_attempt *a = map_find(&kube->attempts, key[i]);

		if (a)
			fn(a, arg);
	}
	free(key);
}

void kube_attempt_touch(struct kube_attempt *a)
{
	if (a->touched)
		return;
	a->touched = true;
	TAILQ_INSERT_TAIL(&a->kube->touched, a, of_touched);
	event_active(a->kube->soon, EV_TIMEOUT, 0);
}

/* Whether `pod` is later than `was`, a pod of the same index. A pod that has
 * ended is earlier than a pod that has not, whichever the watch reported first.
 * Between two ended pods, the one that ended last is later. If neither has
 * ended, `pod` is later unless it is being deleted. */
static bool counts_before(const struct kube_pod *pod,
                          const struct kube_pod *was)
{
	if (kube_pod_is_over(pod) != kube_pod_is_over(was))
		return kube_pod_is_over(was);
	if (kube_pod_is_over(pod))
		return pod->end >= was->end;
	return !pod->deleting;
}

static void set_at(struct kube_attempt *a, struct kube_task *task)
{
	struct kube_task *was = map_find(&a->at, (uint32_t)task->pod.index);

	if (task->pod.index >= 0 &&
	    (!was || counts_before(&task->pod, &was->pod)))
		map_set(&a->at, (uint32_t)task->pod.index, task);
}

static void unlink_task(struct kube_task *task)
{
	struct kube_attempt *a = task->attempt;
	struct kube_task *other;

	TAILQ_REMOVE(&a->tasks, task, of_list);
	TAILQ_INSERT_TAIL(&a->kube->pods.loose, task, of_list);
	task->attempt = NULL;
	if (map_find(&a->at, (uint32_t)task->pod.index) != task)
		return;
	map_del(&a->at, (uint32_t)task->pod.index);
	TAILQ_FOREACH(other, &a->tasks, of_list)
		if (other->pod.index == task->pod.index)
			set_at(a, other);
}

void kube_attempt_free(struct kube_attempt *a)
{
	struct kube *kube = a->kube;
	struct kube_task *task;

	map_del(&kube->attempts, kube_attempt_key(a->id.job, a->id.attempt));
	if (a->touched)
		TAILQ_REMOVE(&kube->touched, a, of_touched);
	kube_shared_put(a->make.shared);
	map_free(&a->at);
	while ((task = TAILQ_FIRST(&a->tasks))) {
		unlink_task(task);
		kube_task_count(kube, task);
		if (task->gone)
			kube_task_free(kube, task);
	}
	kube_keep_free(a->end.keep);
	kube_make_drop(a);
	kube_slot_free_all(&a->slots);
	kube_gang_free(&a->give.gang);
	free(a->uid);
	free(a->make.mount);
	free(a->make.wait);
	free(a);
}

void kube_attempt_link(struct kube_attempt *a, struct kube_task *task)
{
	/* Compare the namespaces, too: a pod in another namespace may name our
	 * Job as its owner. */
	if (!a->uid || strcmp(task->pod.owner, a->uid) != 0 ||
	    strcmp(task->pod.namespace, a->space->name) != 0)
		return;
	TAILQ_REMOVE(&a->kube->pods.loose, task, of_list);
	TAILQ_INSERT_TAIL(&a->tasks, task, of_list);
	task->attempt = a;
	/* the Job has pods: do not read Events about missing pods */
	a->start.why_ms = 0;
	set_at(a, task);
	kube_task_count(a->kube, task);
}

void kube_attempt_set_uid(struct kube_attempt *a, const char *uid)
{
	struct kube_task *task, *next;

	free(a->uid);
	a->uid = xstrdup(uid);
	for (task = TAILQ_FIRST(&a->kube->pods.loose); task; task = next) {
		next = TAILQ_NEXT(task, of_list);
		kube_attempt_link(a, task);
	}
}

struct kube_task *kube_attempt_at(struct kube_attempt *a, uint32_t index)
{
	return map_find(&a->at, index);
}

struct kube_task *kube_attempt_failed(struct kube_attempt *a, uint32_t *ret_n)
{
	struct kube_task *task, *found = NULL;

	*ret_n = 0;
	TAILQ_FOREACH(task, &a->tasks, of_list) {
		if (!kube_task_has_failed(task))
			continue;
		++*ret_n;
		if (!found ||
		    (a->make.replace ? task->pod.end >= found->pod.end
		                     : task->pod.end < found->pod.end))
			found = task;
	}
	return found;
}

void kube_attempt_lose(struct kube_attempt *a, struct kube_task *task)
{
	for (uint32_t i = 0; i < a->slots.n; i++)
		if (a->slots.slot[i].seen && !a->slots.slot[i].after &&
		    kube_attempt_at(a, a->slots.slot[i].index) == task)
			kube_slot_lose(&a->slots.slot[i], task->pod.name,
			               kube_task_loss(a, task));
	unlink_task(task);
}

bool kube_attempt_any_alive(struct kube_attempt *a)
{
	struct kube_task *task;

	TAILQ_FOREACH(task, &a->tasks, of_list)
		if (kube_task_is_alive(task))
			return true;
	return false;
}
