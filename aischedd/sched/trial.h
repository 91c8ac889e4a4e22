/*
 * trial.h - one attempt to place a job in one pool, and why it failed
 *
 * Shared by place.c, which makes attempts, and lack.c, which explains them.
 */
#ifndef AISCHEDD_SCHED_TRIAL_H
#define AISCHEDD_SCHED_TRIAL_H

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
};

/* What the next task lacks, while those that found room are in place. */
struct lack lack_of(const struct trial *t);

/* Complete it when they have given it back: was there enough in all? */
void lack_sum(const struct trial *t, struct lack *lack);

#endif
