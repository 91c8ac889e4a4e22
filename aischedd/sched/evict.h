/*
 * evict.h - make room for a job: preempt, reclaim, consolidate
 *
 * One routine: take victims away in a trial, in the order in which they go,
 * until the job fits; give back those it works without; find other places
 * for the rest; and only if the rules hold for whoever does not find one
 * (man aischedd.conf, "Who may take from whom"), let them leave and keep
 * their room for the job.  First a plan is sought that only moves jobs.
 */
#ifndef AISCHEDD_SCHED_EVICT_H
#define AISCHEDD_SCHED_EVICT_H

#include "aischedd/sched/pass.h"

/* Who needs room: the next job of a row, or a run that grows by a task. */
struct claimant {
	uint32_t row, run; /* one of them is SNAP_NONE */
	uint32_t req, tasks;
	uint64_t job;
	int64_t standing; /* order_service.h */
	struct demand demand;
};

/*
 * Evict others for the claimant, who can not be placed or is over a limit of
 * its queue; scattered: what is free would be enough in one place.  True: it
 * has claims on nodes, and is charged.  False: nothing has changed.
 */
bool evict_for(struct pass *p, const struct claimant *c, bool scattered);

/* Whether the run, or some of its tasks, leaves with this pass. */
bool evict_has(const struct pass *p, uint32_t run);

/* How much was tried in this pass. */
uint64_t evict_looks(const struct pass *p);

/* All evictions of the pass, one a run, for the plan. */
void evict_list(struct pass *p);

#endif
