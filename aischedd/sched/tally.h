/*
 * tally.h - sums over all running jobs
 *
 * There are more runs than anything else in a snapshot, so a pass goes through
 * them once, and makes all sums that it needs.
 */
#ifndef AISCHEDD_SCHED_TALLY_H
#define AISCHEDD_SCHED_TALLY_H

#include "aischedd/sched/snap.h"

/* The runs of one queue, without the queues below it. */
struct tally_queue {
	int64_t used[RES_N]; /* by runs that are not ending */
	/* part of used: by runs that are not preemptible */
	int64_t firm[RES_N];
	int64_t jobs;        /* jobs that are not ending */
	int64_t late[RES_N]; /* used by runs that are ending */
	int64_t late_jobs;   /* jobs that are ending with all their tasks */
	int64_t ask[RES_N];  /* what the runs would use with all their tasks */
	uint32_t growers;    /* runs that may get more tasks */
	int64_t lowest;      /* least standing of the runs that may be evicted;
	                        INT64_MAX: none */
};

struct tally {
	struct tally_queue *queue;
	uint32_t growers, victims; /* number of runs that may get more tasks;
	                              number that may be evicted */
	/* when the set of evictable runs changes, or SNAP_NEVER */
	int64_t wake;
	int64_t cpus, gpus; /* held by runs that have GPUs */
	int64_t *req_gpus;  /* by request: GPUs that its runs hold */
	bool ends;          /* some run has a known end */
};

struct tally *tally_new(const struct snap *snap, struct arena *arena);

/* Whether a run may get more tasks. */
static inline bool tally_may_grow(const struct snap *s, uint32_t run)
{
	return !s->run.ending[run] && !s->run.suspended[run] &&
	       s->run.task_first[run + 1] - s->run.task_first[run] <
	           s->req.tasks[s->run.req[run]];
}

#endif
