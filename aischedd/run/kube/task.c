/* task.c - a pod of our Jobs, and what its state means */
#include "aischedd/run/kube/task.h"

#include <stdlib.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/kube.h"

bool kube_task_is_bound(const struct kube_task *task)
{
	return *task->pod.node || task->binding;
}

bool kube_task_has_failed(const struct kube_task *task)
{
	const struct kube_pod *pod = &task->pod;

	return kube_pod_is_over(pod) && kube_pod_is_bad(pod) && !*pod->leave &&
	       !pod->deleting && !kube_pod_is_lost(pod);
}

bool kube_task_is_alive(const struct kube_task *task)
{
	return kube_task_is_bound(task) && !kube_pod_is_over(&task->pod) &&
	       !kube_task_is_given_up(task);
}

bool kube_task_is_given_up(const struct kube_task *task)
{
	return task->forced && task->pod.deleting;
}

bool kube_task_is_lost(const struct kube_attempt *a,
                       const struct kube_task *task)
{
	if (kube_task_is_given_up(task))
		return true;
	return kube_pod_is_over(&task->pod) &&
	       (kube_pod_is_lost(&task->pod) ||
	        (task->pod.deleting && !a->end.stop && !a->end.failing));
}

/* Whether the Job controller makes another pod for the index of this pod. It
 * does not count disrupted pods as failed. */
static bool index_lives(const struct kube_attempt *a,
                        const struct kube_task *task)
{
	const struct kube_task *other;
	uint32_t failed = 0, before = (uint32_t)task->pod.fails;

	if (task->pod.phase != POD_FAILED || task->pod.disrupted)
		return task->pod.phase == POD_FAILED;
	TAILQ_FOREACH(other, &a->tasks, of_list)
		failed += other->pod.index == task->pod.index &&
		          other->pod.phase == POD_FAILED &&
		          !other->pod.disrupted;
	/* Earlier pods may have been deleted before this daemon was started. */
	return (failed > before ? failed : before + 1) <= a->make.replace;
}

bool kube_task_comes_back(const struct kube_attempt *a,
                          const struct kube_task *task)
{
	return a->make.loss.least && kube_task_is_lost(a, task) &&
	       !*task->pod.leave && index_lives(a, task);
}

const char *kube_task_loss(const struct kube_attempt *a,
                           const struct kube_task *task)
{
	const struct kube_nodes *nodes = a->kube->nodes;

	if (*task->pod.node && !kube_nodes_is_there(nodes, task->pod.node))
		return "the node is no longer there";
	if (*task->pod.node && !kube_nodes_is_up(nodes, task->pod.node))
		return "the node is lost";
	return "was deleted";
}

void kube_task_count(struct kube *kube, struct kube_task *task)
{
	bool counts = !task->attempt && !task->gone && *task->pod.node &&
	              !kube_pod_is_over(&task->pod) &&
	              !kube_recover_is_open(kube, &task->owner);

	if (counts == task->counted)
		return;
	task->counted = counts;
	kube_nodes_use(kube->nodes, task->pod.node, &task->pod.use, counts);
}

void kube_task_free(struct kube *kube, struct kube_task *task)
{
	TAILQ_REMOVE(&kube->pods.loose, task, of_list);
	if (task->counted)
		kube_nodes_use(kube->nodes, task->pod.node, &task->pod.use,
		               false);
	map_del(&kube->pods.ours, kube_text_key(task->pod.uid));
	kube_pod_fini(&task->pod);
	free(task);
}
