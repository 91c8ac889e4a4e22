/*
 * rehearse.h - a plan whose starts the next plan would evict is not made
 *
 * A job that starts in a pass cannot be evicted in it, so an entitled job that
 * found no room takes it in the next pass, in the same second, and the start
 * was for nothing. The next pass is therefore rehearsed, on the snapshot as the
 * plan leaves it. Jobs that it evicts do not start in this pass; another pass,
 * in which those that are entitled run, is due at once.
 */
#ifndef AISCHEDD_SCHED_REHEARSE_H
#define AISCHEDD_SCHED_REHEARSE_H

#include "aischedd/sched/plan.h"

/* Whether the plan can be rehearsed: it only starts jobs and grows them, and is
 * not too large. */
bool rehearse_can(const struct snap *snap, const struct plan *plan);

/* The snapshot as it is once all starts of the plan run. Its runs are those of
 * `snap`, then the starts in the order of the plan. */
const struct snap *rehearse_after(const struct snap *snap,
                                  const struct plan *plan, struct arena *arena);

#endif
