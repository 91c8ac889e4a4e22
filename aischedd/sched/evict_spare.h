/*
 * evict_spare.h - spare victims that a claimant does not need
 *
 * Once all tasks of the claimant have nodes, each eviction is taken back on
 * trial, the most expensive first, and spared if the claimant still fits,
 * perhaps on other devices of the same nodes. Only the counters that a trial
 * changed are undone, so n evictions with a few tasks of the claimant on each
 * node take n steps.
 */
#ifndef AISCHEDD_SCHED_EVICT_SPARE_H
#define AISCHEDD_SCHED_EVICT_SPARE_H

#include "aischedd/sched/evict_trial.h"

/* Spare those victims of the steps from `first` on that are not needed. */
void evict_spare_steps(struct evictor *e, size_t first);

#endif
