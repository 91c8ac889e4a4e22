/* lifecycle.c - the life of a job: one table of job state x event */
#include "aischedd/state/life/lifecycle.h"

#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/lifecycle_end.h"
#include "aischedd/state/life/lifecycle_start.h"
#include "aischedd/state/life/lifecycle_stop.h"
#include "aischedd/state/life/lifecycle_tasks.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"

/* --- hold and release --------------------------------------------------- */

/* Hold a job that has nodes: it goes on, but is held if it is requeued. */
static int hold_placed(struct state *state, struct job *job,
                       const struct event_in *ev, struct err *err)
{
	(void)err;
	if (ev->lenient)
		job->hold = HOLD_USER;
	else if (job->hold != HOLD_ADMIN)
		job->hold = ev->by_operator ? HOLD_ADMIN : HOLD_USER;
	state_touch(state, job);
	return 0;
}

static int hold(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	hold_placed(state, job, ev, err);
	state_reindex(state, job, ev->now);
	return 0;
}

static int release_placed(struct state *state, struct job *job,
                          const struct event_in *ev, struct err *err)
{
	if (job->hold == HOLD_ADMIN && !ev->by_operator)
		return err_set(err, EPERM,
		               "job %s was held by an operator: only one "
		               "can release it",
		               job_id_text(job).text);
	job->hold = HOLD_NONE;
	state_touch(state, job);
	return 0;
}

static int release(struct state *state, struct job *job,
                   const struct event_in *ev, struct err *err)
{
	if (release_placed(state, job, ev, err) < 0)
		return -1;
	if (deps_end_job(job))
		state_alarm(state, ev->now, job->id);
	state_reindex(state, job, ev->now);
	return 0;
}

/* --- events of pending jobs --------------------------------------------- */

/* Resume a pending job that was stopped, requeued and held instead of being
 * suspended, because its runner cannot suspend processes in place. */
static int resume_pending(struct state *state, struct job *job,
                          const struct event_in *ev, struct err *err)
{
	if (!job->runs->preemptions || job->hold == HOLD_NONE)
		return err_set(err, EINVAL,
		               "job %s is PENDING: only a suspended job can "
		               "be resumed",
		               job_id_text(job).text);
	return release(state, job, ev, err);
}

static int cancel_pending(struct state *state, struct job *job,
                          const struct event_in *ev, struct err *err)
{
	enum reason why = state_ineligible(state, job);

	(void)err;
	job_end(state, job, JOB_CANCELLED,
	        why == WHY_DependencyNeverSatisfied ? WHY_Dependency
	                                            : WHY_Cancelled,
	        ev->now);
	return 0;
}

static int deadline_pending(struct state *state, struct job *job,
                            const struct event_in *ev, struct err *err)
{
	(void)err;
	job_end(state, job, JOB_DEADLINE, WHY_DeadLine, ev->now);
	return 0;
}

static int nothing(struct state *state, struct job *job,
                   const struct event_in *ev, struct err *err)
{
	(void)state;
	(void)job;
	(void)ev;
	(void)err;
	return 0;
}

/* Record the runner's remark on what delays the start or the end of the job. */
static int noted(struct state *state, struct job *job,
                 const struct event_in *ev, struct err *err)
{
	(void)err;
	life_set_text(job, ev->text);
	state_touch(state, job);
	return 0;
}

/* --- the table --------------------------------------------------------- */

#define ENDED [EV_cancel] = nothing

static life_handler *const table[JOB_NSTATES][EV_N] = {
	[JOB_PENDING] = {
		[EV_hold] = hold,
		[EV_release] = release,
		[EV_resume] = resume_pending,
		[EV_start] = life_start,
		[EV_cancel] = cancel_pending,
		[EV_deadline] = deadline_pending,
	},
	[JOB_CONFIGURING] = {
		[EV_hold] = hold_placed,
		[EV_release] = release_placed,
		[EV_started] = life_started,
		[EV_start_failed] = life_start_failed,
		[EV_unknown] = life_start_again,
		[EV_ended] = life_ended,
		[EV_lost] = life_lost,
		[EV_requeue] = life_requeue,
		[EV_preempt] = life_preempt,
		[EV_cancel] = life_cancel,
		[EV_deadline] = life_deadline,
		[EV_shrink] = life_shrink,
		[EV_shrunk] = life_shrunk,
		[EV_grow] = life_grow,
		[EV_replaced] = life_replaced,
		[EV_noted] = noted,
	},
	[JOB_RUNNING] = {
		[EV_hold] = hold_placed,
		[EV_release] = release_placed,
		[EV_started] = life_found_running,
		/* A container may run before the runner has confirmed that the
		 * job has started: the start may still fail. */
		[EV_start_failed] = life_start_failed,
		[EV_unknown] = life_lost,
		[EV_ended] = life_ended,
		[EV_lost] = life_lost,
		[EV_suspend] = life_suspend,
		[EV_resume] = nothing,
		[EV_requeue] = life_requeue,
		[EV_preempt] = life_preempt,
		[EV_signal] = life_signal,
		[EV_cancel] = life_cancel,
		[EV_time_limit] = life_time_limit,
		[EV_deadline] = life_deadline,
		[EV_shrink] = life_shrink,
		[EV_shrunk] = life_shrunk,
		[EV_grow] = life_grow,
		[EV_replaced] = life_replaced,
		[EV_tasks_lost] = life_tasks_lost,
		[EV_used] = life_used,
		[EV_noted] = noted,
	},
	[JOB_SUSPENDED] = {
		[EV_hold] = hold_placed,
		[EV_release] = release_placed,
		[EV_started] = life_found_suspended,
		[EV_unknown] = life_lost,
		[EV_ended] = life_ended,
		[EV_lost] = life_lost,
		[EV_suspend] = life_suspend_again,
		[EV_resume] = life_resume,
		[EV_resumed] = life_resumed,
		[EV_requeue] = life_requeue,
		[EV_preempt] = life_preempt,
		[EV_signal] = life_signal,
		[EV_cancel] = life_cancel,
		[EV_deadline] = life_deadline,
		[EV_shrink] = life_shrink,
		[EV_shrunk] = life_shrunk,
		[EV_replaced] = life_replaced,
		[EV_used] = life_used,
	},
	[JOB_COMPLETING] = {
		[EV_started] = life_found_completing,
		[EV_start_failed] = life_start_failed,
		[EV_unknown] = life_lost,
		[EV_ended] = life_ended,
		[EV_lost] = life_lost,
		[EV_cancel] = life_cancel_completing,
		[EV_signal] = life_signal_completing,
		[EV_shrunk] = life_shrunk,
		[EV_replaced] = life_replaced,
		[EV_used] = life_used,
		[EV_noted] = noted,
	},
	[JOB_COMPLETED] = { ENDED },
	[JOB_FAILED] = { ENDED },
	[JOB_CANCELLED] = { ENDED },
	[JOB_TIMEOUT] = { ENDED },
	[JOB_PREEMPTED] = { ENDED },
	[JOB_NODE_FAIL] = { ENDED },
	[JOB_OUT_OF_MEMORY] = { ENDED },
	[JOB_DEADLINE] = { ENDED },
	[JOB_BOOT_FAIL] = { ENDED },
};

/* The error text for a request that has no entry in the table for the job's
 * state. All other events without an entry are ignored: they are late or
 * repeated reports of runners. */
static const char *const refusal[EV_N] = {
	[EV_hold] = "only a job that waits or runs can be held",
	[EV_release] = "only a job that waits or runs can be released",
	[EV_suspend] = "only a running job can be suspended",
	[EV_resume] = "only a suspended job can be resumed",
	[EV_requeue] = "only a job that has started can be requeued",
	[EV_preempt] = "only a job that has started can be preempted",
	[EV_signal] = "only a running job can be signalled",
};

int state_event(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	life_handler *handler = table[job->state][ev->kind];

	if (ev->attempt && ev->attempt != job->attempt)
		return 0;
	if (handler)
		return handler(state, job, ev, err);
	if (!refusal[ev->kind])
		return 0;
	return err_set(err, EINVAL, "job %s is %s: %s", job_id_text(job).text,
	               job_state_name(job->state), refusal[ev->kind]);
}
