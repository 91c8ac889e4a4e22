/* sim.c - run the scheduler and the state with a virtual clock */
#include "aisim/sim.h"

#include <stdlib.h>
#include <time.h>

#include "aischedd/sched/check/plan_check.h"
#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/cron.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/load.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/snapshot.h"
#include "aisim/cluster.h"
#include "aisim/shares.h"
#include "aisim/turns.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/topology.h"

enum {
	/* More passes than this in one second are an endless loop. */
	PASSES_MAX = 100000,
	/* Starts that may fail in a row while nothing else happens. */
	RETRIES_MAX = 300
};

static struct sim_job *of(struct sim *sim, const struct job *job)
{
	return &sim->job[job->id - 1];
}

static const struct trace_job *asked(const struct sim *sim,
                                     const struct job *job)
{
	return &sim->trace->job[job->id - 1];
}

static void happen(struct sim *sim, struct job *job, struct event_in ev)
{
	ev.now = sim->now;
	state_event(sim->state, job, &ev, NULL);
}

/* --- work -------------------------------------------------------------- */

/* Let a job begin or resume its work: add an entry to the calendar for the end
 * of the work or for the time limit, whichever is earlier. */
static void go_on(struct sim *sim, const struct job *job)
{
	struct sim_job *sj = of(sim, job);
	int64_t due = job_due(job);
	struct calendar_entry entry = { .job = job->id, .turn = ++sj->turn };

	sj->began = sim->now;
	if (sj->left != TRACE_NEVER &&
	    (due == NO_TIME || sim->now + sj->left <= due)) {
		entry.at = sim->now + sj->left;
		entry.kind = CALENDAR_END;
	} else if (due != NO_TIME) {
		entry.at = due > sim->now ? due : sim->now;
		entry.kind = CALENDAR_LIMIT;
	} else {
		return;
	}
	calendar_add(&sim->calendar, entry);
}

static void halt(struct sim *sim, const struct job *job)
{
	struct sim_job *sj = of(sim, job);
	int64_t worked;

	if (sj->began == NO_TIME)
		return;
	worked = sim->now - sj->began;
	sj->turn++;
	sj->nleaving = 0;
	sj->began = NO_TIME;
	sj->stats.ran += worked;
	if (sj->left != TRACE_NEVER)
		sj->left -= worked < sj->left ? worked : sj->left;
}

static void evicted(struct sim *sim, const struct job *job)
{
	const struct trace_job *tj = asked(sim, job);
	struct sim_job *sj = of(sim, job);

	if (sj->began == NO_TIME)
		return;
	halt(sim, job);
	if (tj->on_evict == ON_EVICT_RESTART)
		sj->left = tj->work;
	else if (sj->left != TRACE_NEVER)
		sj->left += tj->resume_cost;
}

static void ended(struct sim *sim, struct job *job)
{
	struct outcome outcome = { .start = job->runs->start,
		                   .end = sim->now,
		                   .peak_mem_kib = SPEC_UNSET };

	halt(sim, job);
	happen(sim, job,
	       (struct event_in){ .kind = EV_ended,
	                          .attempt = job->attempt,
	                          .outcome = &outcome });
}

/* --- the runner -------------------------------------------------------- */

static void start(struct sim *sim, struct job *job)
{
	struct event_in ev = { .kind = EV_started,
		               .attempt = job->attempt,
		               .time = sim->now };

	if (job->state != JOB_CONFIGURING)
		return; /* it has been running since second 0 */
	if (asked(sim, job)->start_fails) {
		tell_start_failed(sim, job);
		sim->retries++;
		ev.kind = EV_start_failed;
		ev.fault = FAULT_SYSTEM;
		ev.text = "it fails whenever it is started";
		happen(sim, job, ev);
		return;
	}
	happen(sim, job, ev);
	go_on(sim, job);
}

/* Stop a job. An evicted job ends when its grace is over; one that is cancelled
 * or at a limit ends at once. */
static void stop(struct sim *sim, struct job *job, enum stop_why why)
{
	int64_t grace = asked(sim, job)->grace;
	bool for_good = why == STOP_CANCEL || why == STOP_TIME_LIMIT ||
	                why == STOP_DEADLINE;

	if (for_good || !grace) {
		if (!for_good)
			evicted(sim, job);
		ended(sim, job);
		return;
	}
	evicted(sim, job);
	calendar_add(&sim->calendar,
	             (struct calendar_entry){ .at = sim->now + grace,
	                                      .job = job->id,
	                                      .turn = of(sim, job)->turn,
	                                      .kind = CALENDAR_GONE });
}

static void shrunk(struct sim *sim, struct job *job, uint32_t ntasks)
{
	of(sim, job)->nleaving -= ntasks;
	happen(sim, job,
	       (struct event_in){ .kind = EV_shrunk, .nlosses = ntasks });
}

/* Handle a change of the number of a job's tasks. Tasks that are taken away end
 * when the job's grace is over. New tasks do not speed up the work. */
static void resize(struct sim *sim, struct job *job)
{
	struct sim_job *sj = of(sim, job);
	uint32_t n =
	    job->runs->leaving ? job->runs->leaving->ntasks - sj->nleaving : 0;
	int64_t grace = asked(sim, job)->grace;

	if (!n)
		return;
	sj->nleaving += n;
	if (!grace) {
		shrunk(sim, job, n);
		return;
	}
	calendar_add(&sim->calendar,
	             (struct calendar_entry){ .at = sim->now + grace,
	                                      .job = job->id,
	                                      .turn = sj->turn,
	                                      .ntasks = n,
	                                      .kind = CALENDAR_SHRUNK });
}

/* Count the GPUs, and their blocks, after nodes have come or gone. */
static void count_gpus(struct sim *sim)
{
	sim->stats.gpus_offered = cluster_gpus(sim->state) * 1000;
	if (sim->align.node)
		align_nodes(sim);
}

static void act_on(struct sim *sim, const struct effect *effect)
{
	struct job *job = state_job(sim->state, effect->job);
	bool adds = effect->kind == EFFECT_ADD_NODE;

	if (adds || effect->kind == EFFECT_REMOVE_NODE) {
		tell_node(sim, adds ? "node_asked" : "node_removed",
		          effect->node);
		(adds ? scaled_add : scaled_remove)(&sim->scaled, sim->state,
		                                    effect->node, sim->now);
		count_gpus(sim);
		return;
	}
	if (!job || !job->place || job->attempt != effect->attempt)
		return;
	switch (effect->kind) {
	case EFFECT_START:
		start(sim, job);
		break;
	case EFFECT_STOP:
		stop(sim, job, effect->why);
		break;
	case EFFECT_SUSPEND:
		halt(sim, job);
		break;
	case EFFECT_RESUME:
		go_on(sim, job);
		break;
	case EFFECT_RESIZE:
		resize(sim, job);
		break;
	case EFFECT_SIGNAL:
	case EFFECT_FORGET:
	case EFFECT_ADOPT:
	case EFFECT_PORTS:
	case EFFECT_CRON:
	case EFFECT_DRAIN:
	case EFFECT_ADD_NODE:
	case EFFECT_REMOVE_NODE:
		break;
	}
}

/* Add up what the attempts that have just ended held and cost. */
static void note_attempts(struct sim *sim, const struct changes *changes)
{
	for (size_t i = 0; i < changes->nattempts; i++) {
		const struct attempt_row *row = &changes->attempt[i];
		int pool = row->pool ? conf_pool_find(state_conf(sim->state),
		                                      row->pool)
		                     : -1;

		sim->job[row->job - 1].stats.cost += row->cost;
		for (int r = 0; pool >= 0 && r < RES_N; r++)
			sim->held[(size_t)pool * RES_N + (size_t)r] +=
			    row->sum.held[r];
	}
}

/* Write the state's changes to the event log and carry out its effects, until
 * it has neither. */
static void settle(struct sim *sim)
{
	const struct effect *effect;
	struct changes changes;
	size_t n;

	do {
		state_changes(sim->state, &changes);
		for (size_t i = 0; i < changes.njobs; i++)
			tell_job(sim, changes.job[i]);
		note_attempts(sim, &changes);
		state_committed(sim->state);
		n = state_take_effects(sim->state, &effect);
		for (size_t i = 0; i < n; i++)
			act_on(sim, &effect[i]);
	} while (n || state_is_dirty(sim->state));
}

/* --- passes ------------------------------------------------------------ */

static void promised(struct sim *sim, uint64_t job, int64_t start)
{
	if (job)
		stats_promise(&sim->job[job - 1].stats, start, sim->now);
}

/* Note the expected starts in a plan, for the statistics of promises. */
static void note_promises(struct sim *sim, const struct snap *snap,
                          const struct plan *plan)
{
	for (uint32_t row = 0; row < plan->nverdicts; row++)
		if (plan->verdict[row].expected != SNAP_NEVER)
			promised(sim, plan->verdict[row].first,
			         plan->verdict[row].expected);
	for (uint32_t i = 0; i < plan->npromised; i++)
		promised(sim, snap->member[plan->promised[i].member].job,
		         plan->promised[i].expected);
}

static int pass(struct sim *sim, struct err *err)
{
	struct arena *arena = arena_new();
	double began = clock_fine_ms(), asked_at, done;
	const struct snap *snap = state_snapshot(sim->state, sim->now, arena);
	const struct plan *plan;

	asked_at = clock_fine_ms();
	plan = sched_plan(snap, arena);
	done = clock_fine_ms();
	stats_pass(&sim->stats, done - began, done - asked_at);
	if (sim->check && plan_check(snap, plan, err) < 0) {
		arena_free(arena);
		return err_wrap(err, "second %lld: the plan is wrong",
		                (long long)(sim->now - sim->trace->epoch));
	}
	turns_note(sim, snap, plan);
	note_promises(sim, snap, plan);
	state_apply_plan(sim->state, snap, plan, &arena, sim->now);
	return 0;
}

/* Run scheduler passes until nothing changes. */
static int plan(struct sim *sim, struct err *err)
{
	settle(sim);
	for (int i = 0; state_wants_plan(sim->state); i++) {
		if (i == PASSES_MAX)
			return err_set(
			    err, EINVAL,
			    "second %lld: %d plans, each of which "
			    "changes the one before it",
			    (long long)(sim->now - sim->trace->epoch),
			    PASSES_MAX);
		if (state_skip_plan(sim->state))
			break;
		if (pass(sim, err) < 0)
			return -1;
		settle(sim);
	}
	return 0;
}

/* --- entries of the calendar ---------------------------------------------- */

/* Returns the first entry that is not stale. */
static const struct calendar_entry *next_entry(struct sim *sim)
{
	const struct calendar_entry *e;

	while ((e = calendar_first(&sim->calendar)) &&
	       e->turn != sim->job[e->job - 1].turn)
		calendar_drop_first(&sim->calendar);
	return e;
}

static bool is_due(struct sim *sim)
{
	const struct calendar_entry *e = next_entry(sim);

	return e && e->at <= sim->now;
}

static bool take_due(struct sim *sim, struct calendar_entry *ret)
{
	const struct calendar_entry *e = next_entry(sim);

	if (!e || e->at > sim->now)
		return false;
	*ret = *e;
	calendar_drop_first(&sim->calendar);
	return true;
}

static void fire(struct sim *sim, const struct calendar_entry *e)
{
	struct job *job = state_job(sim->state, e->job);

	sim->retries = 0;
	if (e->kind == CALENDAR_SHRUNK)
		shrunk(sim, job, e->ntasks);
	else if (e->kind == CALENDAR_LIMIT)
		happen(sim, job, (struct event_in){ .kind = EV_time_limit });
	else
		ended(sim, job);
}

/* --- events and jobs of the trace ----------------------------------------- */

/* Add an array to the state, when its first task arrives. */
static void begin_array(struct sim *sim, uint64_t id)
{
	const struct trace_array *a = trace_array(sim->trace, id);

	if (state_array(sim->state, id))
		return;
	state_load_array(sim->state, &(struct array){ .id = id,
	                                              .limit = a->limit,
	                                              .count = a->n,
	                                              .unfinished = a->n,
	                                              .min = a->min,
	                                              .max = a->max,
	                                              .step = 1,
	                                              .started = NO_TIME,
	                                              .exit_low = -1,
	                                              .exit_high = -1 });
}

/* Set the begin time and the array of a replayed job. */
static void set_replayed(struct sim *sim, const struct trace_job *tj,
                         struct job *job)
{
	if (tj->begin != TRACE_NEVER &&
	    sim->trace->epoch + tj->begin > sim->now)
		job->begin = sim->trace->epoch + tj->begin;
	if (!tj->array)
		return;
	begin_array(sim, tj->array);
	job->array = tj->array;
	job->task = tj->task;
}

static void cancel(struct sim *sim, uint64_t id)
{
	struct job *job = state_job(sim->state, id);

	if (job)
		happen(sim, job, (struct event_in){ .kind = EV_cancel });
}

/* Whether the run of a cron entry that is due now is not skipped. Replaces
 * earlier runs if the entry's policy is to do so. */
static bool comes(struct sim *sim, uint64_t id)
{
	const struct trace_job *tj = &sim->trace->job[id - 1];
	struct cron_entry *e = state_cron(sim->state, tj->cron);
	const uint64_t *run;
	int64_t time;
	size_t n;

	if (!e)
		return true;
	if (!state_cron_take(sim->state, e, sim->trace->epoch, sim->now,
	                     &time)) {
		sim->nskipped++;
		tell_skip(sim, id, e->rule.policy == CRON_FORBID);
		return false;
	}
	n = state_cron_live(sim->state, e, &run);
	for (size_t i = 0; e->rule.policy == CRON_REPLACE && i < n; i++)
		cancel(sim, run[i]);
	return true;
}

/* If the state has set for which part of a GPU the tasks of the job count, set
 * it in the resolved request. */
static void take_part(const struct job *job, struct request *req)
{
	struct spec spec;

	spec_unpack(&spec, job->packed);
	if (spec_is_set(spec.gpu_part))
		req->gpus_milli = spec.gpu_part;
}

static struct job *admit(struct sim *sim, uint64_t id)
{
	struct trace_job *tj = &sim->trace->job[id - 1];
	struct cron_entry *e = state_cron(sim->state, tj->cron);
	int64_t submit = sim->trace->epoch + tj->submit;
	struct submitter who = { .uid = tj->user,
		                 .gid = tj->user,
		                 .user = sim->trace->user[tj->user],
		                 .operator_ = true };
	struct request req;
	struct spec spec;
	struct job *job;

	spec_unpack(&spec, tj->packed);
	spec.dependency = tj->dependency;
	spec.near = tj->near;
	spec.apart = tj->apart;
	spec_resolve(&spec, 0, &req, NULL);
	if (e)
		state_cron_spec(sim->state, e,
		                sim->now - state_cron_shift(sim->state, e),
		                &spec);
	job = state_make_job(sim->state, &spec, &who, tj->queue, id, submit);
	take_part(job, &req);
	if (tj->deadline != TRACE_NEVER)
		job->deadline = sim->trace->epoch + tj->deadline;
	if (tj->replayed)
		set_replayed(sim, tj, job);
	if (tj->preemptible >= 0)
		job->preemptible = tj->preemptible;
	/* A simulated job cannot be suspended in place: it ends, and may be
	 * requeued. */
	job->on_preempt =
	    tj->on_evict == ON_EVICT_END ? PREEMPT_CANCEL : PREEMPT_REQUEUE;
	sim->job[id - 1] = (struct sim_job){
		.left = tj->work,
		.began = NO_TIME,
		.stats = { .submit = submit,
		           .first_start = NO_TIME,
		           .promise = NO_TIME,
		           .evicted = NO_TIME,
		           .end = NO_TIME,
		           .gpus = req.gpus_milli,
		           .parted = mig_find(spec.gpu_type) != 0,
		           .grace = tj->grace,
		           .was_running = tj->node != NULL },
	};
	state_admit(sim->state, job, &spec, sim->now);
	if (e)
		state_cron_ran(sim->state, e, id, spec.cron_time);
	free(tj->packed);
	tj->packed = NULL;
	return job;
}

static void arrive(struct sim *sim)
{
	const struct trace *trace = sim->trace;

	while (sim->next_job < trace->njobs &&
	       sim->trace->epoch + trace->job[sim->next_job].submit <=
	           sim->now) {
		uint64_t id = ++sim->next_job;

		if (!comes(sim, id))
			continue;
		tell_submit(sim, admit(sim, id));
		sim->stats.upset = sim->now;
		sim->retries = 0;
	}
}

/* Whether the job has a task on the node; gpus: one that has one of these. */
static bool is_on(const struct job *job, uint32_t node, uint64_t gpus)
{
	for (uint32_t i = 0; job->place && i < job->place->ntasks; i++)
		if (job->place->task[i].node == node &&
		    (!gpus || job->place->task[i].gpus & gpus))
			return true;
	return false;
}

static uint64_t gpus_down(const struct sim *sim, uint32_t node)
{
	return sim->gpus_down ? sim->gpus_down[node] : 0;
}

/* End the jobs on a node; gpus: those that have one of these GPUs there. */
static void lose_jobs(struct sim *sim, uint32_t node, uint64_t gpus)
{
	for (struct job *job = state_first_job(sim->state); job;
	     job = job->all_next) {
		if (!is_on(job, node, gpus))
			continue;
		evicted(sim, job);
		/* make the job's entries in the calendar stale */
		of(sim, job)->turn++;
		happen(sim, job,
		       (struct event_in){ .kind = EV_lost,
		                          .attempt = job->attempt,
		                          .text = gpus
		                                      ? "its GPU went down"
		                                      : "its node went down" });
	}
}

static void set_node_down(struct sim *sim, uint32_t node, bool down)
{
	cluster_set_down(sim->state, node, down, gpus_down(sim, node));
	if (down)
		lose_jobs(sim, node, 0);
}

static void set_gpu_down(struct sim *sim, uint32_t node, uint32_t gpu,
                         bool down)
{
	uint64_t bit = (uint64_t)1 << gpu;

	if (!sim->gpus_down)
		sim->gpus_down =
		    xcalloc(state_nnodes(sim->state), sizeof(*sim->gpus_down));
	sim->gpus_down[node] &= ~bit;
	sim->gpus_down[node] |= down ? bit : 0;
	cluster_set_down(sim->state, node, state_node(sim->state, node)->down,
	                 sim->gpus_down[node]);
	if (down)
		lose_jobs(sim, node, bit);
}

static void hold(struct sim *sim, uint64_t id, bool held)
{
	struct job *job = state_job(sim->state, id);

	if (job)
		happen(sim, job,
		       (struct event_in){ .kind = held ? EV_hold : EV_release,
		                          .by_operator = true });
}

static int reserve(struct sim *sim, const struct trace_act *act,
                   struct err *err)
{
	struct reserve_ask ask = act->reserve;

	ask.start += sim->trace->epoch;
	ask.end += sim->trace->epoch;
	if (state_reserve(sim->state, &ask, sim->now, err) == 0)
		return 0;
	err_wrap(err, "reserve");
	return err_wrap(err, "%s:%u", sim->trace->file, act->line);
}

static int act(struct sim *sim, const struct trace_act *act, struct err *err)
{
	sim->retries = 0;
	sim->stats.upset = sim->now;
	switch (act->kind) {
	case TRACE_NODE_DOWN:
	case TRACE_NODE_UP:
		set_node_down(sim, act->node, act->kind == TRACE_NODE_DOWN);
		break;
	case TRACE_GPU_DOWN:
	case TRACE_GPU_UP:
		set_gpu_down(sim, act->node, act->gpu,
		             act->kind == TRACE_GPU_DOWN);
		break;
	case TRACE_DRAIN:
	case TRACE_UNDRAIN:
		state_drain(sim->state, act->node, act->kind == TRACE_DRAIN,
		            "drained", NULL);
		break;
	case TRACE_RESERVE:
		if (reserve(sim, act, err) < 0)
			return -1;
		break;
	case TRACE_HOLD:
	case TRACE_RELEASE:
		hold(sim, act->job, act->kind == TRACE_HOLD);
		break;
	case TRACE_CANCEL:
		cancel(sim, act->job);
		break;
	}
	settle(sim);
	count_gpus(sim);
	return 0;
}

/* Apply what the trace has for this second: events of nodes, then arriving
 * jobs, then jobs that are held, released or cancelled. */
static int happenings(struct sim *sim, struct err *err)
{
	const struct trace *trace = sim->trace;
	bool arrived = false;

	for (; sim->next_act < trace->nacts; sim->next_act++) {
		const struct trace_act *a = &trace->act[sim->next_act];

		if (sim->trace->epoch + a->at > sim->now)
			break;
		if (a->kind >= TRACE_HOLD && !arrived) {
			arrive(sim);
			arrived = true;
		}
		if (act(sim, a, err) < 0)
			return -1;
	}
	arrive(sim);
	state_tick(sim->state, sim->now);
	return 0;
}

/* --- time -------------------------------------------------------------- */

/* Place a job that is running at second 0: it may have started before. */
static int begin_running(struct sim *sim, struct room *room, uint64_t id,
                         struct err *err)
{
	const struct trace_job *tj = &sim->trace->job[id - 1];
	struct sim_job *sj = &sim->job[id - 1];
	struct placement *place;
	struct request req;
	struct spec spec;
	struct job *job;

	spec_unpack(&spec, tj->packed);
	spec_resolve(&spec, 0, &req, NULL);
	place = room_take(room,
	                  &(struct room_ask){
			      .req = &req,
			      .gpu_type = spec.gpu_type,
			      .device = spec.device,
			      .numa = numa_parse(spec.numa),
			      .node = tj->node,
			      .dev = tj->dev,
			      .ntasks = tj->nrunning,
			  },
	                  err);
	if (place && tj->dev && !align_is_met(sim, tj->packed, place)) {
		err_set(err, EINVAL,
		        "dev: more NUMA nodes or link groups than the job "
		        "demands");
		free(place);
		place = NULL;
	}
	if (!place) {
		err_wrap(err, "job '%s'", tj->name);
		return err_wrap(err, "%s:%u", sim->trace->file, tj->line);
	}
	job = admit(sim, id);
	happen(sim, job, (struct event_in){ .kind = EV_start, .place = place });
	free(place);
	happen(sim, job,
	       (struct event_in){ .kind = EV_started,
	                          .time = sim->trace->epoch + tj->started });
	sj->stats.ran = -tj->started;
	if (sj->left != TRACE_NEVER)
		sj->left = sj->left > -tj->started ? sj->left + tj->started : 0;
	go_on(sim, job);
	tell_nothing_of(sim, job);
	sim->stats.first_start = sim->now;
	return 0;
}

/* Add all jobs that have arrived by second 0, in the order of their ids. */
static int begin(struct sim *sim, struct err *err)
{
	const struct trace *trace = sim->trace;
	struct room *room = room_new(sim->state);
	int rc = 0;

	sim->now = sim->trace->epoch;
	sim->held = xcalloc(RES_N * (state_conf(sim->state)->npools + 1),
	                    sizeof(*sim->held));
	sim->stats.upset = NO_TIME;
	sim->stats.first_start = sim->stats.last_end = NO_TIME;
	count_gpus(sim);
	while (rc == 0 && sim->next_job < trace->njobs &&
	       trace->job[sim->next_job].submit <= 0) {
		uint64_t id = ++sim->next_job;

		if (trace->job[id - 1].node)
			rc = begin_running(sim, room, id, err);
		else
			tell_submit(sim, admit(sim, id));
	}
	room_free(room);
	return rc;
}

/* Add the nodes that are due, apply all entries of the calendar that are due,
 * then run passes. */
static int endings(struct sim *sim, struct err *err)
{
	struct calendar_entry e;
	bool any = false;
	int64_t node;

	for (; (node = scaled_take(&sim->scaled, sim->state, sim->now)) >= 0;
	     any = true) {
		tell_node(sim, "node_added", (uint32_t)node);
		count_gpus(sim);
	}

	for (; take_due(sim, &e); any = true) {
		fire(sim, &e);
		settle(sim);
	}
	return any ? plan(sim, err) : 0;
}

/* Apply all events of this second. */
static int second(struct sim *sim, struct err *err)
{
	do {
		if (endings(sim, err) < 0)
			return -1;
		if (happenings(sim, err) < 0 || plan(sim, err) < 0)
			return -1;
	} while (is_due(sim));
	return 0;
}

static void sooner(int64_t *at, int64_t other)
{
	if (other != NO_TIME && (*at == NO_TIME || other < *at))
		*at = other;
}

/* Returns the next time of the trace or the calendar, or NO_TIME. */
static int64_t next_known(struct sim *sim)
{
	const struct trace *trace = sim->trace;
	const struct calendar_entry *e = next_entry(sim);
	int64_t at = scaled_next(&sim->scaled);

	if (e)
		sooner(&at, e->at);
	if (sim->next_job < trace->njobs)
		sooner(&at,
		       sim->trace->epoch + trace->job[sim->next_job].submit);
	if (sim->next_act < trace->nacts)
		sooner(&at, sim->trace->epoch + trace->act[sim->next_act].at);
	return at;
}

/* Returns the time of the next event, or NO_TIME. Most alarms of the state are
 * for limits of jobs that have ended: skip alarms that change nothing. */
static int64_t next_time(struct sim *sim)
{
	for (;;) {
		int64_t known = next_known(sim), at = known;

		/* Stop after RETRIES_MAX failed starts: a job that never starts
		 * would be retried for ever. */
		if (known != NO_TIME || sim->retries < RETRIES_MAX)
			sooner(&at, state_next_tick(sim->state));
		if (at == NO_TIME || at - sim->trace->epoch > sim->trace->until)
			return NO_TIME;
		if (at == known)
			return at;
		state_tick(sim->state, at);
		if (state_is_dirty(sim->state) || state_wants_plan(sim->state))
			return at;
	}
}

void sim_init(struct sim *sim)
{
	sim->job = xcalloc(sim->trace->njobs + 1, sizeof(*sim->job));
	for (size_t i = 0; i < sim->trace->njobs; i++)
		sim->job[i].stats = (struct job_stats){ .first_start = NO_TIME,
			                                .end = NO_TIME };
}

int sim_run(struct sim *sim, struct err *err)
{
	int64_t at;

	if (begin(sim, err) < 0 || happenings(sim, err) < 0)
		return -1;
	if (sim->shares)
		shares_print(sim->state, sim->now, sim->shares);
	if (second(sim, err) < 0)
		return -1;
	while ((at = next_time(sim)) != NO_TIME) {
		stats_advance(&sim->stats, sim->now, at);
		if (sim->stats.first_start != NO_TIME)
			align_advance(&sim->align, at - sim->now);
		sim->now = at;
		if (second(sim, err) < 0)
			return -1;
	}
	tell_waits(sim);
	return 0;
}

void sim_fini(struct sim *sim)
{
	for (size_t i = 0; sim->job && i < sim->trace->njobs; i++)
		free(sim->job[i].shown);
	free(sim->job);
	free(sim->held);
	free(sim->gpus_down);
	calendar_fini(&sim->calendar);
	scaled_fini(&sim->scaled);
	align_fini(&sim->align);
	tell_fini(&sim->tell);
	stats_fini(&sim->stats);
	trace_free(sim->trace);
}
