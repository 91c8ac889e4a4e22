/*
 * evict_node.h - clear one node for a claimant, and at what cost
 *
 * Victims go in their order; in a trial of moves, the smaller ones first. They
 * are part of the trial.
 */
#ifndef AISCHEDD_SCHED_EVICT_NODE_H
#define AISCHEDD_SCHED_EVICT_NODE_H

#include "aischedd/sched/evict_trial.h"

/* How many tasks of the claimant go to the next node. */
int64_t evict_node_chunk(const struct evictor *e);

/* Take victims from the node until the claimant fits; the cost is that of the
 * dearest.  Returns false if it never fits; the victims stay taken. */
bool evict_node_clear(struct evictor *e, uint32_t node, uint64_t *ret_cost);

/* In a trial of moves, take back those of the steps from this one on that the
 * claimant can do without, the last first; of an elastic run that is evicted
 * whole, those of its tasks. */
void evict_node_spare(struct evictor *e, uint32_t node, size_t nsteps);

/* Write what it would cost to clear the node; returns false if that is
 * impossible. */
bool evict_node_cost(struct evictor *e, uint32_t node, uint64_t *ret_cost);

#endif
