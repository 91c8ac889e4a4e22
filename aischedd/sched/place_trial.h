/*
 * place_trial.h - one attempt to place a job in one pool, and why it failed
 *
 * Made by place.c; place_topology.c chooses domains of the topology, and
 * place_lack.c says why an attempt failed.
 */
#ifndef AISCHEDD_SCHED_PLACE_TRIAL_H
#define AISCHEDD_SCHED_PLACE_TRIAL_H

#include "aischedd/sched/fit.h"
#include "aischedd/sched/place.h"

struct place_trial {
	struct place *p;
	uint32_t req, tasks;
	uint32_t nodes; /* an exact number of nodes for them, or 0 */
	unsigned trees;
	const struct allowed *allowed;
	uint32_t class,
	    class_end;       /* slice of allowed: the classes of the pool */
	uint32_t left;       /* tasks left to place */
	uint32_t nodes_left; /* nodes left of an exact number */
	int64_t ask;         /* tasks for the node that is sought */
	int64_t most;        /* an upper bound of tasks on one node */
	/* Counted parts of the constraint that the next node must have (bits),
	 * and how many nodes each part still wants. */
	uint8_t wanted;
	uint32_t wants[CONSTRAINT_MAX_COUNTS];
	uint32_t
	    kind; /* only nodes of this kind (place_scarce.h), or SNAP_NONE */
	uint32_t inside; /* only in this domain, or SNAP_NONE */
	/* Use only nodes with at most this shortfall of wishes; or (seeks) use
	 * none: find the least shortfall. */
	bool wishes; /* the job has wishes that a node may not meet */
	enum { WISH_NONE, WISH_LIMIT, WISH_SEEK } wish;
	struct fit_excess excess;
	/* Leave each free GPU its share of CPUs and memory; tried first, and
	 * given up if it fails. */
	bool sparing, spare;
};

/* The best node for this many tasks (they become t->ask), or SNAP_NONE. */
uint32_t place_trial_best(struct place_trial *t, int64_t ask);

/* An upper bound of tasks on one node, if one is proven; else max. */
int64_t place_trial_most(const struct place_trial *t, int64_t max);

/* The counted parts of the constraint that hold on a node, as bits. */
uint8_t place_trial_counted_on(const struct place_trial *t, uint32_t node);

/* The order in which the pool is filled for this trial. */
enum node_order place_trial_order(const struct place_trial *t);

static inline int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Place all tasks as the request needs and prefers; or wherever they fit. */
bool place_trial_all(struct place_trial *t);
bool place_trial_fill(struct place_trial *t);

#endif
