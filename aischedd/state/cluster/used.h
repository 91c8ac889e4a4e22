/*
 * used.h - what jobs hold of nodes and queues, summed up for listings
 */
#ifndef AISCHEDD_STATE_CLUSTER_USED_H
#define AISCHEDD_STATE_CLUSTER_USED_H

#include <stdint.h>

#include "aischedd/sched/snap.h"

struct state;

/* CPUs, memory and GPUs that are free on a node, and the jobs there. */
struct node_left {
	int64_t free[RES_N];
	uint32_t jobs;
};

/* Fill ret for all nodes. */
void state_nodes_left(const struct state *state, struct node_left *ret);

/* Sum up what the running jobs of a queue and all below it hold. */
void state_queue_used(const struct state *state, uint32_t queue,
                      int64_t ret[RES_N]);

/* Likewise for each queue, ret[queues]. */
void state_queues_used(const struct state *state, int64_t (*ret)[RES_N]);

/* The fair share of a queue in the last plan, or NULL if there is none. */
const int64_t *state_queue_share(const struct state *state, uint32_t queue);

#endif
