/*
 * rehearse.h - drop a plan whose starts the next plan would evict
 *
 * A job that starts in a pass cannot be evicted in it. So a job that may evict
 * it, and had its turn before the start, would do so in the next pass, in the
 * same second, and the start would be for nothing. The next pass is therefore
 * rehearsed, on the snapshot as the plan leaves it. Jobs that it evicts do not
 * start in this pass. Then either another pass is due at once, in which the
 * jobs start that would have evicted them; or these are granted in this pass
 * what the next one would claim for them.
 */
#ifndef AISCHEDD_SCHED_REHEARSE_H
#define AISCHEDD_SCHED_REHEARSE_H

#include "aischedd/sched/plan.h"

struct vain;

/* Whether the plan can be rehearsed: it starts jobs, resumes and suspends none,
 * only evicts whole jobs, and is not too large. */
bool rehearse_can(const struct snap *snap, const struct plan *plan);

/* Returns the snapshot as it will be once all starts of the plan run, but
 * before the jobs that it evicts have ended. Its runs are those of `snap`, then
 * the starts in the order of the plan. */
const struct snap *rehearse_after(const struct snap *snap,
                                  const struct plan *plan, struct arena *arena);

/*
 * Returns `snap` with those claims of the next plan, made on the snapshot
 * `then`, for which only starts of the first plan are evicted. A plan made on
 * it serves these claims at once. Rows whose starts are evicted (vain) have
 * only the claims that they had in `origin`. Returns NULL if nothing is
 * granted.
 */
const struct snap *rehearse_grant(const struct snap *snap,
                                  const struct snap *then,
                                  const struct plan *next,
                                  const struct snap *origin,
                                  const struct vain *vain, struct arena *arena);

#endif
