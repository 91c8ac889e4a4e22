/*
 * verdict.h - the numbers in a verdict, for those who fill in and read them
 *
 * Resources, Fragmentation, GangPartial, NeverFits: what is short (a resource
 * or WHAT_*), how much of it a task needs, what the node `name` has free (for
 * NeverFits: in all) and in total, what is free in the pool, and how many
 * tasks fit.  QueueLimit, ExceedsQueueLimit: what, how much the job asks for,
 * how much the queue `name` uses, its limit.  Licenses: how many it needs,
 * are free, exist of `name`.  QueueMaxJobs, UserLimit: how many run and may.
 * Topology: as Resources, but the domain that has most room for it instead of
 * what is free in the pool, and for how many tasks.  NumaAlignment: what the
 * NUMA node of node `name` has that has most, GPUs as what is free, CPUs as
 * total.  NodeDown, RunnerDown: tasks that fit on what is there; node or pool
 * `name`. StartFailed: the time of the next try, on `name`.  Priority: in what
 * way (WAY_*) node `name` is not for it: with the time of the promise, with the
 * reservation and the time by which it would end.  Reservation: what is the
 * matter (RESV_*) with reservation `name`.
 */
#ifndef AISCHEDD_SCHED_VERDICT_H
#define AISCHEDD_SCHED_VERDICT_H

#include "aischedd/sched/plan.h"

enum { NUM_WHAT, NUM_NEED, NUM_HAVE, NUM_TOTAL, NUM_SUM, NUM_GOT, NUM_N };

_Static_assert(sizeof(((struct verdict *)0)->num) == NUM_N * sizeof(int64_t),
               "a verdict has room for its numbers");

/* Beyond enum resource. */
enum {
	WHAT_NODE = RES_N, /* one more node, or one without other jobs */
	WHAT_DEVICES,  /* not in whole CPUs; NeverFits: not all on one node */
	WHAT_FEATURES, /* no node has what is asked for by name */
	WHAT_GANG,     /* each task, but not all together */
	WHAT_LICENSES,
	WHAT_PART_OF_GPU, /* more than one GPU, and not whole ones */
	WHAT_JOBS,        /* UserLimit: a count of jobs */
	WHAT_NUMA,        /* not all on one NUMA node */
	WHAT_COUNTS,      /* too few nodes that a constraint counts */
	WHAT_DOMAIN,      /* not all in one domain of the level it needs */
	WHAT_SLOT         /* the node has as many tasks as it may */
};

/* Priority. */
enum {
	WAY_IS_PROMISED, /* to a job, from NUM_NEED on */
	WAY_IS_BARRED,   /* by a job that waits for it */
	WAY_IS_RESERVED, /* NUM_NEED: which; NUM_HAVE: its end would be */
	WAY_IS_CLOSED,   /* not within the reservation NUM_NEED, its own */
	WAY_IS_DUE       /* to a job, within the limit of queue `name`, or
	                  * (NUM_NEED) as licence `name` */
};

/* Reservation. */
enum { RESV_BEGINS, RESV_IS_OVER, RESV_OF_OTHERS };

/* The sentence, with its numbers, for a person; appended to out. */
void verdict_text(const struct snap *snap, uint32_t row,
                  const struct verdict *v, struct buf *out);

#endif
