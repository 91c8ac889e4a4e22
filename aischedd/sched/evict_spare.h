/*
 * evict_spare.h - spare victims that a claimant does not need
 *
 * Once all tasks of the claimant have nodes, each eviction is taken back on
 * trial, the most expensive first. If the claimant still fits, perhaps on other
 * devices of the same nodes, the victim is spared. If not, the trial is undone,
 * which restores only the counters that it changed. The time needed is
 * proportional to the number of evictions, if each node has only a few tasks of
 * the claimant.
 */
#ifndef AISCHEDD_SCHED_EVICT_SPARE_H
#define AISCHEDD_SCHED_EVICT_SPARE_H

#include "aischedd/sched/evict_trial.h"

/* Spare those victims of the steps from `first` on that are not needed. */
void evict_spare_steps(struct evictor *e, size_t first);

#endif
