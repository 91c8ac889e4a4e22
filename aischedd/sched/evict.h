/*
 * evict.h - make room for a job: preempt, reclaim, consolidate
 *
 * A trial takes victims in their order until the claimant fits, spares those
 * that need not be evicted, and looks for other places for the rest. Some
 * victims have no other place: if the rules (man aischedd.conf, "Who may take
 * from whom") allow to evict these, all victims are evicted and their nodes are
 * held for the claimant. Trials that only move jobs come first.
 */
#ifndef AISCHEDD_SCHED_EVICT_H
#define AISCHEDD_SCHED_EVICT_H

#include "aischedd/sched/pass.h"

/* The claimant: the next job of a row, or a run that grows by a task. */
struct claimant {
	uint32_t row, run; /* one of them is SNAP_NONE */
	uint32_t req, tasks;
	uint32_t nodes; /* it needs exactly this many; 0: any number */
	uint64_t job;
	int64_t standing; /* in its queue, see order_service.h */
	struct demand demand;
};

/*
 * Evict jobs for a claimant that cannot be placed or is over a limit of its
 * queue. scattered: enough is free, but spread over nodes so that the claimant
 * does not fit. Returns true if the claimant now has claims on nodes and is
 * charged for them; else nothing has changed.
 */
bool evict_for(struct pass *p, const struct claimant *c, bool scattered);

/* Whether this pass evicts the run or some of its tasks. */
bool evict_has(const struct pass *p, uint32_t run);

/* Returns how many nodes and tasks trials have looked at in this pass. */
uint64_t evict_looks(const struct pass *p);

/* Add all evictions of this pass to the plan's lists, one for each run. */
void evict_list(struct pass *p);

#endif
