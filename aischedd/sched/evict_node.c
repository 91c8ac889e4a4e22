/* evict_node.c - choose the victims on one node, and what they cost */
#include "aischedd/sched/evict_node.h"

#include "aischedd/sched/evict_rules.h"

int64_t evict_node_chunk(const struct evictor *e)
{
	return e->nodes_left ? (e->todo + e->nodes_left - 1) / e->nodes_left
	                     : 1;
}

static bool fits(const struct evictor *e, uint32_t node)
{
	return place_fits(e->p->place, e->c->req, node, evict_node_chunk(e));
}

/* Returns the size of one task of a run or, with `whole`, of all its tasks: the
 * GPUs, or the CPUs if it has no GPUs. */
static uint64_t size_of(const struct evictor *e, uint32_t run, bool whole)
{
	uint32_t req = e->s->run.req[run];
	uint32_t tasks = whole ? snap_run_ntasks(e->s, run) : 1;
	int64_t size =
	    e->s->req.gpus[req] ? e->s->req.gpus[req] : e->s->req.cpus[req];

	return (uint64_t)(size * tasks);
}

static bool may_take(const struct evictor *e, uint32_t task)
{
	uint32_t run = e->owner[task];

	return !e->left[task] && run != e->c->run && evict_rules_allow(e, run);
}

static void take(struct evictor *e, uint32_t task)
{
	uint32_t run = e->owner[task];

	if (e->surplus[run] > 0)
		evict_trial_take_task(e, task);
	else
		evict_trial_take(e, run);
}

/* Returns the next task on the node that may be evicted, from index *i of e->at
 * on, or SNAP_NONE. Without `whole`, skips runs that have no surplus tasks. */
static uint32_t next_on(const struct evictor *e, uint32_t node, bool whole,
                        uint32_t *i)
{
	for (; *i < e->first[node + 1]; ++*i) {
		uint32_t task = e->at[*i];

		if (may_take(e, task) &&
		    (whole || e->surplus[e->owner[task]] > 0))
			return task;
	}
	return SNAP_NONE;
}

/* Returns the cost of a node whose last victim is this run. A whole run (all)
 * costs more than any surplus task. Otherwise the run that is later in the
 * order of victims costs more; for the same run, more tasks cost more. */
static uint64_t cost_of_turn(const struct evictor *e, uint32_t run, bool all,
                             uint64_t tasks)
{
	return (((uint64_t)all << 32 | e->rank[run]) + 1) << 24 | tasks;
}

/* Take victims in their order, first only surplus tasks, until the claimant
 * fits. Returns false if the claimant never fits. */
static bool take_in_turn(struct evictor *e, uint32_t node, uint64_t *ret_cost)
{
	uint64_t tasks = 0;

	for (int whole = 0; whole < 2; whole++) {
		uint32_t i = e->first[node], task;

		while ((task = next_on(e, node, whole, &i)) != SNAP_NONE) {
			uint32_t run = e->owner[task];
			bool all = e->surplus[run] <= 0;

			tasks += all ? snap_run_ntasks(e->s, run) : 1;
			*ret_cost = cost_of_turn(e, run, all, tasks);
			take(e, task);
			if (fits(e, node))
				return true;
			/* After this eviction the rules may allow other
			 * victims: begin again. */
			if (e->mode == MODE_STRICT)
				i = e->first[node];
		}
	}
	return false;
}

/* Returns the smallest task on the node that may be taken, or SNAP_NONE. A task
 * that is not surplus counts with its whole run. */
static uint32_t least_on(const struct evictor *e, uint32_t node)
{
	uint64_t least = UINT64_MAX;
	uint32_t ret = SNAP_NONE;

	for (uint32_t i = e->first[node]; i < e->first[node + 1]; i++) {
		uint32_t task = e->at[i], run = e->owner[task];
		uint64_t size = size_of(e, run, e->surplus[run] <= 0);

		if (size >= least || !may_take(e, task))
			continue;
		least = size;
		ret = task;
	}
	return ret;
}

/* Whether the claimant fits if only this surplus task is evicted. */
static bool is_enough(struct evictor *e, uint32_t node, uint32_t task)
{
	size_t mark = work_mark(e->w), nsteps = e->step.n;
	bool enough;

	if (e->surplus[e->owner[task]] <= 0 || !may_take(e, task))
		return false;
	evict_trial_take_task(e, task);
	enough = fits(e, node);
	evict_trial_undo(e, mark, nsteps);
	return enough;
}

/* Returns the smallest surplus task for which is_enough() is true, or
 * SNAP_NONE. */
static uint32_t one_on(struct evictor *e, uint32_t node)
{
	uint64_t least = UINT64_MAX;
	uint32_t ret = SNAP_NONE;

	for (uint32_t i = e->first[node]; i < e->first[node + 1]; i++) {
		uint32_t task = e->at[i];
		uint64_t size = size_of(e, e->owner[task], false);

		if (size >= least || !is_enough(e, node, task))
			continue;
		least = size;
		ret = task;
	}
	return ret;
}

/* Take the smallest victims first. Used in trials that only move jobs: these
 * lose no work for good, so the order of victims does not matter. */
static bool take_least(struct evictor *e, uint32_t node)
{
	uint32_t one = one_on(e, node);

	if (one != SNAP_NONE) {
		evict_trial_take_task(e, one);
		return true;
	}
	for (uint32_t task; (task = least_on(e, node)) != SNAP_NONE;) {
		take(e, task);
		if (fits(e, node))
			return true;
	}
	return false;
}

/* Evict victims on the node until the claimant fits. *ret_cost is the cost of
 * the most expensive victim, if they are taken in their order. */
static bool clear(struct evictor *e, uint32_t node, uint64_t *ret_cost)
{
	*ret_cost = 0;
	if (fits(e, node))
		return true;
	for (uint32_t i = e->first[node]; i < e->first[node + 1]; i++) {
		if (e->left[e->at[i]] != FATE_LEFT)
			continue;
		evict_trial_see_task(e, e->at[i]);
		if (fits(e, node))
			return true;
	}
	return e->mode == MODE_MOVE ? take_least(e, node)
	                            : take_in_turn(e, node, ret_cost);
}

/* The node that is being cleared, and how many steps the trial had before. */
struct clearing {
	struct evictor *e;
	uint32_t node;
	size_t nsteps;
};

/* Whether a task that was taken can stay after all: it was not already taken
 * for another node and, if it is on the node being cleared, the claimant fits
 * beside it. */
static bool may_stay(void *arg, uint32_t task)
{
	const struct clearing *c = arg;
	const struct evictor *e = c->e;

	for (size_t i = 0; i < c->nsteps; i++) {
		if (evict_step_at(e, i)->task == task)
			return false;
	}
	return e->s->task[task].node != c->node || fits(e, c->node);
}

/* Go back through the steps from the last to index nsteps, and spare the
 * victims that the claimant does not need. An elastic run that is evicted as a
 * whole may get single tasks back. */
static void spare(struct evictor *e, uint32_t node, size_t nsteps)
{
	struct clearing c = { e, node, nsteps };
	bool shrunk = false;

	for (size_t i = e->step.n; i-- > nsteps;) {
		size_t mark = work_mark(e->w);
		struct evict_step *step = evict_step_at(e, i);

		if (step->task != SNAP_NONE && !step->seen &&
		    (e->whole[step->run] || e->left[step->task] != FATE_GIVEN))
			continue;
		evict_trial_untake(e, i);
		step->stays = true;
		if (fits(e, node)) {
			evict_trial_drop(e, i);
			continue;
		}
		step->stays = false;
		work_undo(e->w, mark);
		evict_trial_tell(e, step, true);
		shrunk |= step->task == SNAP_NONE &&
		          evict_trial_shrink(e, step->run, may_stay, &c);
	}
	if (shrunk)
		evict_trial_tidy(e, nsteps);
}

/* Returns the cost of moves: the sum of the sizes of what moves. Among equal
 * sums, it costs less to move runs that are earlier in the order of victims. */
static uint64_t cost_of_moves(const struct evictor *e, size_t nsteps)
{
	uint64_t cost = 0;

	for (size_t i = nsteps; i < e->step.n; i++) {
		const struct evict_step *step = evict_step_at(e, i);
		bool whole = step->task == SNAP_NONE;

		if (!step->seen)
			cost += (size_of(e, step->run, whole) << 24) +
			        e->rank[step->run] + 1;
	}
	return cost;
}

bool evict_node_clear(struct evictor *e, uint32_t node, uint64_t *ret_cost)
{
	size_t nsteps = e->step.n;

	e->looks++;
	if (!clear(e, node, ret_cost))
		return false;
	if (e->mode == MODE_MOVE) {
		spare(e, node, nsteps);
		*ret_cost = cost_of_moves(e, nsteps);
	}
	return true;
}

bool evict_node_cost(struct evictor *e, uint32_t node, uint64_t *ret_cost)
{
	size_t mark = work_mark(e->w), nsteps = e->step.n;
	bool can = evict_node_clear(e, node, ret_cost);

	evict_trial_undo(e, mark, nsteps);
	return can;
}
