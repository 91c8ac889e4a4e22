/*
 * admit.h - limits that have nothing to do with nodes
 *
 * Limits of a queue and all its ancestors on resources and on running jobs,
 * of a user in them, and licences.
 */
#ifndef AISCHEDD_SCHED_ADMIT_H
#define AISCHEDD_SCHED_ADMIT_H

#include "aischedd/sched/plan.h"
#include "aischedd/sched/work.h"

/* What a claim adds to the use of its queue. */
struct demand {
	uint32_t queue, user, req;
	bool firm;   /* may not be preempted: only within the quota */
	bool starts; /* a job more, and its licences */
	int64_t amount[RES_N];
};

/* A job of a row starts with so many tasks, or resumes with all it has; one
 * that runs gets more tasks, or runs with so many somewhere else. */
struct demand demand_start(const struct snap *snap, uint32_t row,
                           uint32_t ntasks);
struct demand demand_more(const struct snap *snap, uint32_t run, size_t ntasks);

/* These return WHY_None, or a reason and its numbers in *ret (verdict.h). */

/* May a job of the row ever start, whatever else runs? */
enum reason admit_ever(const struct snap *snap, uint32_t row,
                       struct verdict *ret);

/* May it have this now? */
enum reason admit_now(struct work *w, const struct demand *d,
                      struct verdict *ret);

/* It gets it: count it (sign 1), or no more (-1). */
void admit_charge(struct work *w, const struct demand *d, int sign);

#endif
