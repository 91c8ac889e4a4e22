/*
 * evict_search.h - the nodes that cost a claimant least
 *
 * Each node is an offer. Its cost is that of the most expensive victim that
 * must be evicted to place one more task there. The cheapest offers are taken
 * first: so no job is evicted if it is enough to evict jobs that come before it
 * in the order of victims. Victims that turn out not to be needed are spared.
 * With v victims on each of n nodes, making the offers takes n * v steps, and
 * finding the offer for a task log n steps.
 */
#ifndef AISCHEDD_SCHED_EVICT_SEARCH_H
#define AISCHEDD_SCHED_EVICT_SEARCH_H

#include "aischedd/sched/evict_trial.h"

/* Once trials have looked at this many nodes and tasks, and as many more for
 * each node of the cluster, the pass stops evicting: a gang on all nodes of a
 * large cluster must be able to reclaim them. */
enum { LOOKS_LEAST = 400000, LOOKS_A_NODE = 500 };

/* Whether trials have reached this bound. */
static inline bool evict_search_spent(const struct evictor *e)
{
	return e->looks + e->tried + *e->w->tried - e->tried_before >=
	       LOOKS_LEAST + (uint64_t)e->s->node.n * LOOKS_A_NODE;
}

/*
 * Find nodes for all tasks of the claimant: in the domain where evictions cost
 * least, if the claimant needs or prefers one domain; else in the first pool in
 * which they fit. The tasks and their victims become part of the trial. Returns
 * false if there are no such nodes.
 */
bool evict_search_find(struct evictor *e);

/* Let the trial place jobs other than the claimant from now on: place->own no
 * longer counts the claimant's tasks, including those placed since `before`. */
struct evict_mark;
void evict_search_share(struct evictor *e, const struct evict_mark *before);

/* Tell the promises the new places of the claimant's tasks, from index `from`
 * of place->task on, and of all runs that move; with `watched`, only those on
 * watched nodes. */
void evict_search_tell(struct evictor *e, size_t from, bool watched);

/* Find other places for the runs that were evicted by step `from` or a later
 * one; in a trial that only moves jobs, also for single tasks. Returns the
 * number of runs and tasks for which there is no other place. */
size_t evict_search_elsewhere(struct evictor *e, size_t from);

/* Close the nodes of an exclusive claimant to others (sign 1), or open them
 * again (-1). */
void evict_search_close(struct evictor *e, int sign);

/* Whether a task that the trial placed belongs to a run that moves. */
bool evict_search_is_moved(const struct evictor *e, size_t task);

/* Let the trial place the claimant from now on; if the claimant is a run that
 * grows, place->own counts its tasks again. */
void evict_search_for_claimant(const struct evictor *e);

/* A state of the trial to which evict_search_back() can return. */
struct evict_mark {
	size_t mark, nsteps, nmoved, ntasks, nuse;
};
struct evict_mark evict_search_mark(const struct evictor *e);
void evict_search_back(struct evictor *e, const struct evict_mark *to);

#endif
