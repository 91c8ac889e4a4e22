/* lifecycle_stop.c - stop, signal, suspend and resume a running job */
#include "aischedd/state/life/lifecycle_stop.h"

#include <signal.h>
#include <stdlib.h>

#include "aischedd/state/cluster/counts.h"
#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/lifecycle_end.h"
#include "aischedd/state/state_priv.h"

static void effect_stop(struct state *state, const struct job *job,
                        int64_t grace)
{
	static const enum stop_why why[] = {
		[CAUSE_NONE] = STOP_CANCEL,
		[CAUSE_CANCEL] = STOP_CANCEL,
		[CAUSE_TIME_LIMIT] = STOP_TIME_LIMIT,
		[CAUSE_REQUEUE] = STOP_REQUEUE,
		[CAUSE_PREEMPT] = STOP_PREEMPT,
		[CAUSE_DEADLINE] = STOP_DEADLINE,
		[CAUSE_FAILURE] = STOP_NODE_FAIL,
		[CAUSE_IDLE] = STOP_CANCEL,
		[CAUSE_RECALL] = STOP_REQUEUE,
	};

	state_effect(state, (struct effect){ .kind = EFFECT_STOP,
	                                     .job = job->id,
	                                     .attempt = job->attempt,
	                                     .why = why[job->cause],
	                                     .grace = grace });
}

void life_effect_stop(struct state *state, const struct job *job)
{
	effect_stop(state, job,
	            job->cause == CAUSE_PREEMPT ? evict_grace(state, job)
	                                        : job->grace);
}

static void complete(struct state *state, struct job *job, enum cause cause,
                     int64_t now)
{
	bool frozen = job->state == JOB_SUSPENDED;

	job->cause = (uint8_t)cause;
	job->evict = EVICT_NONE;
	job_runs(job)->evict_by = 0;
	job->wants_resume = false;
	claim_drop(state, job);
	state_set(state, job, JOB_COMPLETING);
	if (frozen)
		usage_charge(state, job, now); /* it uses its CPUs again */
	life_effect_stop(state, job);
}

int life_cancel(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	(void)ev;
	(void)err;
	complete(state, job, CAUSE_CANCEL, ev->now);
	return 0;
}

/* Cancel a job that is already being stopped. If the job was to be requeued, it
 * will end instead, and its grace goes on. Otherwise kill it now: a second
 * request to cancel means that it should end at once. */
int life_cancel_completing(struct state *state, struct job *job,
                           const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	if (job->cause == CAUSE_REQUEUE || job->cause == CAUSE_RECALL ||
	    job->cause == CAUSE_PREEMPT || job->cause == CAUSE_FAILURE) {
		job->cause = CAUSE_CANCEL;
		claim_drop(state, job);
		state_touch(state, job);
	} else {
		effect_stop(state, job, 0);
	}
	return 0;
}

/* Send a signal to a job that is being stopped. Its processes have already got
 * the signal with which the grace began, so only SIGKILL is allowed. */
int life_signal_completing(struct state *state, struct job *job,
                           const struct event_in *ev, struct err *err)
{
	if (ev->signal.signo != SIGKILL)
		return err_set(err, EINVAL,
		               "job %s is COMPLETING: only KILL can be sent "
		               "to it",
		               job_id_text(job).text);
	effect_stop(state, job, 0);
	return 0;
}

int life_time_limit(struct state *state, struct job *job,
                    const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	complete(state, job, CAUSE_TIME_LIMIT, ev->now);
	return 0;
}

int life_deadline(struct state *state, struct job *job,
                  const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	complete(state, job, CAUSE_DEADLINE, ev->now);
	return 0;
}

void life_set_idle(struct state *state, struct job *job, bool idle)
{
	if (job->gpus_idle == idle)
		return;
	counts_jobs(state, job, 0 - (uint64_t)1);
	job->gpus_idle = idle;
	counts_jobs(state, job, 1);
}

/* Whether the job's GPUs have been idle for longer than its queue allows. */
static bool is_too_idle(const struct conf_queue *q, const struct job *job,
                        int64_t idle_ms)
{
	struct spec spec;

	if (q->idle_gpu == CONF_NONE || idle_ms / 1000 < q->idle_gpu)
		return false;
	if (!q->idle_gpu_opt_out)
		return true;
	spec_unpack(&spec, job->packed);
	return spec.no_idle_check != 1;
}

/* Record how busy the job's GPUs are. If they have been idle for longer than
 * its queue allows, mail the user and, if the queue says so, cancel the job.
 * The numbers are not stored now: the runner reports them again when the
 * attempt ends, or after a restart of the daemon. */
int life_used(struct state *state, struct job *job, const struct event_in *ev,
              struct err *err)
{
	const struct conf_queue *q = &state->conf->queues[job->queue];
	bool idle = is_too_idle(q, job, ev->idle_ms);

	(void)err;
	if (!job->ledger)
		return 0;
	job->ledger->gpu = ev->gpu;
	job->ledger->idle_ms = ev->idle_ms;
	if (job->state != JOB_RUNNING)
		return 0;
	life_set_idle(state, job, idle);
	if (!idle)
		return 0;
	letter_idle(state, job, ev->now);
	if (q->idle_gpu_action == IDLE_CANCEL)
		complete(state, job, CAUSE_IDLE, ev->now);
	return 0;
}

int life_requeue(struct state *state, struct job *job,
                 const struct event_in *ev, struct err *err)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	if (spec.requeue == 0)
		return err_set(err, EPERM,
		               "job %s was submitted with --no-requeue",
		               job_id_text(job).text);
	if (spec.max_restarts != SPEC_UNSET &&
	    job->runs->restarts >= spec.max_restarts)
		return err_set(err, EPERM,
		               "job %s was restarted %u time%s, as often as "
		               "it may; `aictl update %s max_restarts=N` "
		               "allows more",
		               job_id_text(job).text, job->runs->restarts,
		               job->runs->restarts == 1 ? "" : "s",
		               job_id_text(job).text);
	if (ev->hold && job->hold != HOLD_ADMIN)
		job->hold = ev->by_operator ? HOLD_ADMIN : HOLD_USER;
	complete(state, job, ev->by_other ? CAUSE_RECALL : CAUSE_REQUEUE,
	         ev->now);
	return 0;
}

int life_preempt(struct state *state, struct job *job,
                 const struct event_in *ev, struct err *err)
{
	(void)err;
	/* A job that ends when it is evicted cannot wait held. */
	if (life_ends_preempted(job))
		job->hold = HOLD_NONE;
	complete(state, job, CAUSE_PREEMPT, ev->now);
	evict_note(state, job, ev, true);
	evict_watch(state, job, ev->now);
	return 0;
}

int life_signal(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	(void)err;
	state_effect(state, (struct effect){ .kind = EFFECT_SIGNAL,
	                                     .job = job->id,
	                                     .attempt = job->attempt,
	                                     .signal = ev->signal });
	return 0;
}

void life_effect_suspend(struct state *state, const struct job *job,
                         enum effect_kind kind)
{
	state_effect(state, (struct effect){ .kind = kind,
	                                     .job = job->id,
	                                     .attempt = job->attempt });
}

bool job_can_freeze(const struct state *state, const struct job *job)
{
	uint32_t pool = state->nodes.node[job->place->task[0].node].pool;

	return runner_traits(state->conf->pools[pool].runner)->can_freeze;
}

/* Suspend the job. If it is suspended for a claimant, it resumes by itself
 * later. If its runner cannot suspend processes in place, the job is stopped,
 * requeued and held until a user resumes it. */
int life_suspend(struct state *state, struct job *job,
                 const struct event_in *ev, struct err *err)
{
	(void)err;
	if (!job_can_freeze(state, job)) {
		job->hold = ev->by_operator ? HOLD_ADMIN : HOLD_USER;
		complete(state, job, CAUSE_PREEMPT, ev->now);
		return 0;
	}
	claim_drop(state, job);
	if (ev->evict != EVICT_NONE) {
		evict_note(state, job, ev, true);
		job->wants_resume = true;
		job_runs(job)->preemptions++;
	}
	life_stop_clock(job, ev->now);
	state_set(state, job, JOB_SUSPENDED);
	usage_charge(state, job, ev->now);
	life_effect_suspend(state, job, EFFECT_SUSPEND);
	return 0;
}

/* A user suspends a job that is already suspended: if it was waiting for CPUs
 * on which to resume, it no longer does. */
int life_suspend_again(struct state *state, struct job *job,
                       const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	job->wants_resume = false;
	state_touch(state, job);
	state_replan(state);
	return 0;
}

int life_resume(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	(void)ev;
	(void)err;
	job->wants_resume = true;
	state_touch(state, job);
	state_replan(state);
	return 0;
}

int life_resumed(struct state *state, struct job *job,
                 const struct event_in *ev, struct err *err)
{
	struct placement *old = job->place;

	(void)err;
	/* It has kept its devices. */
	job->place =
	    old->devs ? placement_named(ev->place) : placement_copy(ev->place);
	for (uint32_t i = 0; i < job->place->ntasks && i < old->ntasks; i++)
		if (old->devs)
			job->place->devs[i] = old->devs[i];
	free(old);
	job_runs(job)->resumed = ev->now;
	job->wants_resume = false;
	claim_drop(state, job);
	state_set(state, job, JOB_RUNNING);
	usage_charge(state, job, ev->now);
	state_arm(state, job);
	life_effect_suspend(state, job, EFFECT_RESUME);
	return 0;
}
