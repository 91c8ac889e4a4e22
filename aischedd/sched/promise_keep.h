/*
 * promise_keep.h - room kept for a job at its earliest start
 */
#ifndef AISCHEDD_SCHED_PROMISE_KEEP_H
#define AISCHEDD_SCHED_PROMISE_KEEP_H

#include "aischedd/sched/promise_start.h"

/*
 * Returns the time, `from` or later, at which the row's next job can start at
 * the latest, and keeps room for it from then on; or returns SNAP_NEVER. The
 * caller has called place_for() for the job. last: what the last plan promised
 * it, or NULL. *ret_blocker: the job whose end it waits for, or 0.
 */
int64_t promise_keep_start(struct promise_seeker *sr, uint32_t row,
                           int64_t from, const struct snap_promise *last,
                           uint64_t *ret_blocker);

/* Returns the first time at which the row's next job is within its limits and
 * has its licences, for as long as it runs; or SNAP_NEVER. The caller has
 * called place_for() for the job. looks: as for limit_future_start(). */
int64_t promise_keep_after(struct promise_seeker *sr, uint32_t row,
                           size_t *looks);

/*
 * Keeps room for this many jobs of the row, one after the other, on these
 * nodes, one for each task of a job, from `at` on; and promises it to the first
 * of them. Returns false if something else is there. place_for() was called for
 * the first.
 */
bool promise_keep_there(struct promise_seeker *sr, uint32_t row, int64_t at,
                        uint32_t times, const uint32_t *node, uint32_t n);
/* Gives back what promise_keep_there() has kept. place_for() was called for the
 * same job. The promise stays in the list: the caller removes it. */
void promise_keep_release(struct promise_seeker *sr, uint32_t row, int64_t at,
                          uint32_t times, const uint32_t *node, uint32_t n);

#endif
