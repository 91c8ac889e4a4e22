/*
 * used.h - what jobs hold of nodes and queues, summed up for listings
 */
#ifndef AISCHEDD_STATE_CLUSTER_USED_H
#define AISCHEDD_STATE_CLUSTER_USED_H

#include <stdint.h>

#include "aischedd/sched/snap.h"

struct state;

/* CPUs, memory, GPUs, disk and devices that are free on a node, and the number
 * of jobs there. */
struct node_left {
	int64_t free[RES_N], tmp_free;
	struct device_counts dev_free;
	uint32_t jobs;
};

/* Compute struct node_left for all nodes; ret has state_nnodes() elements. */
void state_nodes_left(const struct state *state, struct node_left *ret);

/* Sum up what the jobs of a queue, and of all queues below it, hold. */
void state_queue_used(const struct state *state, uint32_t queue,
                      int64_t ret[RES_N]);

/* state_queue_used() for all queues at once; ret has one element for each. */
void state_queues_used(const struct state *state, int64_t (*ret)[RES_N]);

/* Returns the fair share of a queue in the last plan, one number for each
 * resource; NULL if that plan has none. */
const int64_t *state_queue_share(const struct state *state, uint32_t queue);

#endif
