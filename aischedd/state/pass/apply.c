/* apply.c - apply a plan to the state */
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/cluster/counts.h"
#include "aischedd/state/cluster/device.h"
#include "aischedd/state/cluster/scale.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/order_score.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/split.h"
#include "aischedd/state/pass/placed.h"
#include "aischedd/state/pass/round.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/snap_build.h"
#include "aischedd/state/pass/snap_node.h"
#include "aischedd/state/pass/snapshot.h"
#include "aischedd/state/pass/sweep.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

struct apply {
	struct state *state;
	const struct snap *snap;
	const struct plan *plan;
	const struct queue_found *found;
	int64_t now;
	uint32_t next; /* index of the plan's next start */
	/* something else than this plan has changed since the snapshot */
	bool changed;
	/* as_planned[run]: the running job with this index in the snapshot
	 * still holds the same nodes as then */
	bool *as_planned;
	bool more; /* another pass is needed */
	/* If the plan gives a claim to a waiting array, one task is split off
	 * the array and gets the claim. Evictions that the plan makes for the
	 * array are then made for this task. task[i] is the job id of the task
	 * that was split off array[i]. */
	uint64_t *array, *task;
	size_t nsplits, array_cap, task_cap;
};

/* --- whether a decision is still possible -------------------------------- */

static bool nodes_are_up(const struct state *state,
                         const struct snap_task *task, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (node_status(&state->nodes.node[task[i].node]) != NODE_UP)
			return false;
	return true;
}

/* Whether the job is in a row, and not only because a sweep is still to remove
 * it from there. */
static bool still_waits(const struct state *state, const struct job *job)
{
	return job->row && state_ineligible(state, job) == WHY_None;
}

/* Whether the job is still in the row that has this index in the plan. */
static bool waits_as_planned(const struct state *state, const struct job *job,
                             uint32_t planned_row)
{
	return still_waits(state, job) &&
	       row_planned(state, job->row) == planned_row;
}

static bool runs_as_planned(const struct apply *a, uint32_t run)
{
	const struct snap_run *r = &a->snap->run;
	const struct job *job = state_job(a->state, r->job[run]);
	const struct snap_task *task = a->snap->task + r->task_first[run];
	uint32_t n = r->task_first[run + 1] - r->task_first[run];

	if (!job || !job->place || job->place->ntasks != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (job->place->task[i].node != task[i].node)
			return false;
	return true;
}

/* Set as_planned[] for all running jobs that the plan changes, before it
 * changes them. */
static void look_at_runs(struct apply *a)
{
	const struct plan *p = a->plan;

	a->as_planned = xcalloc(a->snap->run.n + 1, sizeof(bool));
	for (uint32_t i = 0; i < p->nevictions; i++)
		a->as_planned[p->eviction[i].run] =
		    runs_as_planned(a, p->eviction[i].run);
	for (uint32_t i = 0; i < p->ngrows; i++)
		a->as_planned[p->grow[i].run] =
		    runs_as_planned(a, p->grow[i].run);
	for (uint32_t i = 0; i < p->nclaims; i++)
		if (p->claim[i].row == SNAP_NONE)
			a->as_planned[p->claim[i].run] =
			    runs_as_planned(a, p->claim[i].run);
}

/* --- starts and growth ------------------------------------------------- */

static void happen(struct apply *a, struct job *job, struct event_in ev)
{
	ev.now = a->now;
	state_event(a->state, job, &ev, NULL);
}

static bool is_elastic(const struct snap *snap, uint32_t req)
{
	return snap->req.min_tasks[req] < snap->req.tasks[req];
}

static void apply_start(struct apply *a, const struct start *start)
{
	struct state *state = a->state;
	struct job *job = state_job(state, a->snap->member[start->member].job);
	const struct snap_task *task = a->plan->task + start->task_first;
	const struct array *array;
	struct event_in ev = { .kind = EV_start };
	struct placement *place;

	if (!job)
		return;
	if (job->state == JOB_SUSPENDED && job->wants_resume)
		ev.kind = EV_resumed;
	else if (!waits_as_planned(state, job, start->row) ||
	         !nodes_are_up(state, task, start->ntasks))
		return;
	if (!volume_still_fits(state, job, task, start->ntasks)) {
		/* another job that this plan has just started has mounted the
		 * volume claim elsewhere */
		a->more = true;
		return;
	}
	if (ev.kind == EV_start &&
	    !affinity_still_fits(state, job, task, start->ntasks)) {
		/* this plan has just started a job from which this one is to
		 * be apart, or the job near which it is to run has moved */
		a->more = true;
		return;
	}
	array = job->array ? state_array(state, job->array) : NULL;
	if (ev.kind == EV_start && array && array->limit &&
	    array->running >= array->limit)
		return;
	if (job->tasks.n)
		job = state_split_task(state, job, idset_min(&job->tasks));
	place = placement_of_plan(a->plan, start->task_first, start->ntasks);
	ev.place = place;
	counts_slip(state, a->snap, a->snap->member[start->member].job, a->now);
	if (start->backfilled && ev.kind == EV_start)
		counts_backfilled(state, job);
	happen(a, job, ev);
	free(place);
	a->more |= is_elastic(a->snap, a->snap->pend.req[start->row]);
}

static void apply_grow(struct apply *a, const struct grow *grow)
{
	struct job *job = state_job(a->state, a->snap->run.job[grow->run]);
	const struct snap_task *task = a->plan->task + grow->task_first;
	struct placement *place;

	if (!a->as_planned[grow->run] ||
	    !nodes_are_up(a->state, task, grow->ntasks) ||
	    !affinity_still_fits(a->state, job, task, grow->ntasks))
		return;
	place = placement_of_plan(a->plan, grow->task_first, grow->ntasks);
	happen(a, job, (struct event_in){ .kind = EV_grow, .place = place });
	free(place);
	a->more = true;
}

/* --- claims and evictions ---------------------------------------------- */

static void remember_split(struct apply *a, uint64_t array, uint64_t task)
{
	a->array = GROW(a->array, a->nsplits, &a->array_cap);
	a->task = GROW(a->task, a->nsplits, &a->task_cap);
	a->array[a->nsplits] = array;
	a->task[a->nsplits++] = task;
}

static struct job *meant(const struct apply *a, uint64_t id)
{
	for (size_t i = 0; i < a->nsplits; i++)
		if (a->array[i] == id)
			return state_job(a->state, a->task[i]);
	return state_job(a->state, id);
}

/* Apply a claim of a waiting job: have its nodes held for it. */
static void apply_claim(struct apply *a, const struct plan_claim *claim)
{
	const uint32_t *node = a->plan->claim_node + claim->node_first;
	uint64_t id = a->snap->member[claim->member].job;
	struct job *job = state_job(a->state, id);

	if (!job || (!waits_as_planned(a->state, job, claim->row) &&
	             !(job->state == JOB_SUSPENDED && job->wants_resume)))
		return;
	if (job->tasks.n) {
		job = state_split_task(a->state, job, idset_min(&job->tasks));
		remember_split(a, id, job->id);
	}
	claim_set(a->state, job, node, claim->n, a->now);
}

/* Append to *node all nodes that the plan holds for a running job. first: the
 * index of the job's first claim in the plan. */
static void gather(const struct apply *a, uint32_t first, struct buf *node)
{
	const struct plan *p = a->plan;

	for (uint32_t i = first; i < p->nclaims; i++)
		if (p->claim[i].row == SNAP_NONE &&
		    p->claim[i].run == p->claim[first].run)
			buf_add(node, p->claim_node + p->claim[i].node_first,
			        p->claim[i].n * sizeof(*p->claim_node));
}

/* Apply the claims of a running job that is to get more tasks, or to move. */
static void apply_run_claim(struct apply *a, uint32_t claim)
{
	uint32_t run = a->plan->claim[claim].run;
	struct job *job = state_job(a->state, a->snap->run.job[run]);
	struct buf node = { 0 };

	/* If the attempt has ended in the meantime and the job is pending
	 * again, it keeps its claim. */
	if (job && job->state == JOB_PENDING && job->claim)
		job->claim->serial = a->state->last_plan.serial;
	if (!a->as_planned[run])
		return;
	/* later claims of the job are skipped: gather() finds all of them */
	a->as_planned[run] = false;
	gather(a, claim, &node);
	claim_set(a->state, job, (const uint32_t *)(const void *)node.data,
	          (uint32_t)(node.len / sizeof(uint32_t)), a->now);
	buf_free(&node);
}

/* Whether the job for which this eviction is made (if any) still waits
 * or runs. */
static bool is_needed(const struct apply *a, const struct eviction *e)
{
	const struct job *by = meant(a, e->by);

	return !e->by || (by && (still_waits(a->state, by) || by->place));
}

static void apply_eviction(struct apply *a, const struct eviction *e)
{
	const uint32_t *first = a->snap->run.task_first + e->run;
	struct job *job = state_job(a->state, a->snap->run.job[e->run]);
	const struct job *by = meant(a, e->by);
	struct event_in ev = { .kind = EV_preempt,
		               .evict = (enum evict)e->why,
		               .evict_by = by ? by->id : 0,
		               .loss = a->plan->loss + e->loss_first,
		               .nlosses = e->nlosses };

	if (!a->as_planned[e->run] || !is_needed(a, e))
		return;
	if (e->nlosses < first[1] - first[0])
		ev.kind = EV_shrink;
	else if (e->suspend)
		ev.kind = EV_suspend;
	happen(a, job, ev);
	/* a suspended job's CPUs are free at once, for the next pass */
	a->more |= e->suspend;
}

/* --- apply and keep a whole plan ----------------------------------------- */

/* Apply the next starts, at most n. Returns whether there are others. */
static bool apply_starts(struct apply *a, uint32_t n)
{
	const struct plan *p = a->plan;

	for (; n > 0 && a->next < p->nstarts; n--)
		apply_start(a, &p->start[a->next++]);
	return a->next < p->nstarts;
}

/* Apply everything but the starts. */
static void apply_rest(struct apply *a)
{
	const struct plan *p = a->plan;

	look_at_runs(a);
	for (uint32_t i = 0; i < p->ngrows; i++)
		apply_grow(a, &p->grow[i]);
	for (uint32_t i = 0; i < p->nclaims; i++)
		if (p->claim[i].row != SNAP_NONE)
			apply_claim(a, &p->claim[i]);
	for (uint32_t i = 0; i < p->nevictions; i++)
		apply_eviction(a, &p->eviction[i]);
	/* This comes last, because evicting a job drops its old claim. */
	for (uint32_t i = 0; i < p->nclaims; i++)
		if (p->claim[i].row == SNAP_NONE)
			apply_run_claim(a, i);
	claims_expire(a->state, a->now);
	counts_found(a->state, a->found);
}

/* Forget the last plan. Returns its arena, which the caller frees; NULL if the
 * round has taken it over. */
static struct arena *forget_plan(struct state *state)
{
	struct arena *arena = state->last_plan.arena;

	if (round_holds(&state->round, arena))
		arena = NULL;
	state->last_plan.arena = NULL;
	state->last_plan.names = NULL;
	state->last_plan.verdict = NULL;
	state->last_plan.rows = (struct planned_rows){ 0 };
	state->last_plan.told = (struct turns_told){ 0 };
	state->last_plan.share = NULL;
	state->last_plan.promise = NULL;
	state->last_plan.npromises = 0;
	state->last_plan.serial++;
	return arena;
}

void state_forget_plan(struct state *state)
{
	arena_free(forget_plan(state));
}

bool state_skip_plan(struct state *state)
{
	if (state->rows.all.n || state->claims.n || state->round.goes_on ||
	    state->scales.n || placed_may_change(state))
		return false;
	state_forget_plan(state);
	sweep_planned(state);
	state->last_plan.wake = NO_TIME;
	state->want_plan = false;
	return true;
}

static void keep_shares(struct state *state, const struct plan *plan)
{
	size_t n = state->conf->nqueues;
	int64_t(*share)[RES_N];

	if (plan->gen != state->gen || !plan->share)
		return; /* no shares, or queues may have been renumbered */
	share = arena_alloc(state->last_plan.arena, n, sizeof(*share));
	memcpy(share, plan->share, n * sizeof(*share));
	state->last_plan.share = (const int64_t(*)[RES_N])share;
}

static int by_job(const void *a, const void *b)
{
	const struct snap_promise *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return x->node_first < y->node_first ? -1 : 1;
}

/* Keep the plan's promised starts, for the next snapshot. */
static void keep_promises(struct state *state, const struct plan *plan)
{
	struct last_plan *last = &state->last_plan;
	uint32_t n = plan->npromises, nnodes = 0;

	if (plan->gen != state->gen || !n)
		return;
	for (uint32_t i = 0; i < n; i++)
		nnodes += plan->promise[i].n;
	last->npromises = n;
	last->promise = arena_array(last->arena, struct snap_promise, n);
	last->promise_node = arena_array(last->arena, uint32_t, nnodes);
	memcpy(last->promise, plan->promise, n * sizeof(*last->promise));
	memcpy(last->promise_node, plan->promise_node,
	       nnodes * sizeof(*last->promise_node));
	qsort(last->promise, n, sizeof(*last->promise), by_job);
}

/* Keep the index that each row has in the plan, unless a snapshot for a later
 * plan has been taken in the meantime. */
static void keep_rows(struct state *state, struct arena *arena)
{
	struct last_plan *last = &state->last_plan;
	struct planned_rows *taken = &state->rows.taken;

	if (taken->serial != last->serial)
		return;
	last->rows = *taken;
	last->rows.of_slot =
	    arena_move(last->arena, arena, taken->of_slot,
	               (taken->nslots + 1) * sizeof(*taken->of_slot));
}

/* Fill struct last_plan, by moving or copying parts of the plan out of `arena`.
 * The waiting jobs are not kept, because there may be a million. */
static void keep_verdicts(struct state *state, const struct snap *snap,
                          const struct plan *plan, struct arena *arena)
{
	struct verdict *v;
	struct snap *names;

	state->last_plan.arena = arena_new();
	names = snap_names(state, snap->now, state->last_plan.arena);
	snap_keep_reservations(names, snap, state->last_plan.arena);
	state->last_plan.names = names;
	v = arena_move(state->last_plan.arena, arena,
	               (struct verdict *)plan->verdict,
	               plan->nverdicts * sizeof(*v));
	round_let_go(&state->round, arena);
	state->last_plan.verdict = v;
	keep_rows(state, arena);
	state->last_plan.told = told_list(snap, plan, state->last_plan.arena);
	snap_capacity(snap, state->last_plan.capacity);
	keep_shares(state, plan);
	keep_promises(state, plan);
}

/* Put verdicts of earlier passes into the plan (nobody else reads it yet), and
 * return what it found out about each queue. */
static const struct queue_found *read_plan(const struct judgements *judged,
                                           const struct snap *snap,
                                           const struct plan *plan,
                                           struct arena *arena)
{
	round_recall(judged, (struct verdict *)plan->verdict, plan->nverdicts);
	return counts_find(snap, plan, arena);
}

const struct queue_found *snapshot_read_plan(const struct build *taken,
                                             const struct plan *plan,
                                             struct arena *arena)
{
	return read_plan(&taken->judged, taken->snap, plan, arena);
}

struct apply *apply_begin(struct state *state, const struct snap *snap,
                          const struct plan *plan,
                          const struct queue_found *found, struct arena *arena)
{
	struct apply *a = xcalloc(1, sizeof(*a));

	*a = (struct apply){
		.state = state, .snap = snap, .plan = plan, .found = found
	};
	arena_join(arena, forget_plan(state));
	keep_verdicts(state, snap, plan, arena);
	state->last_plan.wake = NO_TIME;
	return a;
}

/* All parts are applied, or the rest of the plan is out of date. */
static void end_plan(struct apply *a)
{
	struct state *state = a->state;
	const struct plan *plan = a->plan;
	int64_t *wake = &state->last_plan.wake;

	*wake = plan->wake > a->now ? plan->wake : NO_TIME;
	if (plan->gen == state->gen)
		scale_use_plan(state, a->snap, plan, a->now, wake);
	/* The time for the next plan may have passed while the planner ran. */
	a->more |= plan->wake > a->snap->now && plan->wake <= a->now;
	a->more |= plan->again;
	state->want_plan = round_end(state, plan, a->changed || a->more);
}

bool apply_part(struct apply *a, uint32_t starts, int64_t now)
{
	struct state *state = a->state;
	bool more;

	a->now = now;
	a->changed |= state->want_plan || a->plan->gen != state->gen;
	/* If `gen` differs, nodes or queues have changed: apply nothing. */
	if (a->plan->gen == state->gen) {
		devices_begin(state);
		more = apply_starts(a, starts);
		devices_end(state);
		if (more) {
			/* It was set by applying the plan, but the plan's own
			 * changes need no other pass. */
			state->want_plan = false;
			return false;
		}
		apply_rest(a);
		sweep_planned(state);
	}
	end_plan(a);
	return true;
}

void apply_free(struct apply *a)
{
	if (!a)
		return;
	free(a->as_planned);
	free(a->array);
	free(a->task);
	free(a);
}

void state_apply_plan(struct state *state, const struct snap *snap,
                      const struct plan *plan, struct arena **arena,
                      int64_t now)
{
	const struct judgements judged = { .was = state->round.was,
		                           .at = state->round.was_at };
	const struct queue_found *found =
	    read_plan(&judged, snap, plan, *arena);
	struct apply *a = apply_begin(state, snap, plan, found, *arena);

	apply_part(a, UINT32_MAX, now);
	apply_free(a);
	arena_free(*arena);
	*arena = NULL;
}
