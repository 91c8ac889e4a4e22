/*
 * promise_keep.h - room kept for a job at its earliest start
 */
#ifndef AISCHEDD_SCHED_PROMISE_KEEP_H
#define AISCHEDD_SCHED_PROMISE_KEEP_H

#include "aischedd/sched/promise_start.h"

/*
 * The time at which the row's next job, for which place_for() was said, can
 * start at the latest, or SNAP_NEVER; room is kept for it from then on.
 * *ret_blocker: the job whose end it waits for, or 0.
 */
int64_t promise_keep_start(struct promise_seeker *sr, uint32_t row,
                           uint64_t *ret_blocker);

#endif
