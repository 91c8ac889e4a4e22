/*
 * used.h - what jobs hold of nodes and queues, summed up for listings
 */
#ifndef AISCHEDD_STATE_CLUSTER_USED_H
#define AISCHEDD_STATE_CLUSTER_USED_H

#include <stdint.h>

#include "aischedd/sched/snap.h"

struct state;

/* CPUs, memory and GPUs that are free on a node, and how many jobs are there.
 */
struct node_left {
	int64_t free[RES_N];
	uint32_t jobs;
};

/* Compute this for all nodes; ret has state_nnodes() elements. */
void state_nodes_left(const struct state *state, struct node_left *ret);

/* Sum up what the jobs with nodes of a queue, and of all below it, hold. */
void state_queue_used(const struct state *state, uint32_t queue,
                      int64_t ret[RES_N]);

/* Compute this for all queues; ret has one element for each. */
void state_queues_used(const struct state *state, int64_t (*ret)[RES_N]);

/* Returns the fair share of a queue according to the last plan, by resource;
 * NULL if that has none. */
const int64_t *state_queue_share(const struct state *state, uint32_t queue);

#endif
