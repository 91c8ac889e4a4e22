/*
 * place_trial.h - one attempt to place a job in one pool, and why it failed
 *
 * Made by place.c; place_topology.c chooses domains of the topology, and
 * place_lack.c says why an attempt failed.
 */
#ifndef AISCHEDD_SCHED_PLACE_TRIAL_H
#define AISCHEDD_SCHED_PLACE_TRIAL_H

#include "aischedd/sched/place.h"

struct place_trial {
	struct place *p;
	uint32_t req, tasks;
	unsigned trees;
	const struct allowed *allowed;
	uint32_t class, class_end; /* those of the pool, in allowed */
	uint32_t left;             /* tasks to place */
	uint32_t nodes_left;       /* of an exact number of nodes */
	int64_t ask;               /* tasks for the node that is sought */
	int64_t most;              /* no node has room for more */
	/* What counted parts of the constraint the node must have (bits), and
	 * how many nodes each still wants. */
	uint8_t wanted;
	uint32_t wants[CONSTRAINT_MAX_COUNTS];
	uint32_t inside; /* only in this domain, or SNAP_NONE */
	/* Leave each free GPU its share of CPUs and memory: at first, and as
	 * long as that goes well. */
	bool sparing, spare;
};

/* The best node for so many tasks (they become t->ask), or SNAP_NONE. */
uint32_t place_trial_best(struct place_trial *t, int64_t ask);

/* No node has room for more than this many tasks; max unless proven. */
int64_t place_trial_most(const struct place_trial *t, int64_t max);

/* The counted parts of the constraint that hold on a node, as bits. */
uint8_t place_trial_counted_on(const struct place_trial *t, uint32_t node);

/* In which order the pool is filled. */
enum node_order place_trial_order(const struct place_trial *t);

static inline int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Place all tasks: where they must be or had better be; wherever they fit. */
bool place_trial_all(struct place_trial *t);
bool place_trial_fill(struct place_trial *t);

#endif
