/* slot.c - map tasks to pods, as jobs grow and shrink */
#include "aischedd/run/kube/slot.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/device/kinds.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

void kube_slot_free_all(struct kube_slots *slots)
{
	for (uint32_t i = 0; i < slots->n; i++) {
		free(slots->slot[i].node);
		free(slots->slot[i].devs);
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

	for (uint32_t i = 0; i < n; i++)
		if (slot[i].node && slot[i].index == index)
			return true;
	if (task && kube_task_comes_back(a, task))
		return false;
	/* An elastic job need not wait until the cluster has freed the devices
	 * of an earlier task of this index. A task placed anew keeps its
	 * index. */
	if (a->start.told && kube_give_is_claimed(a) && !a->make.loss.whole &&
	    kube_give_is_made(a, index))
		return true;
	return task && (kube_task_is_bound(task) || *task->pod.leave ||
	                kube_pod_is_over(&task->pod));
}

/* The tasks of a job that a slot is to run. */
struct slot_wish {
	const struct run_job *job;
	char **devs; /* [ntasks] as kube_kinds_text() returns them */
};

static struct slot_wish wish_of(struct kube_attempt *a,
                                const struct run_job *job)
{
	struct slot_wish want = { job, xcalloc(job->ntasks, sizeof(char *)) };
	uint32_t each = a->make.pod_tasks ? a->make.pod_tasks : 1;

	for (uint32_t k = 0; k < job->ntasks; k++)
		want.devs[k] = kube_kinds_text(a->kube, job, k, each);
	return want;
}

/* The node and the devices of a pod. Not known: the GPUs if they are 0, the
 * other devices if kube_kinds_is_known() says so. */
struct slot_had {
	const char *node, *devs;
	uint64_t gpus;
	uint8_t units; /* of a partition */
};

/* Whether task k can be the task of a pod that has these. */
static bool is_task(const struct slot_wish *want, uint32_t k,
                    const struct slot_had *had)
{
	const struct run_job *job = want->job;
	uint64_t gpus = job->task ? job->task[k].gpus : 0;

	if (strcmp(job->node_name[k], had->node) != 0)
		return false;
	if (kube_kinds_is_known(had->devs) &&
	    kube_kinds_is_known(want->devs[k]) &&
	    strcmp(had->devs, want->devs[k]) != 0)
		return false;
	return !had->gpus || !gpus ||
	       (had->gpus == gpus && had->units == job->task[k].units);
}

/* Whether the slot's pod is lost and the daemon places its task anew. */
static bool is_given_up(struct kube_attempt *a, const struct kube_slot *slot)
{
	struct kube_task *task = kube_attempt_at(a, slot->index);

	return a->make.loss.least &&
	       (slot->lost ||
	        (task && !slot->after && kube_task_is_lost(a, task)));
}

/* Move a slot to the first task that can be its own. */
static void keep_slot(struct kube_slot *from, struct kube_slot *to,
                      const struct slot_wish *want)
{
	const struct slot_had had = { from->node, from->devs, from->gpus,
		                      from->part.units };

	for (uint32_t k = 0; k < want->job->ntasks; k++) {
		if (to[k].node || !is_task(want, k, &had))
			continue;
		to[k] = *from;
		from->node = xstrdup("");
		from->lost = from->after = from->devs = NULL;
		return;
	}
}

/* The same, for a pod that no slot has. */
static void keep_pod(struct kube_attempt *a, const struct kube_task *task,
                     struct kube_slot *to, const struct slot_wish *want)
{
	uint32_t index = (uint32_t)task->pod.index, n = want->job->ntasks;
	struct kube_part part;
	struct slot_had had = { .node = task->pod.node,
		                .gpus = kube_give_found(a, index, &part),
		                .devs = kube_give_devs(a, index) };

	had.units = part.units;
	for (uint32_t k = 0; k < n; k++)
		if (to[k].node && to[k].index == index)
			return;
	for (uint32_t k = 0; k < n; k++) {
		if (to[k].node || !is_task(want, k, &had))
			continue;
		to[k] = (struct kube_slot){ .node = xstrdup(had.node),
			                    .index = index };
		if (had.devs)
			to[k].devs = xstrdup(had.devs);
		return;
	}
}

/* Fill the slots of tasks that already run: first from the old slots on the
 * same nodes, then from other running pods on these nodes. */
static void keep_slots(struct kube_attempt *a, struct kube_slot *to,
                       const struct slot_wish *want)
{
	struct kube_task *task;

	for (uint32_t i = 0; i < a->slots.n; i++)
		if (!is_given_up(a, &a->slots.slot[i]))
			keep_slot(&a->slots.slot[i], to, want);
	TAILQ_FOREACH(task, &a->tasks, of_list)
		if (kube_task_is_alive(task) && !*task->pod.leave)
			keep_pod(a, task, to, want);
}

/* Set the other devices of a slot; takes the text. */
static void set_devs(struct kube_slot *slot, char *devs)
{
	if (slot->devs && devs && !kube_kinds_is_known(devs)) {
		free(devs);
		return;
	}
	free(slot->devs);
	slot->devs = devs;
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
	struct slot_wish want = wish_of(a, job);
	uint32_t index = 0;

	keep_slots(a, to, &want);
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
		set_devs(&to[k], want.devs[k]);
		a->give.devs |= to[k].devs != NULL;
		if (to[k].index >= a->slots.indexes)
			a->slots.indexes = to[k].index + 1;
	}
	free(want.devs);
}

/* End a pod that no longer has a slot. A pod that is not bound does not end by
 * a deadline, and may wait: but if it has devices by a claim, the cluster frees
 * these only when it has ended. */
static void end_removed(struct kube_attempt *a, struct kube_task *task)
{
	if (kube_give_is_claimed(a) && kube_make_may_bind(task) &&
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
		/* Answer only when the pod's devices are free. Otherwise the
		 * daemon would plan with these devices for another job, see
		 * that they are still used, and evict further jobs. */
		held |= kube_task_is_alive(task) ||
		        (kube_give_is_claimed(a) &&
		         kube_give_holds(a, (uint32_t)task->pod.index));
	}
	if (!a->slots.resizing || held)
		return;
	a->slots.resizing = false;
	kube_devices_settle(a);
	kube_tell(a, &(struct run_event){ .kind = RUN_RESIZED,
	                                  .resize = a->slots.resize });
}
