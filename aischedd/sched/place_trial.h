/*
 * place_trial.h - one attempt to place a job in one pool, and why it failed
 *
 * Shared by place.c, which makes attempts, place_fill.c, which spreads their
 * tasks, place_best.c, which chooses a node, place_topology.c, which chooses
 * domains of the topology, and verdict_short.c, which explains why they failed.
 */
#ifndef AISCHEDD_SCHED_PLACE_TRIAL_H
#define AISCHEDD_SCHED_PLACE_TRIAL_H

#include "aischedd/sched/place.h"

struct trial {
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
uint32_t trial_best(struct trial *t, int64_t ask);

/* No node has room for more than this many tasks; max unless proven. */
int64_t trial_most(const struct trial *t, int64_t max);

/* The counted parts of the constraint that hold on a node, as bits. */
uint8_t trial_counted_on(const struct trial *t, uint32_t node);

/* In which order the pool is filled. */
enum node_order trial_order(const struct trial *t);

static inline int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Place all tasks: where they must be or had better be; wherever they fit. */
bool trial_place(struct trial *t);
bool trial_fill(struct trial *t);

struct gather *gather_new(struct place *p);

/* The same in as narrow a domain as the request asks for and can have; or in
 * this one. */
bool gather_fill(struct trial *t);
bool gather_fill_in(struct trial *t, uint32_t domain);

/* When that failed: which domain of the level that it needs holds most. */
void gather_lack(struct trial *t, struct lack *lack);

/* Why it failed; nothing is placed. */
struct lack trial_lack(struct trial *t);

#endif
