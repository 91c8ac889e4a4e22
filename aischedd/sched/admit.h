/*
 * admit.h - limits that do not depend on nodes
 *
 * They bound the resources and running jobs of a queue and of its ancestors,
 * the jobs and GPUs of one user in these queues, and the use of licences.
 */
#ifndef AISCHEDD_SCHED_ADMIT_H
#define AISCHEDD_SCHED_ADMIT_H

#include "aischedd/sched/plan.h"
#include "aischedd/sched/work.h"

/* The amounts that a claim adds to the use of its queue. */
struct demand {
	uint32_t queue, user, req;
	bool firm;   /* the job may not be preempted, so it must stay within the
	                quota */
	bool starts; /* a job starts, so the job itself and its licences count,
	                too */
	int64_t amount[RES_N];
};

/* Returns the demand of a claim. admit_demand_start(): a job of the row starts
 * with this many tasks, or resumes with all of its tasks. admit_demand_more():
 * a run gets this many more tasks, or moves this many to other nodes. */
struct demand admit_demand_start(const struct snap *snap, uint32_t row,
                                 uint32_t ntasks);
struct demand admit_demand_more(const struct snap *snap, uint32_t run,
                                size_t ntasks);
/* Returns the demand of one more task for a job of the row that starts in this
 * pass. */
struct demand admit_demand_extra(const struct snap *snap, uint32_t row);

/* The three functions below return WHY_None, or the reason why the job must
 * wait, with its numbers in *ret (verdict.h). */

/* Check that a job of the row can start if nothing else runs. */
enum reason admit_ever(const struct snap *snap, uint32_t row,
                       struct verdict *ret);

/* admit_then(): check that the demand is within all limits when all evicted
 * jobs have ended. admit_now(): check also that it is within them at present,
 * while evicted jobs still count. */
enum reason admit_then(struct work *w, const struct demand *d,
                       struct verdict *ret);
enum reason admit_now(struct work *w, const struct demand *d,
                      struct verdict *ret);

/* Count the demand as used (sign 1), or as no longer used (-1). */
void admit_charge(struct work *w, const struct demand *d, int sign);

/* Count the demand as use that begins when the jobs evicted for it have ended.
 */
void admit_hold(struct work *w, const struct demand *d);

/*
 * At first, a job that waits for a limit or a licence holds no other job back:
 * what is too little for this job may be enough for others. Once it has waited
 * too long (hold_after, man aischedd.conf), jobs behind it that would use some
 * of the same limit or licence wait until it has started.
 */
struct pass;

/* The row's next job has waited too long for the limit in this verdict: keep
 * the limit for that job. */
void admit_due_add(struct pass *p, uint32_t row, const struct verdict *limit);

/* Returns WHY_Priority, and the job in *ret, if the demand would use some of a
 * limit that is kept for another job; else WHY_None. */
enum reason admit_due_check(const struct pass *p, const struct demand *d,
                            struct verdict *ret);

#endif
