/*
 * evict_node.h - who leaves a node so that a claimant fits there, at what cost
 *
 * In the order of victims, or the smaller ones first where all that leaves
 * finds another place.  What is taken is in the trial.
 */
#ifndef AISCHEDD_SCHED_EVICT_NODE_H
#define AISCHEDD_SCHED_EVICT_NODE_H

#include "aischedd/sched/evict_trial.h"

/* So many tasks of the claimant go to the next node. */
int64_t evict_node_chunk(const struct evictor *e);

/* Take away from a node until the claimant fits; the cost is that of its
 * dearest victim.  False: it never does; what was taken stays so. */
bool evict_node_clear(struct evictor *e, uint32_t node, uint64_t *ret_cost);

/* In a trial of moves, take back those of the steps from this one on that the
 * claimant can do without, the last first. */
void evict_node_spare(struct evictor *e, uint32_t node, size_t nsteps);

/* What it would cost to clear the node; false: it cannot be. */
bool evict_node_cost(struct evictor *e, uint32_t node, uint64_t *ret_cost);

#endif
