/*
 * runs.h - running tasks by node, in the order in which they end
 */
#ifndef AISCHEDD_SCHED_FUTURE_RUNS_H
#define AISCHEDD_SCHED_FUTURE_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "aischedd/sched/snap.h"

/* A running task, and when it ends. */
struct future_run {
	int64_t end;   /* SNAP_NEVER: unknown; such tasks are last */
	uint32_t run;  /* index in snap.run */
	uint32_t task; /* index in snap.task */
};

struct future_runs {
	const uint32_t *first; /* by node: slice of stay */
	struct future_run *stay;
};

struct future_runs *future_runs_new(const struct snap *snap,
                                    struct arena *arena);

/* Change the time at which a run ends. */
void future_runs_change(struct future_runs *st, const struct snap *snap,
                        uint32_t run, int64_t end);

/* Returns the time by which a run without time limit is taken to have ended:
 * its queue may assume one, and its reservation ends it. SNAP_NEVER: unknown.
 */
int64_t future_runs_assumed(const struct snap *snap, uint32_t run);

/* Returns the time by which a running job will have ended, or SNAP_NEVER if
 * that is not known. */
static inline int64_t future_runs_end(const struct snap *s, uint32_t run)
{
	if (s->run.ending[run])
		return s->now;
	if (s->run.suspended[run])
		return SNAP_NEVER;
	if (s->run.end[run] == SNAP_NEVER)
		return future_runs_assumed(s, run);
	return s->run.end[run] > s->now ? s->run.end[run] : s->now;
}

/* Whether a is before b. SNAP_NEVER is last: as an unsigned number it
 * is the largest. */
static inline bool future_ends_before(int64_t a, int64_t b)
{
	return (uint64_t)a < (uint64_t)b;
}

/* Sort by end. Tasks that end together keep their order or, in a list of more
 * than 32, are sorted by their index in snap.task. */
void future_runs_sort(struct future_run *stay, size_t n);

#endif
