/*
 * evict_spare.h - who turns out not to be in the way of a claimant stays
 *
 * When all its tasks have nodes, each of those who were to leave is asked once
 * more, the dearest first: whether the claimant fits without that, on other
 * devices of the same nodes, too.  What is undone is what was changed, and no
 * more: with n who leave and a few tasks of the claimant on each node that is
 * n steps.
 */
#ifndef AISCHEDD_SCHED_EVICT_SPARE_H
#define AISCHEDD_SCHED_EVICT_SPARE_H

#include "aischedd/sched/evict_trial.h"

/* Of the steps from this one on. */
void evict_spare_steps(struct evictor *e, size_t first);

#endif
