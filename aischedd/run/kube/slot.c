/* slot.c - map tasks to pods, as jobs grow and shrink */
#include "aischedd/run/kube/slot.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/device/devices.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

void kube_slot_free_all(struct kube_slots *slots)
{
	for (uint32_t i = 0; i < slots->n; i++) {
		free(slots->slot[i].node);
		free(slots->slot[i].lost);
		free(slots->slot[i].after);
	}
	free(slots->slot);
}

void kube_slot_lose(struct kube_slot *slot, const char *pod, const char *why)
{
	if (!slot->lost)
		slot->lost =
		    xasprintf("pod %s on node %s: %s", pod, slot->node, why);
}

struct kube_slot *kube_slot_at(struct kube_attempt *a, uint32_t index)
{
	/* Unless the job was resized, slot i has index i. */
	if (index < a->slots.n && a->slots.slot[index].index == index)
		return &a->slots.slot[index];
	for (uint32_t i = 0; i < a->slots.n; i++)
		if (a->slots.slot[i].index == index)
			return &a->slots.slot[i];
	return NULL;
}

static bool index_is_taken(struct kube_attempt *a, const struct kube_slot *slot,
                           uint32_t n, uint32_t index)
{
	struct kube_task *task = kube_attempt_at(a, index);
	struct kube_part part;

	for (uint32_t i = 0; i < n; i++)
		if (slot[i].node && slot[i].index == index)
			return true;
	if (task && kube_task_comes_back(a, task))
		return false;
	/* An elastic job need not wait until the cluster has freed the GPUs of
	 * an earlier task of this index. A task placed anew keeps its index. */
	if (a->start.told && a->give.by_claims && !a->make.loss.whole &&
	    kube_give_found(a, index, &part))
		return true;
	return task && (kube_task_is_bound(task) || *task->pod.leave ||
	                kube_pod_is_over(&task->pod));
}

/* Whether task k of the job can be the task of a pod on this node with these
 * GPUs, and these units of a partition; 0: the pod's GPUs are not known. */
static bool is_task(const struct run_job *job, uint32_t k, const char *node,
                    uint64_t gpus, uint8_t units)
{
	uint64_t want = job->task ? job->task[k].gpus : 0;

	return !strcmp(job->node_name[k], node) &&
	       (!gpus || !want ||
	        (gpus == want && units == job->task[k].units));
}

/* Whether the slot's pod is lost and the daemon places its task anew. */
static bool is_given_up(struct kube_attempt *a, const struct kube_slot *slot)
{
	struct kube_task *task = kube_attempt_at(a, slot->index);

	return a->make.loss.least &&
	       (slot->lost ||
	        (task && !slot->after && kube_task_is_lost(a, task)));
}

/* Fill the slots of tasks that already run: first from the old slots on the
 * same nodes, then from other running pods on these nodes. */
static void keep_slots(struct kube_attempt *a, struct kube_slot *to,
                       const struct run_job *job)
{
	uint32_t n = job->ntasks;
	struct kube_task *task;

	for (uint32_t i = 0; i < a->slots.n; i++)
		for (uint32_t k = 0; k < n; k++)
			if (!to[k].node && !is_given_up(a, &a->slots.slot[i]) &&
			    is_task(job, k, a->slots.slot[i].node,
			            a->slots.slot[i].gpus,
			            a->slots.slot[i].part.units)) {
				to[k] = a->slots.slot[i];
				a->slots.slot[i].node = xstrdup("");
				a->slots.slot[i].lost = NULL;
				a->slots.slot[i].after = NULL;
				break;
			}
	TAILQ_FOREACH(task, &a->tasks, of_list) {
		uint32_t index = (uint32_t)task->pod.index;
		bool known = !kube_task_is_alive(task) || *task->pod.leave;
		struct kube_part part;
		uint64_t gpus = kube_give_found(a, index, &part);

		for (uint32_t k = 0; !known && k < n; k++)
			known = to[k].node && to[k].index == index;
		for (uint32_t k = 0; !known && k < n; k++)
			if (!to[k].node &&
			    is_task(job, k, task->pod.node, gpus, part.units)) {
				to[k] = (struct kube_slot){ .node = xstrdup(
								task->pod.node),
					                    .index = index };
				known = true;
			}
	}
}

static void set_gpus(struct kube_slot *slot, const struct run_job *job,
                     uint32_t k)
{
	const struct snap_task *task = job->task ? &job->task[k] : NULL;
	uint8_t profile =
	    task && task->gpus ? mig_find(job->spec->gpu_type) : 0;

	slot->gpus = task ? task->gpus : 0;
	slot->part = (struct kube_part){ 0 };
	if (profile && task->units)
		slot->part = (struct kube_part){ profile, task->units };
	/* A partition is given like a whole GPU. */
	slot->milli =
	    slot->gpus && task->gpu_milli && !profile ? task->gpu_milli : 1000;
	slot->mem_mib = slot->milli < 1000 ? job->req->gpu_mem_mib : 0;
}

void kube_slot_set_all(struct kube_attempt *a, const struct run_job *job)
{
	struct kube_slot *to = xcalloc(job->ntasks, sizeof(*to));
	uint32_t index = 0;

	keep_slots(a, to, job);
	for (uint32_t k = 0; k < job->ntasks; k++) {
		struct kube_task *was;

		if (to[k].node)
			continue;
		while (index_is_taken(a, to, job->ntasks, index))
			index++;
		to[k].index = index;
		to[k].node = xstrdup(job->node_name[k]);
		was = kube_attempt_at(a, index);
		if (was && kube_task_comes_back(a, was))
			to[k].after = xstrdup(was->pod.uid);
	}
	kube_slot_free_all(&a->slots);
	a->slots.slot = to;
	a->slots.n = job->ntasks;
	a->slots.indexes = a->slots.have;
	for (uint32_t k = 0; k < job->ntasks; k++) {
		set_gpus(&to[k], job, k);
		if (to[k].index >= a->slots.indexes)
			a->slots.indexes = to[k].index + 1;
	}
}

/* End a pod that no longer has a slot. A pod that is not bound does not end by
 * a deadline, and may wait: but if it has GPUs by a claim, the cluster frees
 * these only when it has ended. */
static void end_removed(struct kube_attempt *a, struct kube_task *task)
{
	if (a->give.by_claims && kube_make_may_bind(task) &&
	    kube_give_holds(a, (uint32_t)task->pod.index))
		kube_end_lose(a, task, "Removed", "the job shrinks");
	else
		kube_end_leave(a, task, KUBE_LEAVE_SHRINK);
}

void kube_slot_shrink(struct kube_attempt *a)
{
	struct kube_task *task;
	bool held = false;

	TAILQ_FOREACH(task, &a->tasks, of_list) {
		if (kube_slot_at(a, (uint32_t)task->pod.index))
			continue;
		end_removed(a, task);
		/* Answer only when the pod's GPUs are free. Otherwise the
		 * daemon would plan with these GPUs for another job, see that
		 * they are still used, and evict further jobs. */
		held |= kube_task_is_alive(task) ||
		        (a->give.by_claims &&
		         kube_give_holds(a, (uint32_t)task->pod.index));
	}
	if (!a->slots.resizing || held)
		return;
	a->slots.resizing = false;
	kube_devices_settle(a);
	kube_tell(a, &(struct run_event){ .kind = RUN_RESIZED,
	                                  .resize = a->slots.resize });
}
