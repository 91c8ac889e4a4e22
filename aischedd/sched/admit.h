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
struct demand admit_demand_start(const struct snap *snap, uint32_t row,
                                 uint32_t ntasks);
struct demand admit_demand_more(const struct snap *snap, uint32_t run,
                                size_t ntasks);

/* These return WHY_None, or a reason and its numbers in *ret (verdict.h). */

/* May a job of the row ever start, whatever else runs? */
enum reason admit_ever(const struct snap *snap, uint32_t row,
                       struct verdict *ret);

/* May it have this now? */
enum reason admit_now(struct work *w, const struct demand *d,
                      struct verdict *ret);

/* It gets it: count it (sign 1), or no more (-1). */
void admit_charge(struct work *w, const struct demand *d, int sign);

/*
 * What is limited goes to whom it is due.  Who waits for a limit, a count or a
 * licence holds nobody back at first: the others may use what is not enough
 * for him.  When he has waited for too long (hold_after, man aischedd.conf),
 * whoever is behind him and would use some of it waits, until he has it.
 */
struct pass;

/* The row's next job has waited for too long for the limit of this verdict. */
void admit_due_add(struct pass *p, uint32_t row, const struct verdict *limit);

/* Whether this would use some of what is due to others: WHY_Priority, and the
 * job in *ret, or WHY_None. */
enum reason admit_due_check(const struct pass *p, const struct demand *d,
                            struct verdict *ret);

#endif
