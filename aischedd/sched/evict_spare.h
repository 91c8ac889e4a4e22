/*
 * evict_spare.h - spare victims without which a claimant fits
 *
 * Once all tasks of the claimant have nodes, each eviction is taken back on
 * trial, the dearest first: does the claimant still fit, perhaps on other
 * devices of the same nodes? Only what was changed is undone, so n evictions
 * with a few tasks of the claimant on each node take n steps.
 */
#ifndef AISCHEDD_SCHED_EVICT_SPARE_H
#define AISCHEDD_SCHED_EVICT_SPARE_H

#include "aischedd/sched/evict_trial.h"

/* Spare victims of the steps from this one on. */
void evict_spare_steps(struct evictor *e, size_t first);

#endif
