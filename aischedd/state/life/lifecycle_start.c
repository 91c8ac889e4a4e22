/* lifecycle_start.c - a job gets its nodes, starts, or fails to start */
#include "aischedd/state/life/lifecycle_start.h"
#include "aischedd/state/cluster/counts.h"

#include <stdlib.h>

#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/depend_watch.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/lifecycle_end.h"
#include "aischedd/state/life/lifecycle_stop.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"

void life_count_nodes(struct state *state, struct job *job)
{
	struct request_sum whole = { 0 }, sum;
	const struct placement *p = job->place;
	struct request req;
	struct spec spec;
	uint32_t nodes = 0;
	char *packed;

	spec_unpack(&spec, job->packed);
	if (!spec_takes_nodes(&spec))
		return;
	for (uint32_t i = 0; i < p->ntasks; i++) {
		const struct node *node = &state->nodes.node[p->task[i].node];

		if (i && p->task[i - 1].node == p->task[i].node)
			continue;
		nodes++;
		whole.cpus_milli += node->cpu_milli;
		whole.mem_mib += node->mem_mib;
	}
	spec_request(&spec, job->mem_default, &req);
	sum = spec_has(&spec, &req, job->mem_default, p->ntasks, nodes, &whole);
	spec.has_cpus = sum.cpus_milli;
	spec.has_mem = sum.mem_mib;
	packed = spec_pack(&spec);
	free(job->packed);
	job->packed = packed;
}

/* Choose the namespace of the attempt, unless it has one. The namespace stays
 * the same until the attempt ends, even if the configuration changes. */
static void set_space(const struct state *state, struct job *job)
{
	const struct conf *conf = state->conf;
	uint32_t pool = state->nodes.node[job->place->task[0].node].pool;

	if (!job->runs->space &&
	    runner_traits(conf->pools[pool].runner)->has_api)
		job_runs(job)->space =
		    xstrdup(conf_namespace(conf, (int)job->queue, (int)pool));
}

void life_found_in(struct state *state, struct job *job, const char *space)
{
	if (!space || job->runs->space)
		return;
	job_runs(job)->space = xstrdup(space);
	state_touch(state, job);
}

/* Give the job the nodes of this placement, which is copied. */
static void place_job(struct state *state, struct job *job,
                      const struct placement *p, int64_t now)
{
	claim_drop(state, job);
	row_remove(state, job);
	job->place = devices_give(state, job, placement_copy(p));
	set_space(state, job);
	job->row_prev = NULL;
	job->row_next = state->records.placed;
	if (state->records.placed)
		state->records.placed->row_prev = job;
	state->records.placed = job;
	placed_add(state, job);
	life_count_nodes(state, job);
	usage_charge(state, job, now);
	if (job->array)
		row_array_runs(state, job->array, 1);
	volume_moved(state, job, now);
	affinity_moved(state, job, now);
}

void life_unplace(struct state *state, struct job *job, int64_t now)
{
	if (!job->place)
		return;
	life_set_idle(state, job, false);
	*(job->row_prev ? &job->row_prev->row_next : &state->records.placed) =
	    job->row_next;
	if (job->row_next)
		job->row_next->row_prev = job->row_prev;
	job->row_prev = job->row_next = NULL;
	placed_drop(state, job);
	state_effect(state,
	             (struct effect){ .kind = EFFECT_FORGET,
	                              .job = job->id,
	                              .attempt = job->attempt,
	                              .node = job->place->task[0].node });
	free(job->place);
	free(job->runs->leaving);
	job->place = job_runs(job)->leaving = NULL;
	job_runs(job)->leave_by = NO_TIME;
	usage_charge(state, job, now);
	placed_key_forget(state, job);
	if (job->array)
		row_array_runs(state, job->array, -1);
	volume_moved(state, job, now);
	affinity_moved(state, job, now);
	free(job->runs->space);
	job_runs(job)->space = NULL;
}

/* --- starting ---------------------------------------------------------- */

static void effect_start(struct state *state, const struct job *job)
{
	state_effect(state, (struct effect){ .kind = EFFECT_START,
	                                     .job = job->id,
	                                     .attempt = job->attempt });
}

int life_start(struct state *state, struct job *job, const struct event_in *ev,
               struct err *err)
{
	(void)err;
	place_job(state, job, ev->place, ev->now);
	job->attempt++;
	job_runs(job)->replaced = 0;
	job_runs(job)->start = ev->now;
	job_runs(job)->exit_code = -1;
	job_runs(job)->signal = 0;
	life_set_text(job, NULL);
	state_set(state, job, JOB_CONFIGURING);
	effect_start(state, job);
	return 0;
}

/* Record the start of a task in its array. Returns true if it is the first task
 * of the array that has started. */
static bool array_started(struct state *state, const struct job *job)
{
	struct array *array = state_array(state, job->array);
	bool first = array->started == NO_TIME;

	if (job->runs->start > array->started)
		array->started = job->runs->start;
	state_touch_array(state, array);
	return first;
}

int life_started(struct state *state, struct job *job,
                 const struct event_in *ev, struct err *err)
{
	bool as_planned = !state->want_plan && ev->time == job->runs->start;

	(void)err;
	life_found_in(state, job, ev->space);
	if (ev->time < job->runs->start)
		usage_backdate(state, job, job->runs->start, ev->time);
	job_runs(job)->start = job_runs(job)->resumed = ev->time;
	ledger_book(state, job, ev->now);
	job_runs(job)->start_fails = 0;
	nodes_absolve(state, job);
	refusals_forget(state, job);
	state_set(state, job, JOB_RUNNING);
	if (as_planned)
		/* The last plan already had this start: take back the request
		 * for a new plan that state_set() made. */
		state->want_plan = false;
	state_arm(state, job);
	letter_began(state, job, job->array && array_started(state, job),
	             ev->now);
	deps_happened(state, job, ev->now);
	return 0;
}

int life_start_failed(struct state *state, struct job *job,
                      const struct event_in *ev, struct err *err)
{
	(void)err;
	life_set_text(job, ev->text);
	counts_start_failed(state, job, ev->fault);
	if (ev->fault == FAULT_USER) {
		job_runs(job)->exit_code = 1;
		life_settle(state, job, JOB_FAILED, WHY_JobLaunchFailure,
		            ev->now);
		return 0;
	}
	if (job->cause != CAUSE_NONE) {
		life_settle(state, job, JOB_FAILED, WHY_JobLaunchFailure,
		            ev->now);
		return 0;
	}
	if (ev->fault == FAULT_REFUSED)
		refusals_note(state, job, &ev->nodes, ev->now);
	else if (ev->fault != FAULT_POOL)
		nodes_blame(state, job, &ev->nodes, ev->now);
	job_runs(job)->retry_at =
	    ev->now + backoff_s(job_runs(job)->start_fails++);
	life_back_to_queue(state, job, ev->now);
	return 0;
}

/* Tell the runner once more to start the attempt, of which it knows
 * nothing: the daemon died after the commit of the start and before it told
 * the runner. */
int life_start_again(struct state *state, struct job *job,
                     const struct event_in *ev, struct err *err)
{
	(void)ev;
	(void)err;
	free(job->runs->leaving); /* evicted tasks, which never started */
	job_runs(job)->leaving = NULL;
	job_runs(job)->leave_by = NO_TIME;
	/* Choose a namespace if the job has none, because an older version did
	 * not store it. */
	set_space(state, job);
	state_touch(state, job);
	effect_start(state, job);
	return 0;
}
