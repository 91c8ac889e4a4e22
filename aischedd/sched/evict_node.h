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

/* Evict victims on the node until the claimant fits; *ret_cost is the cost of
 * the most expensive victim. Returns false if the claimant never fits; the
 * victims then stay evicted on trial. */
bool evict_node_clear(struct evictor *e, uint32_t node, uint64_t *ret_cost);

/* Used in trials that only move jobs: go back through the steps from the last
 * to index nsteps, and spare the victims that the claimant does not need. An
 * elastic run that is evicted as a whole may get single tasks back. */
void evict_node_spare(struct evictor *e, uint32_t node, size_t nsteps);

/* Set *ret_cost to what it would cost to clear the node. Returns false if it
 * cannot be cleared. Changes nothing. */
bool evict_node_cost(struct evictor *e, uint32_t node, uint64_t *ret_cost);

#endif
