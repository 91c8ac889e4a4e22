/* end.c - end the pods of an attempt */
#include "aischedd/run/kube/end.h"

#include <signal.h>
#include <stdlib.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/shared.h"
#include "aischedd/run/shepherd/record.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	/* how long pods may run on after their grace period before they are
	 * deleted */
	SLACK_MS = 15000
};

bool kube_end_may_lose(const struct kube_attempt *a)
{
	return a->make.loss.least && a->start.told && !a->end.stop &&
	       !a->end.failing;
}

void kube_end_leave(struct kube_attempt *a, struct kube_task *task,
                    const char *why)
{
	if (task->leaving || *task->pod.leave || !*task->pod.node ||
	    kube_pod_is_over(&task->pod))
		return;
	task->leaving = true;
	kube_ask_pod(a, ASK_LEAVE, task, kube_object_leave(task->pod.uid, why));
}

void kube_end_lose(struct kube_attempt *a, struct kube_task *task,
                   const char *reason, const char *text)
{
	if (!task->losing)
		kube_ask_pod(a, ASK_LOSE, task,
		             kube_object_failure(task->pod.uid, reason, text));
	task->losing = true;
}

/*
 * Give up a pod whose node will not report its end. If the attempt goes on
 * without the pod, set the pod to Failed, so that the Job controller makes
 * another pod for the index. Else delete the pod.
 */
static void give_up(struct kube_attempt *a, struct kube_task *task)
{
	if (task->forced)
		return;
	if (kube_end_may_lose(a)) {
		kube_end_lose(a, task, "NodeLost", kube_task_loss(a, task));
		return;
	}
	task->forced = true;
	kube_ask_pod(a, ASK_FORCE, task,
	             kube_object_deletion(task->pod.uid, 0));
}

void kube_end_fence(struct kube_attempt *a)
{
	struct kube_nodes *nodes = a->kube->nodes;
	int64_t down = a->kube->conf->scheduling.node_timeout * 1000;
	int64_t late = a->end.grace_s * 1000 + SLACK_MS;
	struct kube_task *task;

	TAILQ_FOREACH(task, &a->tasks, of_list) {
		if (!*task->pod.node || kube_pod_is_over(&task->pod))
			continue;
		if (!kube_nodes_is_there(nodes, task->pod.node) ||
		    kube_nodes_down_ms(nodes, task->pod.node) > down)
			give_up(a, task);
		else if (task->gone_ms &&
		         clock_boot_ms() - task->gone_ms > late)
			give_up(a, task);
	}
}

void kube_end_take_down(struct kube_attempt *a)
{
	const char *why = a->end.stop      ? "stop"
	                  : a->end.failing ? "failure"
	                                   : "start";
	struct kube_task *task;

	if (!a->end.since_ms)
		a->end.since_ms = clock_boot_ms();
	TAILQ_FOREACH(task, &a->tasks, of_list)
		kube_end_leave(a, task, why);
	if (a->uid && !a->calls.open[ASK_DELETE] && !a->end.job_gone &&
	    clock_boot_ms() - a->end.since_ms >
	        a->end.grace_s * 1000 + SLACK_MS)
		kube_ask_job(a, ASK_DELETE, kube_object_deletion(a->uid, -1));
}

void kube_end_fail(struct kube_attempt *a, enum start_fault whose,
                   const char *text)
{
	if (a->end.fault.code || a->start.told)
		return;
	err_set(&a->end.fault, EIO, "%s", text);
	/* The start may have failed because somebody deleted the shared Secret:
	 * have it made again when it is needed next. */
	if (a->make.shared)
		a->make.shared->there = false;
	a->end.whose = whose;
}
