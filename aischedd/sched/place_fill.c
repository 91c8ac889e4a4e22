/* place_fill.c - how the tasks of a job spread over nodes */
#include "aischedd/sched/place_trial.h"

#include <string.h>

/* How a trial spreads tasks over nodes. */
enum fill {
	FILL_MOST, /* as many together as fit */
	FILL_EVEN, /* the same number on each of a given number of nodes */
	FILL_ONE   /* one by one */
};

/* The best of the nodes with room for most tasks, no more than max. */
static uint32_t seek_most(struct trial *t, int64_t max)
{
	int64_t lo = 0, hi = smaller(max, t->most);
	uint32_t node = hi > 0 ? trial_best(t, hi) : SNAP_NONE, found;

	if (node != SNAP_NONE)
		return node;
	/* Some node has room for lo (or lo is 0), none for hi. */
	while (hi - lo > 1) {
		int64_t mid = lo + (hi - lo) / 2;

		found = trial_best(t, mid);
		if (found == SNAP_NONE) {
			hi = mid;
		} else {
			lo = mid;
			node = found;
		}
	}
	t->ask = t->most = lo;
	return node;
}

static int64_t count_wanted(const struct trial *t)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < t->allowed->ncounts; i++)
		sum += t->wants[i];
	return sum;
}

static int64_t at_least_one(int64_t n)
{
	return n > 1 ? n : 1;
}

/* The next node and, in t->ask, how many tasks it gets. */
static uint32_t seek(struct trial *t, enum fill how)
{
	const struct snap_reqs *r = &t->p->snap->req;
	int64_t max = t->left;

	if (r->tasks_per_node[t->req])
		max = smaller(max, r->tasks_per_node[t->req]);
	if (how == FILL_ONE)
		return trial_best(t, 1);
	/* Leave one task for each node that is wanted beside this one. */
	if (t->wanted)
		max = smaller(max, at_least_one(t->left - count_wanted(t) + 1));
	if (r->nodes[t->req]) {
		if (!t->nodes_left)
			return SNAP_NONE;
		/* Leave one task for each of the other nodes. */
		max = smaller(max, (int64_t)t->left - t->nodes_left + 1);
	}
	if (how == FILL_EVEN) {
		int64_t ask = (t->left + t->nodes_left - 1) / t->nodes_left;

		return ask > max ? SNAP_NONE : trial_best(t, ask);
	}
	return seek_most(t, max);
}

static void put(struct trial *t, uint32_t node)
{
	place_put(t->p, t->req, node, t->ask);
	t->left -= (uint32_t)t->ask;
	t->nodes_left -= t->nodes_left > 0;
}

/* Whether it matters which nodes tasks take, not only how many fit. */
static bool is_picky(const struct trial *t)
{
	return t->p->snap->req.nodes[t->req] || t->allowed->ncounts;
}

/* The next node, as long as may be one that leaves GPUs their share. */
static uint32_t seek_sparing(struct trial *t, enum fill how)
{
	uint32_t node = seek(t, how);

	if (node != SNAP_NONE || !t->spare || is_picky(t))
		return node;
	t->spare = false;
	t->most = trial_most(t, t->left);
	return seek(t, how);
}

/* A node that has this of the counted parts, if there is one with all that
 * are still wanted, that. */
static uint32_t seek_counted(struct trial *t, enum fill how, uint32_t part)
{
	int64_t most = t->most;
	uint32_t node;

	t->wanted = 0;
	for (uint32_t i = 0; i < t->allowed->ncounts; i++)
		t->wanted |= (uint8_t)((t->wants[i] > 0) << i);
	node = seek_sparing(t, how);
	if (node == SNAP_NONE) {
		t->wanted = (uint8_t)(1 << part);
		t->most = most;
		node = seek_sparing(t, how);
	}
	t->wanted = 0;
	t->most = most; /* that of other nodes is not known */
	return node;
}

/* Nodes of which there must be so many come first. */
static bool fill_counted(struct trial *t, enum fill how)
{
	for (uint32_t i = 0; i < t->allowed->ncounts; i++) {
		while (t->wants[i]) {
			uint32_t node =
			    t->left ? seek_counted(t, how, i) : SNAP_NONE;

			if (node == SNAP_NONE)
				return false;
			put(t, node);
			for (uint32_t k = 0; k < t->allowed->ncounts; k++)
				t->wants[k] -=
				    t->wants[k] &&
				    trial_counted_on(t, node) >> k & 1;
		}
	}
	return true;
}

static bool fill(struct trial *t, enum fill how)
{
	const struct snap_reqs *r = &t->p->snap->req;

	t->left = t->tasks;
	t->nodes_left = r->nodes[t->req];
	t->spare = t->sparing;
	t->most = trial_most(t, t->left);
	if (!t->p->grows)
		memcpy(t->wants, t->allowed->count, sizeof(t->wants));
	if (!fill_counted(t, how))
		return false;
	while (t->left) {
		uint32_t node = seek_sparing(t, how);

		if (node == SNAP_NONE)
			return false;
		put(t, node);
	}
	return !t->nodes_left;
}

/* As the request says, or as the pool does. */
static bool fill_somehow(struct trial *t)
{
	const struct snap *s = t->p->snap;

	if (s->req.nodes[t->req]) {
		if (fill(t, FILL_EVEN))
			return true;
		place_undo(t->p);
		return fill(t, FILL_MOST);
	}
	/* There is nothing to spread where nobody else may be. */
	if (trial_order(t) == ORDER_SPREAD && !s->req.exclusive[t->req])
		return fill(t, FILL_ONE);
	return fill(t, FILL_MOST);
}

bool trial_fill(struct trial *t)
{
	t->sparing =
	    !t->p->snap->req.gpus[t->req] && trial_order(t) != ORDER_BEST_FIT;
	if (fill_somehow(t))
		return true;
	if (!t->sparing || !is_picky(t))
		return false;
	place_undo(t->p);
	t->sparing = false;
	return fill_somehow(t);
}

/* Whether its tasks are on one node: those are as near as can be. */
static bool is_on_one(const struct place *p)
{
	for (size_t i = p->first_task; i < p->ntasks; i++) {
		if (p->task[i].node != p->task[p->first_task].node)
			return false;
	}
	return true;
}

/* Whether tasks that may be anywhere had better be near each other. */
static bool is_for_gathering(const struct trial *t)
{
	const struct snap *s = t->p->snap;
	uint32_t node = t->p->task[t->p->first_task].node;

	if (!s->domain.n || is_on_one(t->p))
		return false;
	return s->req.like[t->req] != LEVEL_NONE ||
	       s->pool.order[s->node.pool[node]] == ORDER_PACK;
}

bool trial_place(struct trial *t)
{
	if (t->p->within != SNAP_NONE)
		return gather_fill_in(t, t->p->within);
	if (t->p->snap->req.need[t->req] != LEVEL_NONE)
		return gather_fill(t);
	if (!trial_fill(t))
		return false;
	if (!is_for_gathering(t))
		return true;
	place_undo(t->p);
	if (gather_fill(t))
		return true;
	place_undo(t->p);
	return trial_fill(t);
}
