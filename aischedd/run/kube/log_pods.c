/* log_pods.c - the pods of an attempt, in the order of their output */
#include "aischedd/run/kube/log_pods.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/mem.h"

struct pod_list {
	struct kube_log_pod *list;
	size_t n, cap;
};

static void add(struct pod_list *pods, const struct kube_pod *pod, bool gone)
{
	if (!pod->ran)
		return;
	pods->list = GROW(pods->list, pods->n, &pods->cap);
	pods->list[pods->n++] =
	    (struct kube_log_pod){ .pod = pod, .gone = gone };
}

/* Compare pods by task, then by start time. The order is the same after a
 * restart of the daemon. */
static int in_order(const void *a, const void *b)
{
	const struct kube_pod *x = ((const struct kube_log_pod *)a)->pod;
	const struct kube_pod *y = ((const struct kube_log_pod *)b)->pod;

	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Set the ids of the logs of sorted pods: `again` counts the earlier pods of
 * the task. In a Job without indexes each pod is a task of its own. */
static void number(struct pod_list *pods, const struct kube_owner *owner)
{
	for (size_t i = 0; i < pods->n; i++) {
		struct kube_log_pod *p = &pods->list[i];
		int32_t index = p->pod->index;

		p->id = (struct log_id){ .job = owner->job,
			                 .attempt = owner->attempt,
			                 .task = index < 0 ? (uint32_t)i
			                                   : (uint32_t)index };
		if (i && p->id.task == p[-1].id.task)
			p->id.again = p[-1].id.again + 1;
	}
}

size_t kube_log_pods(struct kube *kube, const struct kube_owner *owner,
                     struct kube_log_pod **ret)
{
	struct kube_attempt *a = kube_attempt_find(kube, owner);
	struct kube_adoptee *j = kube_adopt_of(kube, owner->job);
	const struct kube_adopt_pod *other;
	const struct kube_task *task;
	struct pod_list pods = { 0 };

	if (a)
		TAILQ_FOREACH(task, &a->tasks, of_list)
			if (task->pod.index >= 0)
				add(&pods, &task->pod, task->gone);
	if (j && j->run.attempt == owner->attempt)
		TAILQ_FOREACH(other, &j->pods, of_list)
			if (!other->former)
				add(&pods, &other->pod, other->gone);
	if (pods.n)
		qsort(pods.list, pods.n, sizeof(*pods.list), in_order);
	number(&pods, owner);
	*ret = pods.list;
	return pods.n;
}

const struct kube_pod *kube_log_pod_of(struct kube *kube,
                                       const struct run_exec_wish *wish)
{
	const struct kube_owner owner = { wish->job, wish->attempt };
	const struct kube_pod *pod = NULL;
	struct kube_log_pod *list;
	size_t n = kube_log_pods(kube, &owner, &list);

	for (size_t i = 0; i < n; i++)
		if (list[i].id.task == wish->task && !list[i].gone &&
		    !kube_pod_is_over(list[i].pod))
			pod = list[i].pod;
	free(list);
	return pod;
}

/* Whether the attempt goes on and replaces its pod `pod`, which has ended. */
static bool replaces(struct kube_attempt *a, const struct kube_pod *pod)
{
	const struct kube_task *task;

	if (a->end.stop || a->end.failing || a->end.over)
		return false;
	if (a->make.replace && pod->exit_code)
		return true;
	TAILQ_FOREACH(task, &a->tasks, of_list)
		if (&task->pod == pod)
			return a->make.loss.whole &&
			       kube_task_comes_back(a, task);
	return false;
}

/* Whether another pod will replace the last pod of a task, because that pod
 * failed or was lost. */
static bool awaits_another(struct kube *kube, const struct kube_log_pod *last)
{
	const struct kube_owner owner = { last->id.job, last->id.attempt };
	struct kube_attempt *a = kube_attempt_find(kube, &owner);
	struct kube_adoptee *j = kube_adopt_of(kube, owner.job);

	if (!kube_pod_is_over(last->pod))
		return false;
	if (a)
		return replaces(a, last->pod);
	return j && last->pod->exit_code && last->pod->index >= 0 &&
	       !kube_adopt_is_over(j) && !j->run.stop && !j->at.suspended &&
	       !j->gone;
}

bool kube_log_pods_next(struct runner *r, struct log_id *id, bool wait)
{
	const struct kube_owner owner = { id->job, id->attempt };
	struct kube_log_pod *list;
	size_t n = kube_log_pods(kube_of(r), &owner, &list), i = 0;
	bool found;

	while (i < n && log_id_cmp(&list[i].id, id) < 0)
		i++;
	found = i < n;
	if (found && wait && id->again && i &&
	    list[i - 1].id.task == id->task && list[i].id.task != id->task)
		found = !awaits_another(kube_of(r), &list[i - 1]);
	if (found)
		*id = list[i].id;
	free(list);
	return found;
}
