/* end.c - stop a Job made with kubectl, and report how it ended */
#include "aischedd/run/kube/adopt/end.h"

#include <signal.h>
#include <stdlib.h>

#include "aischedd/run/kube/adopt/give.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	/* suspending or deleting the Job waits at most this long for the calls
	 * that read its logs to begin */
	KEEP_MS = 5000,
	/* pods that have not ended this long after their grace are deleted */
	SLACK_MS = 15000,
	/* a shell's exit status is this plus the signal's number if a signal
	 * ended the process */
	EXIT_SIGNAL = 128
};

bool kube_adopt_end_is_due(const struct kube_adoptee *j)
{
	return j->run.stop || j->run.fault.code || j->run.lost;
}

/* --- end the pods of an attempt --- */

static bool is_late(const struct kube_adoptee *j, int64_t since_ms)
{
	return since_ms &&
	       clock_boot_ms() - since_ms > j->run.grace_s * 1000 + SLACK_MS;
}

/* Delete pods whose node is gone, or that have not ended long after they or
 * their Job were deleted. */
void kube_adopt_end_fence(struct kube_adoptee *j)
{
	const struct kube_nodes *nodes = j->kube->nodes;
	struct kube_adopt_pod *p;

	TAILQ_FOREACH(p, &j->pods, of_list) {
		bool there = kube_nodes_is_there(nodes, p->pod.node);
		bool orphan = j->gone && is_late(j, j->run.stop_ms);

		if (p->gone || !*p->pod.node || kube_pod_is_over(&p->pod) ||
		    p->forced || (there && !orphan && !is_late(j, p->gone_ms)))
			continue;
		p->forced = true;
		kube_adopt_ask_pod(
		    p, ADOPT_FORCE,
		    kube_object_deletion(p->pod.uid, there && orphan ? -1 : 0));
	}
}

void kube_adopt_end_keep(struct kube_adoptee *j, bool all)
{
	const struct kube_owner id = { j->job, j->run.attempt };

	if (!j->run.keep)
		j->run.keep = kube_keep_new(j->kube, &id);
	kube_keep_add(j->run.keep, all);
}

bool kube_adopt_end_is_kept(struct kube_adoptee *j)
{
	kube_adopt_end_keep(j, true);
	return kube_keep_is_done(j->run.keep);
}

void kube_adopt_end_take_down(struct kube_adoptee *j)
{
	struct kube_adopt_run *run = &j->run;
	bool goes =
	    run->stop && (run->why == STOP_CANCEL || run->why == STOP_DEADLINE);
	bool bound = kube_adopt_pod_any_alive(j);

	/* save logs now: Kubernetes deletes the pods when they have ended */
	kube_adopt_end_keep(j, true);
	if (!run->stop_ms)
		run->stop_ms = clock_boot_ms();
	if (j->gone || j->at.deleting || kube_adopt_is_over(j) ||
	    (!kube_keep_is_reading(run->keep) &&
	     clock_boot_ms() - run->stop_ms < KEEP_MS))
		return;
	if (goes || (j->at.plain && (run->stop || bound)))
		kube_adopt_ask(j, ADOPT_DELETE,
		               kube_object_deletion(j->at.uid, -1));
	else if (j->at.plain)
		return; /* it was not bound, and can be started again */
	else if (run->stop && run->why == STOP_TIME_LIMIT && !j->at.suspended &&
	         !is_late(j, run->stop_ms))
		kube_adopt_ask(j, ADOPT_EXPIRE, kube_foreign_expire(j->at.uid));
	else if (!j->at.suspended)
		kube_adopt_ask(j, ADOPT_SUSPEND,
		               kube_foreign_suspend(j->at.uid, true));
}

/* --- report the end of an attempt --- */

static void tell_last(struct kube_adoptee *j, struct run_event *ev)
{
	j->run.over = true;
	kube_adopt_give_settle(j);
	kube_adopt_tell(j, ev);
}

void kube_adopt_end_fail(struct kube_adoptee *j, enum start_fault whose,
                         const char *text)
{
	if (kube_adopt_end_is_due(j))
		return;
	if (j->run.started) {
		j->run.lost = xstrdup(text);
		kube_note(j, true, "Lost", text);
		return;
	}
	err_set(&j->run.fault, EIO, "%s", text);
	j->run.whose = whose;
	kube_note(j, true, "StartFailed", text);
}

/* Returns the pod that failed last, which made the Job fail; NULL: none
 * failed. */
static const struct kube_pod *worst_pod(const struct kube_adoptee *j)
{
	const struct kube_pod *worst = NULL;
	const struct kube_adopt_pod *p;

	TAILQ_FOREACH(p, &j->pods, of_list)
		if (!p->former && p->pod.ended && kube_pod_is_bad(&p->pod) &&
		    (!worst || p->pod.end >= worst->end))
			worst = &p->pod;
	return worst;
}

static void read_failure(const struct kube_adoptee *j, struct outcome *o)
{
	const struct kube_pod *worst = worst_pod(j);

	o->late = j->at.late;
	o->exit_code = worst && worst->exit_code ? worst->exit_code : 1;
	o->oom = worst && worst->oom;
	o->out_of_disk = worst && worst->out_of_disk;
	if (o->exit_code > EXIT_SIGNAL && o->exit_code <= EXIT_SIGNAL + 64) {
		o->signal = o->exit_code - EXIT_SIGNAL;
		o->exit_code = 0;
	}
}

static void tell_ended(struct kube_adoptee *j)
{
	struct outcome o = { .peak_mem_kib = SPEC_UNSET,
		             .end = clock_wall_s() };
	const char *unkept = kube_keep_lost(j->run.keep);
	const struct kube_adopt_pod *p;
	struct buf text = { 0 };

	TAILQ_FOREACH(p, &j->pods, of_list)
		if (!p->former && p->pod.start &&
		    (!o.start || p->pod.start < o.start))
			o.start = p->pod.start;
	if (!o.start)
		o.start = o.end;
	if (j->at.failed) {
		read_failure(j, &o);
		buf_printf(&text, "its %s failed", j->at.plain ? "pod" : "Job");
		if (*j->at.reason)
			buf_printf(&text, ": %s", j->at.reason);
		if (*j->at.message)
			buf_printf(&text, ": %s", j->at.message);
	} else if (!j->at.complete) {
		o.signal = SIGTERM;
	}
	if (unkept)
		buf_printf(&text, "%s%s", text.len ? "; " : "", unkept);
	o.text = text.data;
	tell_last(j, &(struct run_event){ .kind = RUN_ENDED, .outcome = &o });
	buf_free(&text);
}

static void tell_failed(struct kube_adoptee *j)
{
	const struct kube_adopt_run *run = &j->run;
	const char **node = xcalloc(run->nslots + 1, sizeof(*node));
	struct run_event ev = { .kind = RUN_START_FAILED,
		                .fault = run->whose,
		                .nodes = { 0, node },
		                .text = run->fault.text };

	for (uint32_t i = 0; i < run->nslots; i++)
		if (run->slot[i].failed)
			node[ev.nodes.n++] = run->slot[i].node;
	tell_last(j, &ev);
	free(node);
}

void kube_adopt_end_tell(struct kube_adoptee *j)
{
	struct kube_adopt_run *run = &j->run;

	if (run->stop || (!run->fault.code && !run->lost))
		tell_ended(j);
	else if (run->fault.code)
		tell_failed(j);
	else
		tell_last(j, &(struct run_event){ .kind = RUN_LOST,
		                                  .text = run->lost });
}
