/* look.c - find out from its pods how an attempt is doing */
#include "aischedd/run/kube/look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	/* a start fails if its image could not be pulled for this long */
	PULL_MS = 30000
};

static void tell_wait(struct kube_attempt *a, const struct kube_pod *pod)
{
	char *text = xasprintf("its image cannot be pulled so far: %s: %s",
	                       pod->waits, pod->waits_why);

	kube_tell_note(a, text);
	free(text);
}

/* Whether the pod's container will not start unless somebody acts: it cannot be
 * created, or its image could not be pulled for PULL_MS. */
static bool is_stuck(struct kube_attempt *a, const struct kube_pod *pod)
{
	static const char *const fatal[] = { "InvalidImageName",
		                             "ErrImageNeverPull",
		                             "CreateContainerConfigError",
		                             "CreateContainerError",
		                             "RunContainerError" };
	bool pulls = !strcmp(pod->waits, "ErrImagePull") ||
	             !strcmp(pod->waits, "ImagePullBackOff");

	for (size_t i = 0; i < ARRAY_SIZE(fatal); i++)
		if (!strcmp(pod->waits, fatal[i]))
			return true;
	if (!pulls)
		return false;
	if (!a->start.image_ms) {
		a->start.image_ms = clock_boot_ms();
		tell_wait(a, pod);
	}
	return clock_boot_ms() - a->start.image_ms > PULL_MS;
}

static void fail_for_pod(struct kube_attempt *a, struct kube_slot *slot,
                         const struct kube_pod *pod)
{
	char *text = NULL;

	if (is_stuck(a, pod)) {
		text =
		    xasprintf("its container cannot start: %s: %s", pod->waits,
		              *pod->waits_why ? pod->waits_why : "no reason");
		kube_end_fail(a, FAULT_USER, text);
	} else if (pod->phase == POD_FAILED && !pod->ran) {
		text = kube_pod_refusal(pod);
		slot->failed |= !a->end.fault.code;
		kube_end_fail(
		    a, kube_pod_is_refused(pod) ? FAULT_REFUSED : FAULT_SYSTEM,
		    text);
	}
	free(text);
}

/* Mark the pod of the slot as lost, with the reason from its status: "Evicted:
 * The node was low on resource: memory." */
static void lose(struct kube_slot *slot, const struct kube_pod *pod)
{
	char *why = xasprintf("%s%s%s", pod->reason, *pod->message ? ": " : "",
	                      pod->message);

	kube_slot_lose(slot, pod->name, why);
	slot->refused = !pod->ran && !pod->disrupted;
	free(why);
}

/* In a job whose script runs once: when the script has succeeded in pod 0, tell
 * the other pods to end. How they end does not matter. */
static void dismiss(struct kube_attempt *a)
{
	const struct kube_task *first = kube_attempt_at(a, 0);
	struct kube_task *task;

	if (!a->make.once || !a->start.told || !first ||
	    !kube_pod_is_over(&first->pod) || !first->pod.ended ||
	    kube_task_has_failed(first))
		return;
	TAILQ_FOREACH(task, &a->tasks, of_list)
		if (task != first)
			kube_end_leave(a, task, KUBE_LEAVE_SHRINK);
}

/* Whether the pod of the slot is lost; notes the reason in the slot. */
static bool is_lost(struct kube_attempt *a, struct kube_slot *slot,
                    struct kube_task *task)
{
	if (task && kube_task_is_lost(a, task)) {
		if (kube_task_is_given_up(task))
			kube_slot_lose(slot, task->pod.name,
			               kube_task_loss(a, task));
		else if (kube_pod_is_lost(&task->pod))
			lose(slot, &task->pod);
		else
			kube_slot_lose(slot, task->pod.name, "was deleted");
	}
	return slot->lost != NULL;
}

/* Whether the slot still waits for the pod that replaces its lost pod. */
static bool waits(struct kube_slot *slot, const struct kube_task *task)
{
	if (!slot->after || (task && strcmp(task->pod.uid, slot->after) != 0)) {
		free(slot->after);
		slot->after = NULL;
		return false;
	}
	return true;
}

/* Give up the pod of a task that was added to a running job, or placed anew, if
 * it does not run within start_timeout: the daemon then places the task on
 * another node. */
static void check_start(struct kube_attempt *a, struct kube_slot *slot,
                        struct kube_task *task)
{
	int64_t s = a->kube->conf->scheduling.start_timeout;
	const struct kube_pod *pod = &task->pod;
	char *why;

	if (pod->ran || s <= 0 || !a->start.ordered || !kube_end_may_lose(a)) {
		slot->since_ms = 0;
		return;
	}
	if (!slot->since_ms)
		slot->since_ms = clock_boot_ms();
	if (clock_boot_ms() - slot->since_ms < s * 1000 || pod->deleting)
		return;
	why = xasprintf("it did not run within %lld s%s%s%s%s", (long long)s,
	                *pod->waits ? ": " : "", pod->waits,
	                *pod->waits_why ? ": " : "", pod->waits_why);
	if (kube_task_is_bound(task))
		kube_end_lose(a, task, "NotStarted", why);
	else
		kube_slot_lose(slot, pod->name, why);
	free(why);
}

/* Handle the loss of n pods: set look->bad if the attempt ends because of it,
 * else report the pods. After a restart of the daemon, wait for resize(): some
 * of the pods may have been reported before. */
static void judge_lost(struct kube_attempt *a, struct kube_look *look,
                       uint32_t n)
{
	if (!kube_end_may_lose(a) || a->slots.n < n + a->make.loss.least) {
		look->bad = true;
		return;
	}
	look->idle += n;
	if (a->start.ordered)
		kube_tell_lost(a);
}

/* Look at the pod of one slot. Returns whether it is lost. */
static bool look_at_slot(struct kube_attempt *a, struct kube_slot *slot,
                         struct kube_look *look)
{
	struct kube_task *task = kube_attempt_at(a, slot->index);

	if (waits(slot, task)) {
		look->idle++;
		return false;
	}
	if (!task && !slot->lost) {
		look->idle += !slot->seen;
		look->bad |= slot->seen;
		return false;
	}
	if (!task)
		return true;
	slot->seen = true;
	look->alive += kube_task_is_alive(task);
	look->leaving |= task->pod.ran && task->pod.deleting;
	if (task->pod.start > look->start)
		look->start = task->pod.start;
	if (!a->start.told)
		fail_for_pod(a, slot, &task->pod);
	look->idle += !task->pod.ran;
	if (!is_lost(a, slot, task)) {
		check_start(a, slot, task);
		return slot->lost != NULL;
	}
	/* A task that is placed anew keeps its index. So the attempt ends if
	 * the Job controller makes no other pod for this index. */
	look->bad |= a->make.loss.whole && kube_task_is_lost(a, task) &&
	             !kube_task_comes_back(a, task);
	return true;
}

struct kube_look kube_look_at(struct kube_attempt *a)
{
	struct kube_look look = { 0 };
	uint32_t failed, lost = 0;
	const struct kube_task *last = kube_attempt_failed(a, &failed);

	for (uint32_t i = 0; i < a->slots.n; i++) {
		struct kube_slot *slot = &a->slots.slot[i];
		const struct kube_task *task;

		if (look_at_slot(a, slot, &look)) {
			lost++;
			continue;
		}
		/* A task counts as idle until its failed pod is replaced. */
		task = kube_attempt_at(a, slot->index);
		look.idle += task && failed <= a->make.replace &&
		             kube_task_has_failed(task);
	}
	if (lost)
		judge_lost(a, &look, lost);
	if (a->make.loss.whole > a->slots.n)
		look.idle += a->make.loss.whole - a->slots.n;
	if (failed > a->make.replace)
		look.bad = true;
	else if (failed > a->telling.replaced && a->start.told)
		kube_tell_replaced(a, failed, last);
	if (!failed && !look.idle && !look.bad && a->start.told)
		kube_tell_whole(a);
	dismiss(a);
	return look;
}
