/*
 * evict_rules.h - whom the rules let a claimant take from
 *
 * The rules are in man aischedd.conf, "Who may take from whom".
 */
#ifndef AISCHEDD_SCHED_EVICT_RULES_H
#define AISCHEDD_SCHED_EVICT_RULES_H

#include "aischedd/sched/evict_trial.h"

/* Whether there is anybody whom the claimant may take from. */
bool evict_rules_allow_any(struct evictor *e);

/* Whether it may take from this run, in the mode of the trial. */
bool evict_rules_allow(const struct evictor *e, uint32_t run);

/*
 * Whether the rules hold now that it is known who finds another place: each
 * of another queue comes from where more than the share is used at his turn,
 * and the claimant stays within its own when all have left.
 */
bool evict_rules_hold(struct evictor *e);

/*
 * When all had their turn: whether somebody who waits may take from those who
 * start.  What starts or grows in a pass is nobody's victim in it; but who was
 * refused before may take from it by the rules: it brought its queue above its
 * share, or it returns after it was moved.  Nothing else need happen for that,
 * so another pass is due at once.  It finds less to start, so there is an end.
 */
bool evict_rules_repeat(const struct pass *p);

#endif
