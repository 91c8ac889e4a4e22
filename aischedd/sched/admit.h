/*
 * admit.h - limits that do not depend on nodes
 *
 * Limits of a queue and all its ancestors on resources and on running jobs, of
 * a user in them, and licences.
 */
#ifndef AISCHEDD_SCHED_ADMIT_H
#define AISCHEDD_SCHED_ADMIT_H

#include "aischedd/sched/plan.h"
#include "aischedd/sched/work.h"

/* The amounts that a claim adds to the use of its queue. */
struct demand {
	uint32_t queue, user, req;
	bool firm;   /* may not be preempted: must be within the quota */
	bool starts; /* one more job, with its licences */
	int64_t amount[RES_N];
};

/* The demand of a job of the row that starts with this many tasks, or resumes
 * with all that it has; of a running job that gets this many more; of a running
 * job that moves this many. */
struct demand admit_demand_start(const struct snap *snap, uint32_t row,
                                 uint32_t ntasks);
struct demand admit_demand_more(const struct snap *snap, uint32_t run,
                                size_t ntasks);
/* The demand of one more task of a job of the row that has started. */
struct demand admit_demand_extra(const struct snap *snap, uint32_t row);

/* These return WHY_None, or the reason against it with its numbers in *ret
 * (verdict.h). */

/* Check that a job of the row can start if nothing else runs. */
enum reason admit_ever(const struct snap *snap, uint32_t row,
                       struct verdict *ret);

/* Check that the demand keeps within all limits once all evicted jobs have
 * ended; admit_now() also at present, while they still use what they hold. */
enum reason admit_then(struct work *w, const struct demand *d,
                       struct verdict *ret);
enum reason admit_now(struct work *w, const struct demand *d,
                      struct verdict *ret);

/* Whether the demand keeps within all limits but licences, at present and once
 * all evicted jobs have ended. */
bool admit_but_licenses(struct work *w, const struct demand *d);

/* Count the demand as used (sign 1), or as no longer used (-1). */
void admit_charge(struct work *w, const struct demand *d, int sign);

/* Count the demand as used once the jobs evicted for it have ended. */
void admit_hold(struct work *w, const struct demand *d);

/*
 * At first, a job that waits for a limit, a count or a licence holds no other
 * job back, as what is too little for it may be enough for others; but for the
 * licences that it is promised (promise_license.h). Once it has waited too long
 * (hold_after, man aischedd.conf), jobs behind it that would use some of the
 * same wait until it has started.
 */
struct pass;

/* Note that the row's next job has waited too long for the limit of this
 * verdict. */
void admit_due_add(struct pass *p, uint32_t row, const struct verdict *limit);

/* Returns WHY_Priority, and the job in *ret, if the demand would use some of a
 * limit that is kept for another job; else WHY_None. */
enum reason admit_due_check(const struct pass *p, const struct demand *d,
                            struct verdict *ret);

#endif
