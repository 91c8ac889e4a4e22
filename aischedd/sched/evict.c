/* evict.c - make room for a job: preempt, reclaim, consolidate */
#include "aischedd/sched/evict.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/domain.h"
#include "aischedd/sched/fit.h"

/* Nodes that are looked at in a pass before nobody is evicted any more. */
enum { LOOKS_MAX = 400000 };

/* What a trial may do. */
enum mode {
	MOVE,    /* take whoever finds another place */
	RECLAIM, /* of other queues, whom the rules allow to begin with */
	TAKE,    /* whom the rules allow to begin with */
	STRICT   /* whom they allow at his turn, should no one find a place */
};

/* A run that may be evicted. */
struct victim {
	uint32_t run;
	int64_t priority, lost, start;
	uint64_t job;
};

/* A step of a trial: one task of a run leaves, or all that it has left. */
struct step {
	uint32_t run;
	uint32_t task; /* index in snap.task; SNAP_NONE: all */
};

/* A node with room, once those who cost so much have left. */
struct offer {
	uint64_t cost;
	uint32_t node;
};

struct evictor {
	struct pass *p;
	const struct snap *s;
	struct work *w;

	uint32_t *order; /* runs that may go, the first to go first */
	uint32_t norder;
	uint32_t *rank;       /* by run: its place in order, or SNAP_NONE */
	uint32_t *owner;      /* by task: its run */
	uint32_t *first, *at; /* by node: slice of tasks there, by rank */
	int64_t *lowest;      /* by queue: least priority of such runs */
	int64_t *surplus;     /* by run: tasks it could give up */
	int64_t *whole;       /* by run: all of it leaves */
	int64_t *left;        /* by task: see STAYS */
	uint64_t looks;
	const struct domains *domains;

	/* Decided in this pass, by run. */
	uint8_t *why, *suspend; /* enum evict */
	uint64_t *by;
	struct arena_list evicted; /* runs */

	/* The trial. */
	const struct claimant *c;
	enum mode mode;
	uint8_t *allowed; /* by queue: its runs, before anything is taken */
	struct arena_list step, moved, offers;
	uint64_t worst; /* cost of the dearest offer that was taken */
	int64_t todo;   /* tasks to place; on so many nodes, 0: any number */
	uint32_t nodes_left;
};

/* --- who goes first ---------------------------------------------------- */

static int by_turn(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority < y->priority ? -1 : 1;
	if (x->lost != y->lost)
		return x->lost < y->lost ? -1 : 1;
	if (x->start != y->start)
		return x->start > y->start ? -1 : 1;
	return x->job > y->job ? -1 : 1;
}

/* Seconds of work since it started, in all devices it holds. */
static int64_t work_lost(const struct snap *s, uint32_t run)
{
	uint32_t req = s->run.req[run];
	int64_t each = s->req.gpus[req] ? s->req.gpus[req] : s->req.cpus[req];

	return (s->now - s->run.start[run]) * each * run_ntasks(s, run);
}

static bool may_leave(struct pass *p, uint32_t run)
{
	const struct snap *s = p->snap;

	if (!s->run.preemptible[run] || s->run.ending[run])
		return false;
	if (s->run.safe_until[run] > s->now) {
		pass_wake(p, s->run.safe_until[run]);
		return false;
	}
	return true;
}

static void list_victims(struct evictor *e)
{
	const struct snap *s = e->s;
	struct victim *v = arena_array(e->p->arena, struct victim, s->run.n);

	for (uint32_t i = 0; i < s->run.n; i++) {
		int64_t *lowest = &e->lowest[s->run.queue[i]];

		e->rank[i] = SNAP_NONE;
		if (!may_leave(e->p, i))
			continue;
		v[e->norder++] =
		    (struct victim){ i, s->run.priority[i], work_lost(s, i),
			             s->run.start[i], s->run.job[i] };
		e->surplus[i] =
		    (int64_t)run_ntasks(s, i) - s->req.min_tasks[s->run.req[i]];
		if (s->run.priority[i] < *lowest)
			*lowest = s->run.priority[i];
	}
	qsort(v, e->norder, sizeof(*v), by_turn);
	for (uint32_t i = 0; i < e->norder; i++) {
		e->order[i] = v[i].run;
		e->rank[v[i].run] = i;
	}
}

/* The tasks on each node, those of whoever goes first first. */
static void list_tasks(struct evictor *e)
{
	const struct snap *s = e->s;
	uint32_t *count = e->first + 1, n;

	for (uint32_t i = 0; i < e->norder; i++) {
		uint32_t run = e->order[i];

		for (uint32_t t = s->run.task_first[run];
		     t < s->run.task_first[run + 1]; t++)
			count[s->task[t].node]++;
	}
	for (uint32_t i = 0; i < s->node.n; i++)
		count[i] += e->first[i];
	n = e->first[s->node.n];
	e->at = arena_array(e->p->arena, uint32_t, n);
	for (uint32_t i = e->norder; i-- > 0;) {
		uint32_t run = e->order[i];

		for (uint32_t t = s->run.task_first[run + 1];
		     t-- > s->run.task_first[run];) {
			e->owner[t] = run;
			e->at[--count[s->task[t].node]] = t;
		}
	}
	/* What was the end of each node's slice is its beginning now. */
	memmove(e->first, count, s->node.n * sizeof(*count));
	e->first[s->node.n] = n;
}

static struct evictor *evict_new(struct pass *p)
{
	const struct snap *s = p->snap;
	struct evictor *e = arena_array(p->arena, struct evictor, 1);
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;

	e->p = p;
	e->s = s;
	e->w = p->place->work;
	e->order = arena_array(p->arena, uint32_t, s->run.n);
	e->rank = arena_array(p->arena, uint32_t, s->run.n);
	e->owner = arena_array(p->arena, uint32_t, ntasks);
	e->first = arena_array(p->arena, uint32_t, s->node.n + 1);
	e->lowest = arena_array(p->arena, int64_t, s->queue.n);
	e->surplus = arena_array(p->arena, int64_t, s->run.n);
	e->whole = arena_array(p->arena, int64_t, s->run.n);
	e->left = arena_array(p->arena, int64_t, ntasks);
	e->why = arena_array(p->arena, uint8_t, s->run.n);
	e->suspend = arena_array(p->arena, uint8_t, s->run.n);
	e->by = arena_array(p->arena, uint64_t, s->run.n);
	e->allowed = arena_array(p->arena, uint8_t, s->queue.n);
	for (uint32_t q = 0; q < s->queue.n; q++)
		e->lowest[q] = INT64_MAX;
	e->domains = domains_new(s, p->arena);
	list_victims(e);
	list_tasks(e);
	return e;
}

/* --- the rules --------------------------------------------------------- */

/* Whether the amount on top of what is used keeps within the share. */
static bool is_within(const struct evictor *e, uint32_t queue)
{
	const int64_t *more = e->c->demand.amount;
	const int64_t *share = e->p->tree->share[queue];

	for (int r = 0; r < RES_N; r++) {
		if (share[r] != CONF_NONE && more[r] &&
		    e->w->used[queue][r] + more[r] > share[r])
			return false;
	}
	return true;
}

static bool is_above(const struct evictor *e, uint32_t queue)
{
	const int64_t *more = e->c->demand.amount;
	const int64_t *share = e->p->tree->share[queue];

	for (int r = 0; r < RES_N; r++) {
		if (share[r] != CONF_NONE && more[r] &&
		    e->w->used[queue][r] > share[r])
			return true;
	}
	return false;
}

/* Whether `queue` is `below` or one of those above it. */
static bool is_ancestor(const struct snap *s, uint32_t queue, uint32_t below)
{
	while (below != SNAP_NONE && below != queue)
		below = s->queue.parent[below];
	return below == queue;
}

/* Whether the claimant may reclaim from that queue now. */
static bool may_reclaim(const struct evictor *e, uint32_t from)
{
	const uint32_t *parent = e->s->queue.parent;
	uint32_t q = e->c->demand.queue;

	while (from != SNAP_NONE && parent[from] != SNAP_NONE &&
	       !is_ancestor(e->s, parent[from], q))
		from = parent[from];
	if (!is_above(e, from))
		return false;
	for (; q != SNAP_NONE && q != parent[from]; q = parent[q]) {
		if (!is_within(e, q))
			return false;
	}
	return true;
}

static bool may_take(const struct evictor *e, uint32_t run)
{
	uint32_t queue = e->s->run.queue[run];

	if (e->p->order->grown[run])
		return false;
	if (e->mode == MOVE)
		return true;
	if (queue == e->c->demand.queue)
		return e->mode != RECLAIM &&
		       e->s->run.priority[run] < e->c->priority;
	return e->mode == STRICT ? may_reclaim(e, queue) : e->allowed[queue];
}

/* Whether there is anybody whom the claimant may take from. */
static bool find_allowed(struct evictor *e)
{
	const struct snap *s = e->s;
	bool any = e->lowest[e->c->demand.queue] < e->c->priority;

	for (uint32_t q = 0; q < s->queue.n; q++) {
		e->allowed[q] = q != e->c->demand.queue &&
		                e->lowest[q] != INT64_MAX && may_reclaim(e, q);
		any |= e->allowed[q];
	}
	return any;
}

/* --- taking away and giving back --------------------------------------- */

/* Of e->left: what becomes of a task.  It was given up by its job, or goes
 * with all of it, by this trial; or it left for an earlier claim. */
enum { STAYS, GIVEN, GONE, LEFT };

/* Room may be kept for others there from when it leaves. */
static void tell(const struct evictor *e, uint32_t task, bool leaves)
{
	if (e->p->place->watched[e->s->task[task].node])
		promise_leave(e->p->promises, task, leaves);
}

/* A task gives back what it holds on its node, or takes it again.  The shelf
 * hears of it when the step is kept. */
static void move_task(struct evictor *e, uint32_t task, int64_t to)
{
	e->looks++;
	work_run_task(e->w, e->owner[task], task, to == STAYS ? -1 : 1);
	tell(e, task, to != STAYS);
	work_add(e->w, &e->left[task], to - e->left[task]);
}

static void charge(struct evictor *e, uint32_t run, int64_t tasks, bool whole,
                   int sign)
{
	const struct snap *s = e->s;
	int64_t amount[RES_N];

	work_amount(s, run, tasks, amount);
	work_charge(e->w, s->run.queue[run], amount, !s->run.preemptible[run],
	            sign);
	work_charge_job(e->w, s->run.queue[run], s->run.user[run],
	                amount[RES_GPU], whole, sign);
}

/* All its tasks of one kind become another; returns how many. */
static int64_t move_all(struct evictor *e, uint32_t run, int64_t from,
                        int64_t to)
{
	const struct snap *s = e->s;
	int64_t n = 0;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (e->left[t] != from)
			continue;
		move_task(e, t, to);
		n++;
	}
	return n;
}

static struct step *step_at(const struct evictor *e, size_t i)
{
	return (struct step *)e->step.p + i;
}

static void push_step(struct evictor *e, uint32_t run, uint32_t task)
{
	struct step *step =
	    arena_push(e->p->arena, &e->step, sizeof(struct step));

	*step = (struct step){ run, task };
}

static void drop_step(struct evictor *e, size_t i)
{
	memmove(step_at(e, i), step_at(e, i + 1),
	        (--e->step.n - i) * sizeof(struct step));
}

static void take_one(struct evictor *e, uint32_t task)
{
	uint32_t run = e->owner[task];

	move_task(e, task, GIVEN);
	charge(e, run, 1, false, -1);
	work_add(e->w, &e->surplus[run], -1);
	push_step(e, run, task);
}

static void take_all(struct evictor *e, uint32_t run)
{
	charge(e, run, move_all(e, run, STAYS, GONE), true, -1);
	work_add(e->w, &e->surplus[run], -e->surplus[run]);
	work_add(e->w, &e->whole[run], 1);
	push_step(e, run, SNAP_NONE);
}

static void untake(struct evictor *e, size_t i)
{
	struct step step = *step_at(e, i);
	int64_t n;

	if (step.task != SNAP_NONE) {
		move_task(e, step.task, STAYS);
		charge(e, step.run, 1, false, 1);
		work_add(e->w, &e->surplus[step.run], 1);
		return;
	}
	n = move_all(e, step.run, GONE, STAYS);
	charge(e, step.run, n, true, 1);
	work_add(e->w, &e->whole[step.run], -1);
	work_add(e->w, &e->surplus[step.run],
	         n - e->s->req.min_tasks[e->s->run.req[step.run]]);
}

/* Tell of all tasks that a step takes. */
static void tell_step(const struct evictor *e, const struct step *step,
                      bool leave)
{
	const struct snap *s = e->s;

	if (step->task != SNAP_NONE) {
		tell(e, step->task, leave);
		return;
	}
	for (uint32_t t = s->run.task_first[step->run];
	     t < s->run.task_first[step->run + 1]; t++) {
		if (e->left[t] == GONE)
			tell(e, t, leave);
	}
}

/* Undo, and forget the steps from this one on. */
static void undo_to(struct evictor *e, size_t mark, size_t nsteps)
{
	while (e->step.n > nsteps)
		tell_step(e, step_at(e, --e->step.n), false);
	work_undo(e->w, mark);
}

/* The shelf is to know of the steps from this one on. */
static void refresh_from(struct evictor *e, size_t i)
{
	const struct snap *s = e->s;

	for (; i < e->step.n; i++) {
		uint32_t run = step_at(e, i)->run;

		for (uint32_t t = s->run.task_first[run];
		     t < s->run.task_first[run + 1]; t++)
			shelf_refresh(e->p->place->shelf, s->task[t].node);
	}
}

/* --- what a node costs ------------------------------------------------- */

static bool may_be_used(const struct evictor *e, uint32_t node)
{
	const struct place *place = e->p->place;
	uint32_t run = e->c->run;

	if (run != SNAP_NONE &&
	    e->s->node.pool[node] !=
	        e->s->node.pool[e->s->task[e->s->run.task_first[run]].node])
		return false;
	return place_may_use(place, e->c->req, node);
}

/* So many tasks go to the next node. */
static int64_t chunk(const struct evictor *e)
{
	return e->nodes_left ? (e->todo + e->nodes_left - 1) / e->nodes_left
	                     : 1;
}

static bool fits(const struct evictor *e, uint32_t node)
{
	return place_fits(e->p->place, e->c->req, node, chunk(e));
}

enum { COST_NEVER = -1 };

/* Whole runs cost more than tasks that a run can do without. */
static uint64_t cost_of(const struct evictor *e, uint32_t run, bool whole,
                        uint64_t sum)
{
	uint32_t req = e->s->run.req[run];
	int64_t size =
	    e->s->req.gpus[req] ? e->s->req.gpus[req] : e->s->req.cpus[req];

	if (e->mode != MOVE)
		return ((uint64_t)whole << 32 | e->rank[run]) + 1;
	/* Where nobody is lost, as little as can be is moved. */
	return sum + ((uint64_t)(size * run_ntasks(e->s, run)) << 24) +
	       e->rank[run] + 1;
}

/*
 * Take away from a node those that go first until the claimant fits there;
 * false: it never does.  What was taken stays so.
 */
static bool clear_node(struct evictor *e, uint32_t node, uint64_t *ret_cost)
{
	*ret_cost = 0;
	if (fits(e, node))
		return true;
	for (int whole = e->mode == MOVE; whole < 2; whole++) {
		for (uint32_t i = e->first[node]; i < e->first[node + 1]; i++) {
			uint32_t task = e->at[i], run = e->owner[task];

			if (e->left[task] || (!whole && e->surplus[run] <= 0) ||
			    run == e->c->run || !may_take(e, run))
				continue;
			*ret_cost = cost_of(e, run, whole, *ret_cost);
			if (whole)
				take_all(e, run);
			else
				take_one(e, task);
			if (fits(e, node))
				return true;
		}
	}
	return false;
}

/* What it would cost to clear the node; false: it cannot be. */
static bool look_at(struct evictor *e, uint32_t node, uint64_t *ret_cost)
{
	size_t mark = work_mark(e->w), nsteps = e->step.n;
	bool can;

	e->looks++;
	can = clear_node(e, node, ret_cost);
	undo_to(e, mark, nsteps);
	return can;
}

/* Those without whom it fits, too, stay: the dearest are asked first. */
static void spare(struct evictor *e, uint32_t node, size_t nsteps)
{
	for (size_t i = e->step.n; i-- > nsteps;) {
		size_t mark = work_mark(e->w);
		const struct step *step = step_at(e, i);

		if (step->task != SNAP_NONE && e->whole[step->run])
			continue;
		untake(e, i);
		if (fits(e, node)) {
			drop_step(e, i);
			continue;
		}
		work_undo(e->w, mark);
		tell_step(e, step_at(e, i), true);
	}
}

/* --- a trial ----------------------------------------------------------- */

static struct offer *offer_at(const struct evictor *e, size_t i)
{
	return (struct offer *)e->offers.p + i;
}

/* The cheaper; among equals in the order of the pool. */
static bool cheaper(const struct evictor *e, const struct offer *a,
                    const struct offer *b)
{
	if (a->cost != b->cost)
		return a->cost < b->cost;
	return shelf_before(e->p->place->shelf, a->node, b->node);
}

static void offer_push(struct evictor *e, struct offer offer)
{
	size_t i;

	arena_push(e->p->arena, &e->offers, sizeof(offer));
	for (i = e->offers.n - 1; i; i = (i - 1) / 2) {
		if (!cheaper(e, &offer, offer_at(e, (i - 1) / 2)))
			break;
		*offer_at(e, i) = *offer_at(e, (i - 1) / 2);
	}
	*offer_at(e, i) = offer;
}

static struct offer offer_pop(struct evictor *e)
{
	struct offer first = *offer_at(e, 0);
	struct offer last = *offer_at(e, --e->offers.n);
	size_t n = e->offers.n, i = 0;

	for (size_t kid; (kid = 2 * i + 1) < n; i = kid) {
		if (kid + 1 < n &&
		    cheaper(e, offer_at(e, kid + 1), offer_at(e, kid)))
			kid++;
		if (!cheaper(e, offer_at(e, kid), &last))
			break;
		*offer_at(e, i) = *offer_at(e, kid);
	}
	if (n)
		*offer_at(e, i) = last;
	return first;
}

static void offer_node(struct evictor *e, uint32_t node)
{
	struct offer offer = { .node = node };

	if (may_be_used(e, node) && look_at(e, node, &offer.cost))
		offer_push(e, offer);
}

/* Others whose tasks left a node with this step, too, offer more now. */
static void offer_again(struct evictor *e, size_t nsteps, uint32_t node)
{
	const struct snap *s = e->s;

	for (size_t i = nsteps; i < e->step.n; i++) {
		uint32_t run = step_at(e, i)->run;

		for (uint32_t t = s->run.task_first[run];
		     t < s->run.task_first[run + 1]; t++) {
			if (s->task[t].node != node)
				offer_node(e, s->task[t].node);
		}
	}
	offer_node(e, node);
}

/* Where a trial stands, to come back to. */
struct stand {
	size_t mark, nsteps, nmoved, ntasks, nuse;
};

static struct stand stand_now(const struct evictor *e)
{
	const struct place *place = e->p->place;

	return (struct stand){ work_mark(e->w), e->step.n, e->moved.n,
		               place->ntasks, place->nuse };
}

static void stand_back(struct evictor *e, const struct stand *to)
{
	struct place *place = e->p->place;
	size_t end = place->ntasks, nsteps;

	nsteps = e->step.n;
	undo_to(e, to->mark, to->nsteps);
	place->ntasks = to->ntasks;
	place->nuse = to->nuse;
	for (size_t i = to->ntasks; i < end; i++) {
		place->own[place->task[i].node] = 0;
		shelf_refresh(place->shelf, place->task[i].node);
	}
	e->step.n = nsteps;
	refresh_from(e, to->nsteps);
	e->step.n = to->nsteps;
	e->moved.n = to->nmoved;
}

/* A run that finds another place: its tasks there are of the trial. */
struct moved {
	uint32_t run;
	size_t first_task, ntasks;
};

/* Find another place for whoever leaves with the steps from this one on: for
 * all of its tasks or, if `part`, for its minimum.  Returns how many do not
 * find one. */
static size_t move_away(struct evictor *e, size_t from, bool part)
{
	const struct snap *s = e->s;
	struct place *place = e->p->place;
	size_t lost = 0;

	for (size_t i = e->step.n; i-- > from;) {
		struct step step = *step_at(e, i);
		uint32_t req = s->run.req[step.run];
		uint32_t n = run_ntasks(s, step.run);
		struct moved *moved;

		if (step.task != SNAP_NONE)
			continue;
		place_for_run(place, step.run);
		if (!place_try(place, req, n, IN_OPEN, NULL) &&
		    (!part || n == s->req.min_tasks[req] ||
		     !place_try(place, req, s->req.min_tasks[req], IN_OPEN,
		                NULL))) {
			lost++;
			continue;
		}
		moved = arena_push(e->p->arena, &e->moved, sizeof(*moved));
		*moved = (struct moved){ step.run, place->first_task,
			                 place->ntasks - place->first_task };
		for (size_t t = place->first_task; t < place->ntasks; t++)
			place->own[place->task[t].node] = 0;
	}
	return lost;
}

static void place_for_claimant(const struct evictor *e)
{
	if (e->c->run == SNAP_NONE)
		place_for(e->p->place, e->c->row, e->c->job);
	else
		place_for_run(e->p->place, e->c->run);
}

/* The node is cleared and the claimant's tasks are there. */
static bool settle_on(struct evictor *e, uint32_t node)
{
	struct stand before = stand_now(e);
	int64_t n = chunk(e);
	uint64_t cost;
	uint32_t own;
	bool moved;

	if (!clear_node(e, node, &cost))
		abort(); /* it was looked at a moment ago */
	spare(e, node, before.nsteps);
	refresh_from(e, before.nsteps);
	place_put(e->p->place, e->c->req, node, n);
	own = e->p->place->own[node];
	if (e->mode != MOVE)
		return true;
	e->p->place->own[node] = 0;
	moved = !move_away(e, before.nsteps, false);
	place_for_claimant(e);
	if (!moved) {
		stand_back(e, &before);
		own -= (uint32_t)n;
	}
	e->p->place->own[node] = own;
	return moved;
}

/* Others may be placed beside the claimant. */
static void release_own(struct evictor *e, const struct stand *before)
{
	struct place *place = e->p->place;

	for (size_t t = before->ntasks; t < place->ntasks; t++)
		place->own[place->task[t].node] = 0;
}

/* The claimant's tasks, all of them, on some of these nodes. */
static bool fill_nodes(struct evictor *e, const uint32_t *node, uint32_t n)
{
	e->todo = e->c->tasks;
	e->nodes_left = e->s->req.nodes[e->c->req];
	e->offers.n = 0;
	e->worst = 0;
	for (uint32_t i = 0; i < n && e->looks < LOOKS_MAX; i++)
		offer_node(e, node[i]);
	while (e->todo > 0 && e->offers.n && e->looks < LOOKS_MAX) {
		struct offer offer = offer_pop(e);
		size_t nsteps = e->step.n;
		uint64_t cost;

		/* It may have changed since it was made. */
		if (!look_at(e, offer.node, &cost))
			continue;
		if (cost > offer.cost) {
			offer.cost = cost;
			offer_push(e, offer);
			continue;
		}
		if (!settle_on(e, offer.node))
			continue;
		e->todo -= chunk(e);
		e->nodes_left -= e->nodes_left > 0;
		e->worst = cost > e->worst ? cost : e->worst;
		offer_again(e, nsteps, offer.node);
	}
	return e->todo <= 0 && !e->nodes_left;
}

/* --- where ------------------------------------------------------------- */

/* Take from the first who may go of those below a queue: a task that it can
 * do without, or all of it. */
static bool take_below(struct evictor *e, uint32_t queue, bool whole)
{
	const struct snap *s = e->s;

	for (uint32_t i = 0; i < e->norder; i++) {
		uint32_t run = e->order[i];
		uint32_t t = s->run.task_first[run + 1];

		if (!is_ancestor(s, queue, s->run.queue[run]) ||
		    e->whole[run] || (!whole && e->surplus[run] <= 0) ||
		    run == e->c->run || !may_take(e, run))
			continue;
		if (whole) {
			take_all(e, run);
			return true;
		}
		do
			t--;
		while (e->left[t] != STAYS);
		take_one(e, t);
		return true;
	}
	return false;
}

/* Others leave until the claimant is within the limits of its queues. */
static bool clear_limits(struct evictor *e)
{
	size_t nsteps = e->step.n;
	struct verdict v;
	enum reason why;

	while ((why = admit_now(e->w, &e->c->demand, &v)) == WHY_QueueLimit) {
		if (e->mode == MOVE || (!take_below(e, v.name, false) &&
		                        !take_below(e, v.name, true)))
			return false;
	}
	refresh_from(e, nsteps);
	return why == WHY_None;
}

/* The claimant on some of these nodes; what was found stays in the trial. */
static bool fill(struct evictor *e, const uint32_t *node, uint32_t n)
{
	struct stand before = stand_now(e);

	if (fill_nodes(e, node, n) && clear_limits(e))
		return true;
	stand_back(e, &before);
	return false;
}

/* In the domain of this level where it costs least. */
static bool fill_domain(struct evictor *e, uint8_t level)
{
	const struct domains *d = e->domains;
	uint64_t least = UINT64_MAX;
	uint32_t best = SNAP_NONE;

	for (uint32_t i = d->at_first[level]; i < d->at_first[level + 1]; i++) {
		uint32_t at = d->at[i];
		struct stand before = stand_now(e);

		if (!fill(e, d->node + d->first[at], d->end[at] - d->first[at]))
			continue;
		stand_back(e, &before);
		if (e->worst < least) {
			least = e->worst;
			best = at;
		}
	}
	return best != SNAP_NONE &&
	       fill(e, d->node + d->first[best], d->end[best] - d->first[best]);
}

/* In the first pool that has room. */
static bool fill_pool(struct evictor *e)
{
	const struct match *match = e->p->place->match;
	const struct allowed *a = match_req(e->p->place->match, e->c->req);
	uint32_t *node = arena_array(e->p->arena, uint32_t, e->s->node.n);

	for (uint32_t c = 0; c < a->nclasses;) {
		uint32_t pool = match_class(match, a->class[c])->pool, n = 0;

		for (; c < a->nclasses; c++) {
			const struct node_class *nc =
			    match_class(match, a->class[c]);

			if (nc->pool != pool)
				break;
			memcpy(node + n, nc->node, nc->nnodes * sizeof(*node));
			n += nc->nnodes;
		}
		if (fill(e, node, n))
			return true;
	}
	return false;
}

/* From the narrowest level that is wanted up to the widest allowed. */
static bool fill_anywhere(struct evictor *e)
{
	uint8_t need = e->s->req.need[e->c->req];
	uint8_t like = e->s->req.like[e->c->req];
	int wide = need == LEVEL_NONE ? 0 : need;
	int narrow = like == LEVEL_NONE || like < wide ? need : like;

	for (int level = narrow; narrow != LEVEL_NONE && level >= wide;
	     level--) {
		if (fill_domain(e, (uint8_t)level))
			return true;
	}
	return need == LEVEL_NONE && fill_pool(e);
}

/* --- the decision ------------------------------------------------------ */

static bool finds_place(const struct evictor *e, uint32_t run)
{
	const struct moved *m = e->moved.p;

	for (size_t i = 0; i < e->moved.n; i++) {
		if (m[i].run == run)
			return true;
	}
	return false;
}

/* A step is counted as use again, or no longer. */
static void count_step(struct evictor *e, const struct step *step, int sign)
{
	const struct snap *s = e->s;
	int64_t n = 0;

	if (step->task != SNAP_NONE) {
		charge(e, step->run, 1, false, sign);
		return;
	}
	for (uint32_t t = s->run.task_first[step->run];
	     t < s->run.task_first[step->run + 1]; t++)
		n += e->left[t] == GONE;
	charge(e, step->run, n, true, sign);
}

/* The child of the lowest queue above both, on the way to `from`. */
static uint32_t branch_of(const struct evictor *e, uint32_t from)
{
	const uint32_t *parent = e->s->queue.parent;

	while (parent[from] != SNAP_NONE &&
	       !is_ancestor(e->s, parent[from], e->c->demand.queue))
		from = parent[from];
	return from;
}

/*
 * Whether the rules hold now that it is known who finds another place: each
 * who does not comes from a queue that is above its share at his turn, and
 * the claimant stays within its own when they are gone.
 */
static bool rules_hold(struct evictor *e)
{
	const uint32_t *parent = e->s->queue.parent;
	size_t mark = work_mark(e->w);
	uint32_t q = e->c->demand.queue, top = SNAP_NONE;
	bool hold = true, any = false;

	for (size_t i = 0; i < e->step.n; i++)
		count_step(e, step_at(e, i), 1);
	for (size_t i = 0; i < e->step.n && hold; i++) {
		const struct step *step = step_at(e, i);
		uint32_t from = e->s->run.queue[step->run];

		if (finds_place(e, step->run))
			continue;
		if (from != q) {
			from = branch_of(e, from);
			hold = is_above(e, from);
			if (!any || is_ancestor(e->s, parent[from], top))
				top = parent[from];
			any = true;
		}
		count_step(e, step, -1);
	}
	for (; any && hold && q != top; q = parent[q])
		hold = is_within(e, q);
	work_undo(e->w, mark);
	return hold;
}

/* Whether its memory and GPUs can stay where they are, so that it is enough
 * to stop it. */
static bool can_freeze(struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;
	size_t mark = work_mark(e->w);
	bool can = s->run.freezable[run] && !s->run.suspended[run];

	for (uint32_t t = s->run.task_first[run];
	     can && t < s->run.task_first[run + 1]; t++) {
		const struct snap_task *task = &s->task[t];

		work_rest(e->w, s->run.req[run], task, -1);
		can = work_is_sound(e->w, task);
	}
	if (!can)
		work_undo(e->w, mark);
	return can;
}

static enum evict why_of(const struct evictor *e, uint32_t run)
{
	if (e->mode == MOVE)
		return EVICT_CONSOLIDATE;
	return e->s->run.queue[run] == e->c->demand.queue ? EVICT_PREEMPT
	                                                  : EVICT_RECLAIM;
}

static void evict_run(struct evictor *e, uint32_t run)
{
	if (!e->why[run])
		*(uint32_t *)arena_push(e->p->arena, &e->evicted,
		                        sizeof(uint32_t)) = run;
	e->why[run] = (uint8_t)why_of(e, run);
	e->by[run] = e->c->job;
}

/* Its room is not free before it has left. */
static void occupy(struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (e->left[t] == GIVEN || e->left[t] == GONE) {
			work_run_task(e->w, run, t, -1);
			work_add(e->w, &e->left[t], LEFT - e->left[t]);
		}
		shelf_refresh(e->p->place->shelf, s->task[t].node);
	}
}

static void claim_moved(struct evictor *e)
{
	const struct moved *m = e->moved.p;

	for (size_t i = 0; i < e->moved.n; i++) {
		pass_claim(e->p, SNAP_NONE, m[i].run);
		for (size_t t = 0; t < m[i].ntasks; t++)
			pass_claim_node(
			    e->p, e->p->place->task[m[i].first_task + t].node);
		charge(e, m[i].run, (int64_t)m[i].ntasks, true, 1);
	}
}

/* The tasks of the trial that are not those of others who move. */
static void claim_own(struct evictor *e, size_t from)
{
	const struct place *place = e->p->place;
	const struct moved *m = e->moved.p;
	size_t next = 0;

	pass_claim(e->p, e->c->row, e->c->run);
	/* Whoever moves is placed as a whole. */
	for (size_t t = from; t < place->ntasks; t++) {
		place->own[place->task[t].node] = 0;
		if (next < e->moved.n && m[next].first_task == t) {
			t += m[next++].ntasks - 1;
			continue;
		}
		pass_claim_node(e->p, place->task[t].node);
	}
}

static void decide(struct evictor *e, const struct stand *before)
{
	struct pass *p = e->p;

	claim_own(e, before->ntasks);
	claim_moved(e);
	for (size_t i = 0; i < e->step.n; i++) {
		uint32_t run = step_at(e, i)->run;

		evict_run(e, run);
		e->suspend[run] = step_at(e, i)->task == SNAP_NONE &&
		                  !finds_place(e, run) && can_freeze(e, run);
		occupy(e, run);
	}
	admit_charge(e->w, &e->c->demand);
	work_commit(e->w);
	for (size_t i = 0; i < e->step.n; i++)
		tree_update(p->tree, e->s->run.queue[step_at(e, i)->run]);
}

static bool attempt(struct evictor *e, enum mode mode)
{
	struct stand before;

	e->mode = mode;
	e->step.n = e->moved.n = 0;
	place_for_claimant(e);
	before = stand_now(e);
	if (fill_anywhere(e)) {
		if (mode != MOVE) {
			release_own(e, &before);
			move_away(e, 0, true);
		}
		if (mode == MOVE || rules_hold(e)) {
			decide(e, &before);
			return true;
		}
	}
	stand_back(e, &before);
	return false;
}

bool evict_for(struct pass *p, const struct claimant *c, bool scattered)
{
	struct evictor *e = p->evict;

	if (!e)
		e = p->evict = evict_new(p);
	e->c = c;
	if (!e->norder || e->looks >= LOOKS_MAX)
		return false;
	if (scattered && p->snap->policy.consolidate && attempt(e, MOVE))
		return true;
	return find_allowed(e) &&
	       (attempt(e, RECLAIM) || attempt(e, TAKE) || attempt(e, STRICT));
}

void evict_list(struct pass *p)
{
	const struct evictor *e = p->evict;
	const uint32_t *run = e ? e->evicted.p : NULL;

	for (size_t i = 0; e && i < e->evicted.n; i++) {
		const struct snap *s = p->snap;
		struct eviction *ev =
		    arena_push(p->arena, &p->eviction, sizeof(*ev));
		uint32_t first = s->run.task_first[run[i]];

		*ev = (struct eviction){ .run = run[i],
			                 .loss_first = (uint32_t)p->loss.n,
			                 .why = e->why[run[i]],
			                 .suspend = e->suspend[run[i]],
			                 .by = e->by[run[i]] };
		for (uint32_t t = first; t < s->run.task_first[run[i] + 1];
		     t++) {
			if (e->left[t] == LEFT)
				*(uint32_t *)arena_push(p->arena, &p->loss,
				                        sizeof(uint32_t)) =
				    t - first;
		}
		ev->nlosses = (uint32_t)p->loss.n - ev->loss_first;
	}
}

bool evict_has(const struct pass *p, uint32_t run)
{
	return p->evict && p->evict->why[run];
}
