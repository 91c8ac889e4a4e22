/*
 * evict_rules.h - from whom the rules let a claimant take resources
 *
 * The rules are in man aischedd.conf, "Who may take from whom".
 */
#ifndef AISCHEDD_SCHED_EVICT_RULES_H
#define AISCHEDD_SCHED_EVICT_RULES_H

#include "aischedd/sched/evict_trial.h"

/* Whether the claimant may take from any run at all. */
bool evict_rules_allow_any(struct evictor *e);

/* Called before each trial, after evict_rules_allow_any(). */
void evict_rules_begin(struct evictor *e);

/* Whether the claimant may take from the run, in the mode of the trial. */
bool evict_rules_allow(const struct evictor *e, uint32_t run);

/*
 * Whether the rules allow the trial. Called when it is known which victims can
 * move to another place. A victim of another queue is in another branch of the
 * queue tree, and this branch must be above its share when the victim is taken.
 * Once all victims are gone, the claimant must stay within its own share.
 */
bool evict_rules_hold(struct evictor *e);

/*
 * Whether the next pass may evict jobs that this pass starts. For example, a
 * waiting job was refused, and then a start brought another queue above its
 * share, or an evicted job came back. If so, another pass is due at once,
 * because no event would cause one. Each such pass finds less to start, so
 * there is no endless loop. Called after all claims are served.
 */
bool evict_rules_repeat(const struct pass *p);

/* Whether, in the queue of a job that the pass starts, a job of higher standing
 * waits or has fewer tasks than it asks for. */
bool evict_rules_doubt(const struct pass *p);

#endif
