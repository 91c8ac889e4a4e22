/*
 * promise.h - starts that are promised to jobs that cannot start now
 *
 * Backfill: the first jobs that find no room are promised a start, each at
 * the earliest time at which it fits without touching the promises before
 * it, given when those that run must end.  From then on nobody behind takes a
 * node that would break a promise: place.c asks here about each node that is
 * watched.  With one promise this is EASY backfill, with many conservative.
 * A reservation is a promise to its users with a fixed time and whole nodes.
 *
 * What cannot be promised a start, because what is in its way has no known
 * end, holds nobody back.
 */
#ifndef AISCHEDD_SCHED_PROMISE_H
#define AISCHEDD_SCHED_PROMISE_H

#include "aischedd/sched/place.h"
#include "aischedd/sched/plan.h"

struct promises;

/* Becomes place->promises; the reservations of the snapshot are watched. */
struct promises *promise_new(struct place *place, const struct tally *tally);

/*
 * The job of the row, for which place_for() was said, cannot start now.
 * Returns the time at which it will at the latest and keeps its place for it
 * from then on; SNAP_NEVER: that cannot be known, or enough are promised.
 * *ret_blocker: the job whose end it waits for, or 0.
 */
int64_t promise_make(struct promises *ps, uint32_t row, uint64_t *ret_blocker);

/* From now on nobody behind this job takes a node which it could use; of its
 * queue, or (SNAP_NONE) of any. */
void promise_bar(struct promises *ps, uint32_t queue, uint32_t req,
                 uint64_t job);

/*
 * After a trial (place_try, place_try_resume) for the row has failed: whether
 * promises are why.  Then *v says whose, where and for when: Priority.
 */
bool promise_explains(struct promises *ps, uint32_t row, struct verdict *v);

/*
 * Whether the row may start at all as for the reservation that it names, if
 * it does; else *v says why not: Reservation.
 */
bool promise_is_open(const struct snap *snap, uint32_t row, struct verdict *v);

/*
 * A task of a running job (index in snap.task) is told to leave, within a
 * trial to make room; or it is not after all.  What is ending already is
 * known.
 */
void promise_leave(struct promises *ps, uint32_t task, bool leaves);

/* The job that holds some of what is short on a node (enum resource, or more
 * than that: of its CPUs) and ends first, or 0. */
uint64_t promise_blocker(struct promises *ps, uint32_t node, int64_t what);

/* The next time at which a reservation begins or ends, or SNAP_NEVER. */
int64_t promise_wake(const struct snap *snap);

/* For place.c. */

/* place_for() was said; whether to ask about each node. */
bool promise_begin(struct promises *ps, uint32_t req);

/* Whether n tasks of the request, for which place_for() was said, may be on a
 * node that is watched. */
bool promise_allows(struct promises *ps, uint32_t req, uint32_t node,
                    int64_t n);

/* The trial in place becomes part of the plan.  It may be said twice. */
void promise_started(struct promises *ps, uint32_t req);

#endif
