/*
 * arrays.h - starts of tasks above the limit of their array
 *
 * As soon as a task of such an array ends, the next one starts. So, as far as
 * others do not need them, the nodes of each task go to tasks of the array
 * until none is left: that many tasks are planned one after the other, as one
 * entry of the future. Thus an array costs as much as its limit, not as its
 * tasks. If that is not possible on some of the nodes, a start is sought for
 * each task, in the order of time.
 */
#ifndef AISCHEDD_SCHED_FUTURE_ARRAYS_H
#define AISCHEDD_SCHED_FUTURE_ARRAYS_H

#include "aischedd/sched/promise_start.h"

struct future_arrays;

struct future_arrays *future_arrays_new(struct promise_seeker *seeker);

/* Note that a task of the row's array, if it has a limit, runs or is promised
 * until `end`, on these nodes, one for each of its n tasks. n 0: the nodes are
 * not known. */
void future_arrays_add(struct future_arrays *f, uint32_t row, int64_t end,
                       const uint32_t *node, uint32_t n);

/* Note that a run moves, or is suspended: that it now ends at `end`
 * (SNAP_NEVER: unknown). */
void future_arrays_change(struct future_arrays *f, uint32_t run, int64_t end);

/* Whether no promise depends on the end of this run because its array runs as
 * many tasks as it may. */
bool future_arrays_may_change(const struct future_arrays *f, uint32_t run);

/* A promise to a job of a member of a row. */
struct array_promise {
	uint32_t member;
	int64_t at;
};

/*
 * Keep room for all jobs of the row from this one on, of which `begun` of its
 * member start in this pass or are promised. Their array runs as many tasks as
 * it may. Appends the first of them, in the order of time, to *ret, as struct
 * array_promise. most: the most promises for which to search, if tasks cannot
 * follow each other on the same nodes. Returns false if that is too few, so the
 * starts of some are not known.
 */
bool future_arrays_keep(struct future_arrays *f, uint32_t row, uint32_t member,
                        uint32_t begun, uint32_t most, struct arena_list *ret);

#endif
