/*
 * evict_search.h - nodes for a claimant, once others have left them
 *
 * Each node is an offer: what it costs to clear it for one more task, no more
 * than its dearest victim.  The cheapest offers are taken first, so that no
 * job is evicted as long as one that goes before it would do; whoever turns
 * out not to be in the way stays.  n nodes with v victims each cost n * v to
 * look at, then log n for each task.
 */
#ifndef AISCHEDD_SCHED_EVICT_SEARCH_H
#define AISCHEDD_SCHED_EVICT_SEARCH_H

#include "aischedd/sched/evict_trial.h"

/* Nodes that are looked at in a pass before nobody is evicted any more. */
enum { LOOKS_MAX = 400000 };

/*
 * The claimant's tasks find nodes: in one domain, where it needs or likes
 * that, in the one where it costs least; else in the first pool that has room.
 * What is found is in the trial.
 */
bool evict_search_find(struct evictor *e);

/* Others may be placed beside the claimant from now on. */
struct evict_mark;
void evict_search_share(struct evictor *e, const struct evict_mark *before);

/* Find another place for the runs that are evicted by the steps from this one
 * on; in a trial of moves, for single tasks as well.  Returns how many find
 * none. */
size_t evict_search_elsewhere(struct evictor *e, size_t from);

/* If the claimant is alone on its nodes, it closes them to others (sign 1), or
 * opens them again (-1). */
void evict_search_close(struct evictor *e, int sign);

/* Whether a task of the trial is of somebody who moves. */
bool evict_search_is_moved(const struct evictor *e, size_t task);

/* The claimant is placed from now on. */
void evict_search_for_claimant(const struct evictor *e);

/* Where a trial stands, to come back to. */
struct evict_mark {
	size_t mark, nsteps, nmoved, ntasks, nuse;
};
struct evict_mark evict_search_mark(const struct evictor *e);
void evict_search_back(struct evictor *e, const struct evict_mark *to);

#endif
