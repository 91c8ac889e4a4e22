/*
 * promise_last.h - starts that the last plan promised
 *
 * A pass works out all promises anew. Among nodes that allow the same start it
 * keeps those of the last plan, and a job whose time has come starts on them.
 * Otherwise each new choice between equal nodes would change the promises of
 * the jobs behind.
 */
#ifndef AISCHEDD_SCHED_PROMISE_LAST_H
#define AISCHEDD_SCHED_PROMISE_LAST_H

#include "aischedd/sched/place.h"

/* Returns the promise of the last plan to a job or, if the job is an array, to
 * its nth waiting task; NULL if there is none. */
const struct snap_promise *promise_last(const struct snap *snap, uint64_t job,
                                        uint32_t nth);

/* Try to place the job, for which place_for() was called, on the nodes on which
 * the last plan promised it a start. */
bool promise_last_try(struct place *place, uint32_t req,
                      const struct snap_promise *promise);

#endif
