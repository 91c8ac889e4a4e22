/* lifecycle.c - what happens to a job: one table of state x event */
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

enum { RESTARTS_DEFAULT = 5 }; /* by failures, for jobs that do not say */

typedef int handler_fn(struct state *state, struct job *job,
                       const struct event_in *ev, struct err *err);

/* --- holding nodes ----------------------------------------------------- */

static void place(struct state *state, struct job *job,
                  const struct placement *p, int64_t now)
{
	claim_drop(state, job);
	row_remove(state, job);
	job->place = placement_new(p->ntasks, p->task, p->cpu_use);
	job->row_prev = NULL;
	job->row_next = state->placed;
	if (state->placed)
		state->placed->row_prev = job;
	state->placed = job;
	usage_charge(state, job, now);
	if (job->array)
		state_array(state, job->array)->running++;
}

static void unplace(struct state *state, struct job *job, int64_t now)
{
	if (!job->place)
		return;
	*(job->row_prev ? &job->row_prev->row_next : &state->placed) =
	    job->row_next;
	if (job->row_next)
		job->row_next->row_prev = job->row_prev;
	job->row_prev = job->row_next = NULL;
	state_effect(state,
	             (struct effect){ .kind = EFFECT_FORGET,
	                              .job = job->id,
	                              .attempt = job->attempt,
	                              .node = job->place->task[0].node });
	free(job->place);
	free(job->leaving);
	job->place = job->leaving = NULL;
	job->leave_by = NO_TIME;
	usage_charge(state, job, now);
	placed_key_forget(job);
	if (job->array)
		state_array(state, job->array)->running--;
}

static void stop_clock(struct job *job, int64_t now)
{
	job->ran = job_elapsed(job, now);
	job->resumed = NO_TIME;
}

static void set_text(struct job *job, const char *text)
{
	free(job->text);
	job->text = text && *text ? xstrdup(text) : NULL;
}

/* History says where it ran. */
static void keep_place(const struct state *state, struct job *job)
{
	struct buf text = { 0 };

	if (!job->place)
		return;
	state_placement_format(state, job->place, &text);
	free(job->last_place);
	job->last_place = buf_take(&text);
}

/* --- ends -------------------------------------------------------------- */

static void array_lost_tasks(struct state *state, struct job *job)
{
	struct array *array = state_array(state, job->array);

	array->unfinished -= job_count(job);
	if (job->state != JOB_COMPLETED)
		array->failed += job_count(job);
	state_touch_array(state, array);
}

void job_end(struct state *state, struct job *job, enum job_state to,
             enum reason why, int64_t now)
{
	stop_clock(job, now);
	claim_drop(state, job);
	row_remove(state, job);
	keep_place(state, job);
	unplace(state, job, now);
	deps_forget(state, job);
	names_del(state, job);
	job->end = now;
	job->why = (uint8_t)why;
	job->wants_resume = false;
	state_set(state, job, to);
	if (job->array)
		array_lost_tasks(state, job);
	deps_ended(state, job, now);
	names_tell(state, job->name_key, now);
}

static int64_t max_restarts(const struct job *job)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	return spec.max_restarts == SPEC_UNSET ? RESTARTS_DEFAULT
	                                       : spec.max_restarts;
}

static bool asks_requeue(const struct job *job)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	return spec.requeue == 1;
}

static void back_to_queue(struct state *state, struct job *job, int64_t now)
{
	unplace(state, job, now);
	job->start = job->resumed = NO_TIME;
	job->ran = 0;
	job->cause = CAUSE_NONE;
	job->signalled = job->wants_resume = false;
	state_set(state, job, JOB_PENDING);
	state_arm(state, job);
	state_reindex(state, job, now);
}

/*
 * Nothing of the attempt runs any more: what its stop was for decides, else
 * `to` and `why`, which say how it ended by itself.
 */
static void settle(struct state *state, struct job *job, enum job_state to,
                   enum reason why, int64_t now)
{
	switch ((enum cause)job->cause) {
	case CAUSE_CANCEL:
		job_end(state, job, JOB_CANCELLED, WHY_Cancelled, now);
		return;
	case CAUSE_TIME_LIMIT:
		job_end(state, job, JOB_TIMEOUT, WHY_TimeLimit, now);
		return;
	case CAUSE_DEADLINE:
		job_end(state, job, JOB_DEADLINE, WHY_DeadLine, now);
		return;
	case CAUSE_PREEMPT:
		job->preemptions++;
		if (job->on_preempt == PREEMPT_CANCEL && !job->hold)
			job_end(state, job, JOB_PREEMPTED, WHY_Preempted, now);
		else
			back_to_queue(state, job, now);
		return;
	case CAUSE_REQUEUE:
	case CAUSE_NODE_FAIL:
		job->restarts++;
		back_to_queue(state, job, now);
		return;
	case CAUSE_NONE:
		break;
	}
	job_end(state, job, to, why, now);
}

static int ended(struct state *state, struct job *job,
                 const struct event_in *ev, struct err *err)
{
	const struct outcome *o = ev->outcome;
	enum job_state to = JOB_COMPLETED;
	enum reason why = WHY_None;

	(void)err;
	job->exit_code = o->exit_code;
	job->signal = o->signal;
	job->cpu_ms += o->cpu_ms;
	if (o->peak_mem_kib > job->peak_mem_kib)
		job->peak_mem_kib = o->peak_mem_kib;
	set_text(job, o->text);
	if (o->oom) {
		to = JOB_OUT_OF_MEMORY;
		why = WHY_OutOfMemory;
	} else if (o->signal) {
		to = JOB_FAILED;
		why = WHY_RaisedSignal;
	} else if (o->exit_code) {
		to = JOB_FAILED;
		why = WHY_NonZeroExitCode;
	}
	if (job->start == NO_TIME || job->state == JOB_CONFIGURING)
		job->start = job->resumed = o->start;
	settle(state, job, to, why, o->end > job->start ? o->end : job->start);
	return 0;
}

static int lost(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	(void)err;
	set_text(job, ev->text);
	job->evict = EVICT_NODE_DOWN;
	job->evict_by = 0;
	if (job->cause == CAUSE_NONE && asks_requeue(job) &&
	    job->restarts < max_restarts(job))
		job->cause = CAUSE_NODE_FAIL;
	settle(state, job, JOB_NODE_FAIL, WHY_NodeFail, ev->now);
	return 0;
}

/* --- waiting ----------------------------------------------------------- */

static int hold(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	(void)err;
	if (job->hold == HOLD_ADMIN)
		return 0;
	job->hold = ev->by_operator ? HOLD_ADMIN : HOLD_USER;
	state_touch(state, job);
	state_reindex(state, job, ev->now);
	return 0;
}

static int release(struct state *state, struct job *job,
                   const struct event_in *ev, struct err *err)
{
	if (job->hold == HOLD_ADMIN && !ev->by_operator)
		return err_set(err, EPERM,
		               "job %llu was held by an operator: only one "
		               "can release it",
		               (unsigned long long)job->id);
	job->hold = HOLD_NONE;
	state_touch(state, job);
	state_reindex(state, job, ev->now);
	return 0;
}

/* It was taken down instead of being suspended. */
static int resume_pending(struct state *state, struct job *job,
                          const struct event_in *ev, struct err *err)
{
	if (!job->preemptions || job->hold == HOLD_NONE)
		return err_set(err, EINVAL,
		               "job %llu is PENDING: only a suspended job can "
		               "be resumed",
		               (unsigned long long)job->id);
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

/* --- starting ---------------------------------------------------------- */

static void effect_start(struct state *state, const struct job *job)
{
	state_effect(state, (struct effect){ .kind = EFFECT_START,
	                                     .job = job->id,
	                                     .attempt = job->attempt });
}

static int start(struct state *state, struct job *job,
                 const struct event_in *ev, struct err *err)
{
	(void)err;
	place(state, job, ev->place, ev->now);
	job->attempt++;
	job->start = ev->now;
	job->exit_code = -1;
	job->signal = 0;
	set_text(job, NULL);
	state_set(state, job, JOB_CONFIGURING);
	effect_start(state, job);
	return 0;
}

static void array_started(struct state *state, const struct job *job)
{
	struct array *array = state_array(state, job->array);

	if (job->start > array->started)
		array->started = job->start;
	state_touch_array(state, array);
}

static int started(struct state *state, struct job *job,
                   const struct event_in *ev, struct err *err)
{
	bool as_planned = !state->want_plan && ev->time == job->start;

	(void)err;
	if (ev->time < job->start)
		usage_backdate(state, job, job->start, ev->time);
	job->start = job->resumed = ev->time;
	job->start_fails = 0;
	nodes_absolve(state, job);
	state_set(state, job, JOB_RUNNING);
	if (as_planned)
		state->want_plan = false; /* the plan that started it holds */
	state_arm(state, job);
	if (job->array)
		array_started(state, job);
	deps_started(state, job, ev->now);
	return 0;
}

static int start_failed(struct state *state, struct job *job,
                        const struct event_in *ev, struct err *err)
{
	(void)err;
	set_text(job, ev->text);
	if (ev->fault == FAULT_USER) {
		job->exit_code = 1;
		settle(state, job, JOB_FAILED, WHY_JobLaunchFailure, ev->now);
		return 0;
	}
	if (job->cause != CAUSE_NONE) {
		settle(state, job, JOB_FAILED, WHY_JobLaunchFailure, ev->now);
		return 0;
	}
	nodes_blame(state, job, ev->now);
	job->retry_at = ev->now + backoff_s(job->start_fails++);
	back_to_queue(state, job, ev->now);
	return 0;
}

/* The daemon died between the commit and the start. */
static int start_again(struct state *state, struct job *job,
                       const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	free(job->leaving); /* they never came */
	job->leaving = NULL;
	job->leave_by = NO_TIME;
	effect_start(state, job);
	return 0;
}

/* --- running ----------------------------------------------------------- */

static void effect_stop(struct state *state, const struct job *job)
{
	static const enum stop_why why[] = {
		[CAUSE_NONE] = STOP_CANCEL,
		[CAUSE_CANCEL] = STOP_CANCEL,
		[CAUSE_TIME_LIMIT] = STOP_TIME_LIMIT,
		[CAUSE_REQUEUE] = STOP_REQUEUE,
		[CAUSE_PREEMPT] = STOP_PREEMPT,
		[CAUSE_DEADLINE] = STOP_DEADLINE,
		[CAUSE_NODE_FAIL] = STOP_NODE_FAIL,
	};

	state_effect(state, (struct effect){ .kind = EFFECT_STOP,
	                                     .job = job->id,
	                                     .attempt = job->attempt,
	                                     .why = why[job->cause] });
}

static void complete(struct state *state, struct job *job, enum cause cause)
{
	job->cause = (uint8_t)cause;
	job->evict = EVICT_NONE;
	job->evict_by = 0;
	job->wants_resume = false;
	claim_drop(state, job);
	state_set(state, job, JOB_COMPLETING);
	effect_stop(state, job);
}

static int cancel(struct state *state, struct job *job,
                  const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	complete(state, job, CAUSE_CANCEL);
	return 0;
}

/* It was to come back; now it is to end. */
static int cancel_completing(struct state *state, struct job *job,
                             const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	if (job->cause == CAUSE_REQUEUE || job->cause == CAUSE_PREEMPT ||
	    job->cause == CAUSE_NODE_FAIL) {
		job->cause = CAUSE_CANCEL;
		claim_drop(state, job);
		state_touch(state, job);
	}
	return 0;
}

static int time_limit(struct state *state, struct job *job,
                      const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	complete(state, job, CAUSE_TIME_LIMIT);
	return 0;
}

static int deadline(struct state *state, struct job *job,
                    const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	complete(state, job, CAUSE_DEADLINE);
	return 0;
}

static int requeue(struct state *state, struct job *job,
                   const struct event_in *ev, struct err *err)
{
	struct spec spec;

	(void)ev;
	spec_unpack(&spec, job->packed);
	if (spec.requeue == 0)
		return err_set(err, EPERM,
		               "job %llu was submitted with --no-requeue",
		               (unsigned long long)job->id);
	if (spec.max_restarts != SPEC_UNSET &&
	    job->restarts >= spec.max_restarts)
		return err_set(err, EPERM,
		               "job %llu was restarted %u times, as often as "
		               "it may; `aictl update %llu max_restarts=N` "
		               "allows more",
		               (unsigned long long)job->id, job->restarts,
		               (unsigned long long)job->id);
	complete(state, job, CAUSE_REQUEUE);
	return 0;
}

static int preempt(struct state *state, struct job *job,
                   const struct event_in *ev, struct err *err)
{
	(void)err;
	complete(state, job, CAUSE_PREEMPT);
	evict_note(job, ev, true);
	evict_watch(state, job, ev->now);
	return 0;
}

static int signal_job(struct state *state, struct job *job,
                      const struct event_in *ev, struct err *err)
{
	(void)err;
	state_effect(state, (struct effect){ .kind = EFFECT_SIGNAL,
	                                     .job = job->id,
	                                     .attempt = job->attempt,
	                                     .signo = ev->signo,
	                                     .script_only = ev->script_only });
	return 0;
}

static void effect_suspend(struct state *state, const struct job *job,
                           enum effect_kind kind)
{
	state_effect(state, (struct effect){ .kind = kind,
	                                     .job = job->id,
	                                     .attempt = job->attempt });
}

bool job_can_freeze(const struct state *state, const struct job *job)
{
	uint32_t pool = state->node[job->place->task[0].node].pool;

	return state->conf->pools[pool].runner == RUNNER_LOCAL;
}

/* One that makes room for others goes on by itself; what cannot be stopped
 * where it is is taken down, and waits until it is asked to resume. */
static int suspend(struct state *state, struct job *job,
                   const struct event_in *ev, struct err *err)
{
	(void)err;
	if (!job_can_freeze(state, job)) {
		job->hold = ev->by_operator ? HOLD_ADMIN : HOLD_USER;
		complete(state, job, CAUSE_PREEMPT);
		return 0;
	}
	claim_drop(state, job);
	if (ev->evict != EVICT_NONE) {
		evict_note(job, ev, true);
		job->wants_resume = true;
		job->preemptions++;
	}
	stop_clock(job, ev->now);
	state_set(state, job, JOB_SUSPENDED);
	usage_charge(state, job, ev->now);
	effect_suspend(state, job, EFFECT_SUSPEND);
	return 0;
}

/* It asked for its CPUs and is asked to stay as it is. */
static int suspend_again(struct state *state, struct job *job,
                         const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	job->wants_resume = false;
	state_touch(state, job);
	state_replan(state);
	return 0;
}

static int resume(struct state *state, struct job *job,
                  const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	job->wants_resume = true;
	state_touch(state, job);
	state_replan(state);
	return 0;
}

static int resumed(struct state *state, struct job *job,
                   const struct event_in *ev, struct err *err)
{
	(void)err;
	free(job->place);
	job->place = placement_new(ev->place->ntasks, ev->place->task,
	                           ev->place->cpu_use);
	job->resumed = ev->now;
	job->wants_resume = false;
	claim_drop(state, job);
	state_set(state, job, JOB_RUNNING);
	usage_charge(state, job, ev->now);
	state_arm(state, job);
	effect_suspend(state, job, EFFECT_RESUME);
	return 0;
}

/* --- other tasks ------------------------------------------------------- */

static void effect_resize(struct state *state, const struct job *job)
{
	state_effect(state, (struct effect){ .kind = EFFECT_RESIZE,
	                                     .job = job->id,
	                                     .attempt = job->attempt });
}

/* What it holds has changed: others may have what it gave up. */
static void resized(struct state *state, struct job *job,
                    struct placement *place, int64_t now)
{
	free(job->place);
	job->place = place;
	usage_charge(state, job, now);
	state_touch(state, job);
	state_replan(state);
	effect_resize(state, job);
}

static int shrink(struct state *state, struct job *job,
                  const struct event_in *ev, struct err *err)
{
	struct placement *lost, *both;

	(void)err;
	if (!ev->nlosses)
		return 0;
	lost = placement_part(job->place, ev->loss, ev->nlosses, false);
	both = placement_join(job->leaving, lost);
	free(lost);
	free(job->leaving);
	job->leaving = both;
	job->resize++;
	evict_note(job, ev, false);
	evict_watch(state, job, ev->now);
	resized(state, job,
	        placement_part(job->place, ev->loss, ev->nlosses, true),
	        ev->now);
	return 0;
}

/* They are gone, unless more were told to leave since the runner looked. */
static int shrunk(struct state *state, struct job *job,
                  const struct event_in *ev, struct err *err)
{
	struct placement *was = job->leaving;

	(void)err;
	if (!was || (ev->resize && ev->resize != job->resize))
		return 0;
	job->leaving = NULL;
	if (ev->nlosses && ev->nlosses < was->ntasks)
		job->leaving = placement_rest(was, ev->nlosses);
	else
		job->leave_by = NO_TIME;
	free(was);
	state_touch(state, job);
	state_replan(state);
	return 0;
}

static int grow(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	(void)err;
	claim_drop(state, job);
	resized(state, job, placement_join(job->place, ev->place), ev->now);
	return 0;
}

/* --- after a restart: say again what may not have been heard ----------- */

static bool is_elastic(const struct job *job)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	return spec.min_tasks != SPEC_UNSET;
}

static int found_running(struct state *state, struct job *job,
                         const struct event_in *ev, struct err *err)
{
	(void)err;
	usage_charge(state, job, ev->now); /* nodes may be others */
	if (is_elastic(job))
		effect_resize(state, job);
	if (ev->suspended)
		effect_suspend(state, job, EFFECT_RESUME);
	return 0;
}

static int found_suspended(struct state *state, struct job *job,
                           const struct event_in *ev, struct err *err)
{
	(void)err;
	if (is_elastic(job))
		effect_resize(state, job);
	if (!ev->suspended)
		effect_suspend(state, job, EFFECT_SUSPEND);
	return 0;
}

static int found_completing(struct state *state, struct job *job,
                            const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	effect_stop(state, job);
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

/* --- the table --------------------------------------------------------- */

#define ENDED [EV_cancel] = nothing

static handler_fn *const table[JOB_NSTATES][EV_N] = {
	[JOB_PENDING] = {
		[EV_hold] = hold,
		[EV_release] = release,
		[EV_resume] = resume_pending,
		[EV_start] = start,
		[EV_cancel] = cancel_pending,
		[EV_deadline] = deadline_pending,
	},
	[JOB_CONFIGURING] = {
		[EV_started] = started,
		[EV_start_failed] = start_failed,
		[EV_unknown] = start_again,
		[EV_ended] = ended,
		[EV_lost] = lost,
		[EV_requeue] = requeue,
		[EV_preempt] = preempt,
		[EV_cancel] = cancel,
		[EV_deadline] = deadline,
		[EV_shrink] = shrink,
		[EV_shrunk] = shrunk,
		[EV_grow] = grow,
	},
	[JOB_RUNNING] = {
		[EV_started] = found_running,
		[EV_unknown] = lost,
		[EV_ended] = ended,
		[EV_lost] = lost,
		[EV_suspend] = suspend,
		[EV_resume] = nothing,
		[EV_requeue] = requeue,
		[EV_preempt] = preempt,
		[EV_signal] = signal_job,
		[EV_cancel] = cancel,
		[EV_time_limit] = time_limit,
		[EV_deadline] = deadline,
		[EV_shrink] = shrink,
		[EV_shrunk] = shrunk,
		[EV_grow] = grow,
	},
	[JOB_SUSPENDED] = {
		[EV_started] = found_suspended,
		[EV_unknown] = lost,
		[EV_ended] = ended,
		[EV_lost] = lost,
		[EV_suspend] = suspend_again,
		[EV_resume] = resume,
		[EV_resumed] = resumed,
		[EV_requeue] = requeue,
		[EV_preempt] = preempt,
		[EV_signal] = signal_job,
		[EV_cancel] = cancel,
		[EV_deadline] = deadline,
		[EV_shrink] = shrink,
		[EV_shrunk] = shrunk,
	},
	[JOB_COMPLETING] = {
		[EV_started] = found_completing,
		[EV_start_failed] = start_failed,
		[EV_unknown] = lost,
		[EV_ended] = ended,
		[EV_lost] = lost,
		[EV_cancel] = cancel_completing,
		[EV_shrunk] = shrunk,
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

/* What a person is told whose request the table does not have; the others
 * are late or repeated reports, which change nothing. */
static const char *const refusal[EV_N] = {
	[EV_hold] = "only a pending job can be held",
	[EV_release] = "only a pending job can be released",
	[EV_suspend] = "only a running job can be suspended",
	[EV_resume] = "only a suspended job can be resumed",
	[EV_requeue] = "only a job that has started can be requeued",
	[EV_preempt] = "only a job that has started can be preempted",
	[EV_signal] = "only a running job can be signalled",
};

int state_event(struct state *state, struct job *job, const struct event_in *ev,
                struct err *err)
{
	handler_fn *handler = table[job->state][ev->kind];

	if (ev->attempt && ev->attempt != job->attempt)
		return 0;
	if (handler)
		return handler(state, job, ev, err);
	if (!refusal[ev->kind])
		return 0;
	return err_set(err, EINVAL, "job %llu is %s: %s",
	               (unsigned long long)job->id, job_state_name(job->state),
	               refusal[ev->kind]);
}
