/*
 * evict_node.h - clear one node for a claimant, and what that costs
 *
 * Victims go in their order; in a trial of moves, the smaller ones first. They
 * become part of the trial.
 */
#ifndef AISCHEDD_SCHED_EVICT_NODE_H
#define AISCHEDD_SCHED_EVICT_NODE_H

#include "aischedd/sched/evict_trial.h"

/* How many tasks of the claimant go to the next node. */
int64_t evict_node_chunk(const struct evictor *e);

/* Take victims from the node until the claimant fits; the cost is that of the
 * dearest one. Returns false if it never fits; the victims remain taken. */
bool evict_node_clear(struct evictor *e, uint32_t node, uint64_t *ret_cost);

/* In a trial of moves, give back those victims that the claimant can do
 * without, of the steps from this one on, the last first. An elastic run that
 * is evicted as a whole gives back single tasks. */
void evict_node_spare(struct evictor *e, uint32_t node, size_t nsteps);

/* Write what it would cost to clear the node; returns false if it cannot be
 * cleared. */
bool evict_node_cost(struct evictor *e, uint32_t node, uint64_t *ret_cost);

#endif
