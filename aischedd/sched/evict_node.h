/*
 * evict_node.h - clear one node for a claimant, and what that costs
 *
 * Victims are taken in their order or, in a trial that only moves jobs, the
 * smaller ones first. They become part of the trial.
 */
#ifndef AISCHEDD_SCHED_EVICT_NODE_H
#define AISCHEDD_SCHED_EVICT_NODE_H

#include "aischedd/sched/evict_trial.h"

/* Returns how many of the claimant's tasks the next node must hold: 1 or, if
 * the number of nodes is exact, the tasks left divided by the nodes left. */
int64_t evict_node_chunk(const struct evictor *e);

/* Evict victims on the node until the claimant fits; *ret_cost is what that
 * costs. Returns false if the claimant never fits; the victims then stay
 * evicted on trial. */
bool evict_node_clear(struct evictor *e, uint32_t node, uint64_t *ret_cost);

/* Set *ret_cost to what it would cost to clear the node. Returns false if it
 * cannot be cleared. Changes nothing. */
bool evict_node_cost(struct evictor *e, uint32_t node, uint64_t *ret_cost);

#endif
