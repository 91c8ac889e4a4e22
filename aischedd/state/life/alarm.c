/* alarm.c - alarms: at which times the state has something to do */
#include "aischedd/state/life/alarm.h"

#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/life/cron.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/depend_watch.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/lifecycle_stop.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/sweep.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/heap.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

#define AT(of, i)        ((of)[i])
#define BEFORE(of, a, b) ((a).at < (b).at)
#define PUT(of, i, item) ((of)[i] = (item))
HEAP(alarms, struct alarm, struct alarm *, AT, BEFORE, PUT)

static void push(struct state *state, struct alarm alarm)
{
	alarms_rise(state->alarms.heap, state->alarms.n++, alarm);
}

/* Remove the alarms of jobs that have ended. There are many, because most jobs
 * end long before the alarm for their time limit. */
static void drop_stale_alarms(struct state *state)
{
	size_t n = state->alarms.n;

	state->alarms.n = 0;
	for (size_t i = 0; i < n; i++)
		if (!state->alarms.heap[i].job ||
		    state_job(state, state->alarms.heap[i].job) ||
		    state_cron(state, state->alarms.heap[i].job))
			push(state, state->alarms.heap[i]);
}

void state_alarm(struct state *state, int64_t at, uint64_t job)
{
	if (at == NO_TIME)
		return;
	if (state->alarms.n == state->alarms.cap) {
		drop_stale_alarms(state);
		if (state->alarms.n >= state->alarms.cap / 2)
			state->alarms.heap =
			    grow_array(state->alarms.heap, &state->alarms.cap,
			               sizeof(*state->alarms.heap));
	}
	push(state, (struct alarm){ at, job });
}

void state_arm(struct state *state, const struct job *job)
{
	int64_t limit_at = job_limit_at(job);
	struct spec spec;

	state_alarm(state, job->begin, job->id);
	state_alarm(state, job->runs->retry_at, job->id);
	state_alarm(state, job->runs->leave_by, job->id);
	if (job_latest_at(job) != NO_TIME)
		state_alarm(state, job_latest_at(job) + 1, job->id);
	if (limit_at == NO_TIME)
		return;
	state_alarm(state, limit_at, job->id);
	letter_arm(state, job, limit_at);
	spec_unpack(&spec, job->packed);
	if (spec.signal != SPEC_UNSET)
		state_alarm(state, limit_at - spec.signal_before, job->id);
}

/* Move the times of a job with nodes by the seconds by which the clock was set.
 * Do not move job->runs->resumed if it lies after the old clock's time: it was
 * read from another clock, perhaps before the machine was booted. */
static void shift(struct state *state, struct job *job, int64_t by, int64_t now)
{
	if (by > 0)
		usage_backdate(state, job, now - by, now);
	if (job->runs->resumed != NO_TIME && job->runs->resumed <= now - by)
		job_runs(job)->resumed += by;
	if (job->runs->leave_by != NO_TIME)
		job_runs(job)->leave_by += by;
	if (job->runs->retry_at != NO_TIME)
		job_runs(job)->retry_at = now;
	state_touch(state, job);
	state_arm(state, job);
}

void state_clock_set(struct state *state, int64_t by_ms, int64_t now_ms)
{
	int64_t by = (by_ms + (by_ms < 0 ? -500 : 500)) / 1000;
	int64_t now = now_ms / 1000;

	capacity_pause(state, now_ms - by_ms);
	capacity_go_on(state, now_ms);
	for (struct job *job = state->records.placed; job; job = job->row_next)
		ledger_pause(state, job, now_ms - by_ms);
	for (struct job *job = state->records.placed; job;
	     job = job->row_next) {
		ledger_go_on(state, job, now_ms);
		shift(state, job, by, now);
	}
	sweep_begin(state, SWEEP_RETRIES, now);
	for (size_t i = 0; i < state->nodes.n; i++) {
		struct node *node = &state->nodes.node[i];

		if (node->retry_at > now)
			node->retry_at = now;
		if (node->want != WANT_NOTHING)
			node->want_at += by;
		node->idle_since = NO_TIME;
	}
	refusals_retry(state, now);
	for (size_t i = 0; i < state->scales.n; i++)
		if (state->scales.scale[i].retry_at > now)
			state->scales.scale[i].retry_at = now;
	state_alarm(state, now, 0);
}

int64_t state_next_tick(const struct state *state)
{
	int64_t at = state->alarms.n ? state->alarms.heap[0].at : NO_TIME;

	if (!deps_are_told(state) || sweep_is_due(state) ||
	    rows_are_left(&state->rows) || state->crons.recheck)
		return 0; /* a time in the past: the timer fires at once */
	if (at == NO_TIME ||
	    (state->last_plan.wake != NO_TIME && state->last_plan.wake < at))
		at = state->last_plan.wake;
	if (at == NO_TIME || (state->reservations.next != NO_TIME &&
	                      state->reservations.next < at))
		at = state->reservations.next;
	return at;
}

static struct alarm pop_alarm(struct state *state)
{
	struct alarm first = state->alarms.heap[0];
	struct alarm last = state->alarms.heap[--state->alarms.n];

	alarms_sink(state->alarms.heap, state->alarms.n, 0, last);
	return first;
}

/*
 * Do everything that is due for the job now. The alarm does not say what that
 * is; if it is stale, nothing is due.
 */
static void tick_job(struct state *state, struct job *job, int64_t now)
{
	struct event_in ev = { .now = now };
	int64_t limit_at = job_limit_at(job);

	if (job->runs->leave_by != NO_TIME && job->runs->leave_by <= now)
		evict_overdue(state, job, now);
	if (job->state == JOB_PENDING) {
		if (job->begin != NO_TIME && job->begin <= now)
			job->begin = NO_TIME;
		if (job->runs->retry_at != NO_TIME &&
		    job->runs->retry_at <= now)
			job_runs(job)->retry_at = NO_TIME;
		deps_judge(state, job, now);
		state_reindex(state, job, now);
	}
	if (job->state == JOB_PENDING && deps_end_job(job)) {
		ev.kind = EV_cancel;
		state_event(state, job, &ev, NULL);
		return;
	}
	if (job_latest_at(job) != NO_TIME && job_latest_at(job) < now) {
		ev.kind = EV_deadline;
		state_event(state, job, &ev, NULL);
		return;
	}
	if (job->state != JOB_RUNNING || limit_at == NO_TIME)
		return;
	letter_limit(state, job, limit_at, now);
	if (limit_at <= now) {
		ev.kind = EV_time_limit;
		state_event(state, job, &ev, NULL);
		return;
	}
	if (!job->signalled) {
		struct spec spec;

		spec_unpack(&spec, job->packed);
		/* Do not send the signal of --signal if the job is in a pod
		 * (job_can_freeze() is false): a shell in the pod sends it. */
		if (spec.signal != SPEC_UNSET && job_can_freeze(state, job) &&
		    limit_at - spec.signal_before <= now) {
			job->signalled = true;
			state_touch(state, job);
			ev.kind = EV_signal;
			ev.signal = (struct run_signal){
				.signo = (int)spec.signal,
				.scope = spec_signal_scope(&spec),
				.step = -1,
			};
			state_event(state, job, &ev, NULL);
		}
	}
}

void state_tick(struct state *state, int64_t now)
{
	uint64_t until = steps_so_far + steps_slice();

	sweep_tick(state);
	rows_free_some(&state->rows);
	deps_refill(state);
	deps_go_on(state, now);
	cron_recheck_slice(state, now);
	if (state->last_plan.wake != NO_TIME && state->last_plan.wake <= now) {
		state->last_plan.wake = NO_TIME;
		state_replan(state);
	}
	if (state->reservations.next != NO_TIME &&
	    state->reservations.next <= now)
		reserve_tick(state, now);
	while (state->alarms.n && state->alarms.heap[0].at <= now &&
	       steps_so_far < until) {
		uint64_t id = pop_alarm(state).job;
		struct job *job = state_job(state, id);
		struct cron_entry *cron = job ? NULL : state_cron(state, id);

		if (!id)
			state_replan(state);
		else if (cron)
			cron_tick(state, cron, now);
		else if (job && !job_state_is_final(job->state))
			tick_job(state, job, now);
		steps_add(10);
	}
}
