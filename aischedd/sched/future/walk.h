/*
 * walk.h - go through the times at which something changes on one node
 *
 * A walk starts at the present time, and goes on from one change on the node to
 * the next. At each time it sets the counters in future.then to what the node
 * then has free. future.c uses walks to make the lists of points.
 */
#ifndef AISCHEDD_SCHED_FUTURE_WALK_H
#define AISCHEDD_SCHED_FUTURE_WALK_H

#include "aischedd/sched/future/future.h"
#include "aischedd/sched/future/runs.h"

/* A task that starts in this pass. */
struct future_added {
	uint64_t job;
	int64_t end;
	uint32_t req;
	uint32_t task; /* index in place->task */
	bool goes_on;  /* the task resumes, and still has its memory and GPUs */
	uint32_t next; /* the next task added to the node, as index + 1; 0:
	                  none */
};

/* The future of one node; all zero: not computed yet. */
struct future_view {
	int64_t *at;
	struct future_point *point;
	uint32_t npoints, cap;
	struct future_due *due; /* first entry, sorted by start */
	uint32_t added;         /* the first task added to the node, as index +
	                           1; 0: none */
	bool is_new;            /* the points are up to date */
	bool odd;               /* free amounts alone do not decide what fits */
};

struct future {
	struct place *p;
	const struct snap *s;
	struct arena *arena;
	struct future_view *view; /* by node */
	bool changes;
	int64_t patience;
	uint8_t *gone; /* by task: 1 if evicted in this pass */

	/* Made by future_walk_runs(). */
	struct future_runs *stays;
	struct future_nodes *soon;
	struct work *then; /* the counters of the node during a walk */

	struct arena_list added;
	size_t ntasks;              /* tasks of place->task added so far */
	struct future_run *leaving; /* scratch: what ends on the node */
	size_t leaving_cap;
	int64_t *count; /* scratch, by point */
	size_t count_cap;
	/* Scratch for tasks on trial. */
	struct future_due trial;
	struct snap_task *trial_task;
	uint64_t *trial_held;
	struct snap_cpu_use *use;
	size_t trial_cap, use_cap;
};

struct future_walk {
	struct future *a;
	uint32_t node;
	int64_t at;
	/* the tasks that end, in the order of their ends */
	const struct future_run *stay;
	size_t nstays, next;
	uint32_t whose, nkept;
	uint64_t awaited; /* GPUs that entries have got, as bits */
	/* the first entry that found too little free, or NULL */
	const struct future_due *cut;
};

/* Returns an added task by its index + 1, as in `next` and `added`. */
static inline const struct future_added *future_added_at(const struct future *a,
                                                         uint32_t i)
{
	return (const struct future_added *)a->added.p + i - 1;
}

static inline bool future_due_is_over(const struct future_due *d, int64_t at)
{
	return d->end != SNAP_NEVER && d->end <= at;
}

/* Returns the running tasks by node, which are listed at the first call. */
struct future_runs *future_walk_runs(struct future *a);

/* Begin a walk: set the counters of the node to what is free now. */
void future_walk_begin(struct future_walk *w, struct future *a, uint32_t node);

/* Go on to the time of the next change. Returns false if there is none. */
bool future_walk_on(struct future_walk *w);

void future_walk_end(struct future_walk *w);

/* Returns the job with the lowest id of those that end on the node at this
 * time; if there is none, a job for which something is kept until then, or 0.
 */
uint64_t future_walk_ends(struct future *a, uint32_t node, int64_t at);

/* Among the jobs on the node that hold some of a resource, returns the first to
 * end, or 0 if no job holds any. what: enum resource, WHAT_TMP, WHAT_SLOT or a
 * kind of devices from WHAT_DEV on; all other values stand for CPUs. */
uint64_t future_walk_blocker(struct future *a, uint32_t node, int64_t what);

#endif
