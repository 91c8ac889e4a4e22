/* tell.c - report an attempt to the daemon: its state, outcome and steps */
#include "aischedd/run/kube/tell.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/attempt.h"
#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/shepherd/record.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

/* A shell's exit status is this plus the signal's number if a signal ended the
 * process. */
enum { EXIT_SIGNAL = 128 };

enum {
	/* pause after the first report of lost tasks; each further report
	 * doubles it */
	LOSS_MS = 1000,
	LOSS_MAX_MS = 300000,
	LOSS_CALM_MS = 600000 /* after this long, begin with LOSS_MS again */
};

void kube_tell(struct kube_attempt *a, struct run_event *ev)
{
	ev->job = a->id.job;
	ev->attempt = a->id.attempt;
	a->kube->fn(ev, a->kube->arg);
}

void kube_tell_note(struct kube_attempt *a, const char *text)
{
	if (a->telling.noted == (text != NULL) || a->end.over)
		return;
	a->telling.noted = text != NULL;
	kube_tell(a, &(struct run_event){ .kind = RUN_NOTED, .text = text });
}

static void tell_last(struct kube_attempt *a, struct run_event *ev)
{
	a->end.over = true;
	kube_make_drop(a);
	kube_devices_settle(a);
	kube_tell(a, ev);
}

/* Set *ret_exit and *ret_signo from a pod's exit code, which is that of a
 * shell: 128 plus the signal's number if a signal ended the process. */
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

void kube_tell_replaced(struct kube_attempt *a, uint32_t n,
                        const struct kube_task *last)
{
	struct buf text = { 0 };

	failure_text(last, &text);
	buf_puts(&text, " and starts again");
	a->telling.replaced = n;
	kube_tell(a, &(struct run_event){ .kind = RUN_REPLACED,
	                                  .replaced = n,
	                                  .text = text.data });
	buf_free(&text);
}

/* Append the text that reports n lost tasks. first: the slot of the first
 * one. */
static void loss_text(const struct kube_attempt *a,
                      const struct kube_slot *first, size_t n, struct buf *out)
{
	bool renews = a->make.loss.whole > 0;

	if (n == 1)
		buf_printf(out, "task %u is lost: %s; %s", first->index,
		           first->lost,
		           renews ? "it is placed anew"
		                  : "the job goes on without it");
	else
		buf_printf(out, "%zu tasks are lost, the first %s; %s", n,
		           first->lost,
		           renews ? "they are placed anew"
		                  : "the job goes on without them");
}

/* Whether lost tasks may be reported now. */
static bool may_tell_lost(struct kube_telling *t)
{
	int64_t since = clock_boot_ms() - t->lost_ms, wait = LOSS_MS;

	if (since > LOSS_CALM_MS)
		t->losses = 0;
	for (uint32_t i = 1; i < t->losses && wait < LOSS_MAX_MS; i++)
		wait *= 2;
	if (wait > LOSS_MAX_MS)
		wait = LOSS_MAX_MS;
	return !t->losses || since >= wait;
}

void kube_tell_lost(struct kube_attempt *a)
{
	const char **refused = xcalloc(a->slots.n + 1, sizeof(*refused));
	const char **node = xcalloc(a->slots.n + 1, sizeof(*node));
	uint64_t *gpus = xcalloc(a->slots.n + 1, sizeof(*gpus));
	const struct kube_slot *first = NULL;
	struct run_event ev = { .kind = RUN_TASKS_LOST,
		                .nodes = { 0, node },
		                .refused = { 0, refused },
		                .resize = a->slots.resize,
		                .gpus = gpus };
	bool may_tell = may_tell_lost(&a->telling);
	struct buf text = { 0 };

	for (uint32_t i = 0; may_tell && i < a->slots.n; i++) {
		struct kube_slot *slot = &a->slots.slot[i];

		if (!slot->lost || slot->told)
			continue;
		slot->told = true;
		if (slot->refused)
			refused[ev.refused.n++] = slot->node;
		if (!first)
			first = slot;
		node[ev.nodes.n] = slot->node;
		gpus[ev.nodes.n++] = slot->gpus;
	}
	if (first) {
		kube_devices_settle(a);
		loss_text(a, first, ev.nodes.n, &text);
		ev.text = text.data;
		a->telling.lost = a->make.loss.whole > 0;
		a->telling.losses++;
		a->telling.lost_ms = clock_boot_ms();
		kube_tell(a, &ev);
	}
	buf_free(&text);
	free(refused);
	free(node);
	free(gpus);
}

void kube_tell_whole(struct kube_attempt *a)
{
	if (!a->telling.lost)
		return;
	a->telling.lost = false;
	kube_tell(a, &(struct run_event){ .kind = RUN_NOTED });
}

/* Whether `pod` decides the outcome instead of `worst`. The pod that failed
 * first decides; if none has failed, any pod. worst: NULL if there is none
 * yet. */
static bool is_worse(const struct kube_pod *pod, const struct kube_pod *worst)
{
	bool bad = kube_pod_is_bad(pod);
	bool was = worst && kube_pod_is_bad(worst);

	return !worst || (bad && !was) || (bad && pod->end < worst->end);
}

/* Add the CPU time of all pods to the outcome, and the peak memory of the last
 * pod of each task. */
static void add_use(struct kube_attempt *a, struct outcome *o)
{
	const struct kube_task *task;
	int64_t kib = 0;

	TAILQ_FOREACH(task, &a->tasks, of_list) {
		o->cpu_ms += task->pod.cpu_ms;
		if (kube_attempt_at(a, (uint32_t)task->pod.index) == task)
			kib += task->pod.peak_kib;
	}
	o->peak_mem_kib = kib ? kib : SPEC_UNSET;
}

static void tell_ended(struct kube_attempt *a)
{
	struct outcome o = { 0 };
	const char *unkept = kube_keep_lost(a->end.keep);
	const struct kube_pod *worst = NULL;
	const struct kube_task *failed;
	struct buf text = { 0 };
	uint32_t n;

	for (uint32_t i = 0; i < a->slots.n; i++) {
		struct kube_task *task =
		    kube_attempt_at(a, a->slots.slot[i].index);

		if (!task || (!task->pod.ended && !task->pod.out_of_disk))
			continue;
		if (!o.start || (task->pod.start && task->pod.start < o.start))
			o.start = task->pod.start;
		if (task->pod.end > o.end)
			o.end = task->pod.end;
		o.oom |= task->pod.oom;
		o.out_of_disk |= task->pod.out_of_disk;
		if (strcmp(task->pod.leave, KUBE_LEAVE_SHRINK) != 0 &&
		    is_worse(&task->pod, worst))
			worst = &task->pod;
	}
	add_use(a, &o);
	o.gpu = kube_use_end(a);
	failed = kube_attempt_failed(a, &n);
	if (n > a->make.replace)
		worst = &failed->pod;
	if (worst)
		status_of(worst, &o.exit_code, &o.signal);
	else
		/* the pods were deleted before they ended */
		o.signal = SIGTERM;
	if (n > a->make.replace && a->slots.n > 1 && !a->make.once)
		failure_text(failed, &text);
	if (worst && worst->out_of_disk)
		buf_printf(&text, "%s%s", text.len ? "; " : "", worst->message);
	if (unkept)
		buf_printf(&text, "%s%s", text.len ? "; " : "", unkept);
	o.text = text.data;
	if (!o.start)
		o.start = clock_wall_s();
	if (!o.end)
		o.end = clock_wall_s();
	tell_last(a, &(struct run_event){ .kind = RUN_ENDED, .outcome = &o });
	buf_free(&text);
}

static const char *first_loss(const struct kube_attempt *a)
{
	for (uint32_t i = 0; i < a->slots.n; i++)
		if (a->slots.slot[i].lost)
			return a->slots.slot[i].lost;
	return NULL;
}

/* Returns why a task could not run its script, such as "cannot open output
 * '/data/x'"; the reason of the first such task. NULL: there is no such
 * task. */
static const char *first_unable(struct kube_attempt *a)
{
	for (uint32_t i = 0; i < a->slots.n; i++) {
		struct kube_task *task =
		    kube_attempt_at(a, a->slots.slot[i].index);

		if (task && *task->pod.unable)
			return task->pod.unable;
	}
	return NULL;
}

static void tell_failed(struct kube_attempt *a)
{
	const char **node = xcalloc(a->slots.n + 1, sizeof(*node));
	struct run_event ev = { .kind = RUN_START_FAILED,
		                .fault = a->end.whose,
		                .nodes = { 0, node },
		                .text = a->end.fault.text };

	for (uint32_t i = 0; i < a->slots.n; i++)
		if (a->slots.slot[i].failed)
			node[ev.nodes.n++] = a->slots.slot[i].node;
	tell_last(a, &ev);
	free(node);
}

void kube_tell_end(struct kube_attempt *a)
{
	const char *lost = first_loss(a), *unable = first_unable(a);

	if (a->end.stop)
		tell_ended(a);
	else if (a->end.fault.code)
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

void kube_tell_steps(struct runner *r, uint64_t job, uint32_t attempt,
                     struct buf *out)
{
	struct kube_owner id = { job, attempt };
	struct kube_attempt *a = kube_attempt_find(kube_of(r), &id);
	const struct kube_task *first = a ? kube_attempt_at(a, 0) : NULL;

	if (first)
		buf_puts(out, first->pod.steps);
}
