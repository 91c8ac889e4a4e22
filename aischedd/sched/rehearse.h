/*
 * rehearse.h - drop a plan whose starts the next plan would evict
 *
 * A job that starts in a pass cannot be evicted in the same pass. A job that
 * may evict it, but had its turn earlier, would evict it in the next pass, in
 * the same second, and the start would be useless. The next pass is therefore
 * rehearsed, on the snapshot as the plan leaves it, and the jobs that it evicts
 * do not start. The jobs for which it evicts them either start in another pass,
 * which is due at once, or are granted in this pass what the next one would
 * claim for them.
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
 * Returns `snap` with some claims of the next plan added: those for which the
 * next plan evicts only jobs that the first plan starts. The next plan was made
 * on the snapshot `then`. A plan made on the returned snapshot serves these
 * claims at once. Rows whose starts are evicted (vain) have only the claims
 * that they had in `origin`. Returns NULL if no claim is added.
 */
const struct snap *rehearse_grant(const struct snap *snap,
                                  const struct snap *then,
                                  const struct plan *next,
                                  const struct snap *origin,
                                  const struct vain *vain, struct arena *arena);

#endif
