/*
 * evict_rules.h - whom the rules let a claimant take from
 *
 * The rules are in man aischedd.conf, "Who may take from whom".
 */
#ifndef AISCHEDD_SCHED_EVICT_RULES_H
#define AISCHEDD_SCHED_EVICT_RULES_H

#include "aischedd/sched/evict_trial.h"

/* Whether the claimant may take from any run at all. */
bool evict_rules_allow_any(struct evictor *e);

/* Whether the claimant may take from the run, in the mode of the trial. */
bool evict_rules_allow(const struct evictor *e, uint32_t run);

/*
 * Whether the rules hold, now that it is known which victims find another
 * place: each victim of another queue must come from a branch that is above its
 * share when it is taken, and the claimant must stay within its own share once
 * all of them are gone.
 */
bool evict_rules_hold(struct evictor *e);

/*
 * After all claims: whether a waiting job may take from jobs that the pass
 * starts, which cannot be evicted in the same pass. A job that was refused
 * earlier may by the rules take from one that brought its queue above its
 * share, or that returns after a move. No event would cause a pass for this, so
 * another pass is due at once. Each such pass finds less to start, so there is
 * no endless loop.
 */
bool evict_rules_repeat(const struct pass *p);

/* Whether, in the queue of a job that the pass starts, a job of higher standing
 * waits or has fewer tasks than it asks for. */
bool evict_rules_doubt(const struct pass *p);

#endif
