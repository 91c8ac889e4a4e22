/* end.c - an attempt is taken down, and how it ended is told */
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "aischedd/run/kube/client/call.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/log.h"
#include "aischedd/run/shepherd/record.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	SLACK_MS = 15000, /* what is late by more does not come by itself */
	EXIT_SIGNAL = 128 /* a shell's status of what a signal ended */
};

/* --- taking down --- */

void kube_task_leave(struct kube_attempt *a, struct kube_task *task,
                     const char *why)
{
	if (task->leaving || *task->pod.leave || !*task->pod.node ||
	    kube_pod_is_over(&task->pod))
		return;
	task->leaving = true;
	kube_ask_pod(a, ASK_LEAVE, task, kube_object_leave(task->pod.uid, why));
}

/* The node is not going to say that it has ended. */
static void force(struct kube_attempt *a, struct kube_task *task)
{
	if (task->forced)
		return;
	task->forced = true;
	kube_ask_pod(a, ASK_FORCE, task,
	             kube_object_deletion(task->pod.uid, 0));
}

void kube_attempt_fence(struct kube_attempt *a)
{
	struct kube_nodes *nodes = a->kube->nodes;
	int64_t down = a->kube->conf->scheduling.node_timeout * 1000;
	int64_t late = a->grace_s * 1000 + SLACK_MS;
	struct kube_task *task;

	TAILQ_FOREACH(task, &a->tasks, of_list) {
		if (!*task->pod.node || kube_pod_is_over(&task->pod))
			continue;
		if (!kube_nodes_is_there(nodes, task->pod.node) ||
		    kube_nodes_down_ms(nodes, task->pod.node) > down)
			force(a, task);
		else if (task->gone_ms &&
		         clock_boot_ms() - task->gone_ms > late)
			force(a, task);
	}
}

void kube_attempt_take_down(struct kube_attempt *a)
{
	const char *why = a->stop ? "stop" : a->ending ? "failure" : "start";
	struct kube_task *task;

	if (!a->stop_ms)
		a->stop_ms = clock_boot_ms();
	TAILQ_FOREACH(task, &a->tasks, of_list)
		kube_task_leave(a, task, why);
	if (a->uid && !a->asking[ASK_DELETE] && !a->job_gone &&
	    clock_boot_ms() - a->stop_ms > a->grace_s * 1000 + SLACK_MS)
		kube_ask_job(a, ASK_DELETE, kube_object_deletion(a->uid, -1));
}

/* --- telling --- */

void kube_attempt_tell(struct kube_attempt *a, struct run_event *ev)
{
	ev->job = a->id.job;
	ev->attempt = a->id.attempt;
	a->kube->fn(ev, a->kube->arg);
}

void kube_attempt_note(struct kube_attempt *a, const char *text)
{
	if (a->noted == (text != NULL) || a->over)
		return;
	a->noted = text != NULL;
	kube_attempt_tell(
	    a, &(struct run_event){ .kind = RUN_NOTED, .text = text });
}

static void tell_last(struct kube_attempt *a, struct run_event *ev)
{
	a->over = true;
	kube_attempt_drop_orders(a);
	kube_attempt_tell(a, ev);
}

/* What a shell calls the end by a signal. */
static void status_of(const struct kube_pod *pod, int *ret_exit, int *ret_signo)
{
	bool by_signal =
	    pod->exit_code > EXIT_SIGNAL && pod->exit_code <= EXIT_SIGNAL + 64;

	*ret_exit = by_signal ? 0 : pod->exit_code;
	*ret_signo = by_signal ? pod->exit_code - EXIT_SIGNAL : 0;
}

static void failure_text(const struct kube_task *task, struct buf *out)
{
	int exit_code, signo;

	status_of(&task->pod, &exit_code, &signo);
	outcome_of_task(out, (uint32_t)task->pod.index, exit_code, signo);
}

void kube_attempt_tell_replaced(struct kube_attempt *a, uint32_t n,
                                const struct kube_task *last)
{
	struct buf text = { 0 };

	failure_text(last, &text);
	buf_puts(&text, " and starts again");
	a->replaced = n;
	kube_attempt_tell(a, &(struct run_event){ .kind = RUN_REPLACED,
	                                          .replaced = n,
	                                          .text = text.data });
	buf_free(&text);
}

/* Of tasks that ended badly, the first. */
static bool is_worse(const struct kube_pod *pod, const struct kube_pod *worst)
{
	bool bad = pod->exit_code || pod->oom;
	bool was = worst && (worst->exit_code || worst->oom);

	return !worst || (bad && !was) || (bad && pod->end < worst->end);
}

/* All that ran count; of those that came one after the other in one place,
 * for memory, the last. */
static void add_use(struct kube_attempt *a, struct outcome *o)
{
	const struct kube_task *task;
	int64_t kib = 0;

	TAILQ_FOREACH(task, &a->tasks, of_list) {
		o->cpu_ms += task->pod.cpu_ms;
		if (kube_task_at(a, (uint32_t)task->pod.index) == task)
			kib += task->pod.peak_kib;
	}
	o->peak_mem_kib = kib ? kib : SPEC_UNSET;
}

static void tell_ended(struct kube_attempt *a)
{
	struct outcome o = { 0 };
	const char *unkept = kube_keep_lost(a->keep);
	const struct kube_pod *worst = NULL;
	const struct kube_task *failed;
	struct buf text = { 0 };
	uint32_t n;

	for (uint32_t i = 0; i < a->nslots; i++) {
		struct kube_task *task = kube_task_at(a, a->slot[i].index);

		if (!task || !task->pod.ended)
			continue;
		if (!o.start || (task->pod.start && task->pod.start < o.start))
			o.start = task->pod.start;
		if (task->pod.end > o.end)
			o.end = task->pod.end;
		o.oom |= task->pod.oom;
		if (is_worse(&task->pod, worst))
			worst = &task->pod;
	}
	add_use(a, &o);
	failed = kube_attempt_failed(a, &n);
	if (n > a->replace)
		worst = &failed->pod;
	if (worst)
		status_of(worst, &o.exit_code, &o.signal);
	else
		o.signal = SIGTERM; /* it was deleted before it said */
	if (n > a->replace && a->nslots > 1)
		failure_text(failed, &text);
	if (unkept)
		buf_printf(&text, "%s%s", text.len ? "; " : "", unkept);
	o.text = text.data;
	if (!o.start)
		o.start = time(NULL);
	if (!o.end)
		o.end = time(NULL);
	tell_last(a, &(struct run_event){ .kind = RUN_ENDED, .outcome = &o });
	buf_free(&text);
}

void kube_attempt_fail(struct kube_attempt *a, enum start_fault whose,
                       const char *text)
{
	if (a->fault.code || a->started)
		return;
	err_set(&a->fault, EIO, "%s", text);
	if (a->shared)
		a->shared->there = false; /* if it was for want of it */
	a->whose = whose;
}

static const char *first_loss(const struct kube_attempt *a)
{
	for (uint32_t i = 0; i < a->nslots; i++)
		if (a->slot[i].lost)
			return a->slot[i].lost;
	return NULL;
}

/* It ran, and not what it was to run: "cannot open output '/data/x'". */
static const char *first_unable(struct kube_attempt *a)
{
	for (uint32_t i = 0; i < a->nslots; i++) {
		struct kube_task *task = kube_task_at(a, a->slot[i].index);

		if (task && *task->pod.unable)
			return task->pod.unable;
	}
	return NULL;
}

static void tell_failed(struct kube_attempt *a)
{
	const char **node = xcalloc(a->nslots + 1, sizeof(*node));
	struct run_event ev = { .kind = RUN_START_FAILED,
		                .fault = a->whose,
		                .nodes = { 0, node },
		                .text = a->fault.text };

	for (uint32_t i = 0; i < a->nslots; i++)
		if (a->slot[i].failed)
			node[ev.nodes.n++] = a->slot[i].node;
	tell_last(a, &ev);
	free(node);
}

void kube_attempt_tell_end(struct kube_attempt *a)
{
	const char *lost = first_loss(a), *unable = first_unable(a);

	if (a->stop)
		tell_ended(a);
	else if (a->fault.code)
		tell_failed(a);
	else if (unable)
		tell_last(a, &(struct run_event){ .kind = RUN_START_FAILED,
		                                  .fault = FAULT_USER,
		                                  .text = unable });
	else if (lost)
		tell_last(
		    a, &(struct run_event){ .kind = RUN_LOST, .text = lost });
	else
		tell_ended(a);
}
