/*
 * evict_spare.h - spare the victims that a claimant can do without
 *
 * Once all tasks of the claimant have nodes, each eviction is tried without,
 * the dearest first: whether the claimant still fits, perhaps on other devices
 * of the same nodes.  Only what was changed is undone, so n evictions with a
 * few tasks of the claimant on each node cost n steps.
 */
#ifndef AISCHEDD_SCHED_EVICT_SPARE_H
#define AISCHEDD_SCHED_EVICT_SPARE_H

#include "aischedd/sched/evict_trial.h"

/* Spare what can be spared of the steps from this one on. */
void evict_spare_steps(struct evictor *e, size_t first);

#endif
