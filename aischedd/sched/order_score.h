/*
 * order_score.h - the order of the jobs that wait in a queue, as points
 *
 *	score = priority
 *	      + age_weight for each day that the job has waited, at most seven
 *	      + size_weight times the largest part of the cluster's CPUs, memory
 *	        or GPUs that it asks for
 *	      + fairshare_weight for a user who has used nothing of late
 *	      - age_weight for seven days if its user is above the average
 *
 * The last line makes equal users come to equal shares, however old their
 * jobs are: without it, the user with the oldest backlog has more for as long
 * as the backlog lasts. It does not change the order of jobs of one user.
 *
 * The job with the highest score goes first.  Points are in thousandths.  By
 * default, points alone decide.  A policy may have another order: then only
 * the priority gives points, and of jobs of equal priority the one with the
 * least rank goes first (order_score_rank(), or order_service.h).
 */
#ifndef AISCHEDD_SCHED_ORDER_SCORE_H
#define AISCHEDD_SCHED_ORDER_SCORE_H

#include "aischedd/sched/snap.h"

struct order_score {
	int64_t priority, age, size, fair_share;
	bool overdue; /* the job has waited longer than its queue allows, and
	                 goes before all jobs that have not */
};

/* Returns the points for waiting this many seconds. */
int64_t order_score_age(const struct snap_policy *policy, int64_t waited);

/* Whether the user has used more of the queue than its users have
 * used on average. */
bool order_score_is_above(const struct snap_policy *policy, uint32_t light);

/* Whether jobs of the user are never overdue, however long they wait: the user
 * is above the average, and the queue has no max_wait, which is a promise to
 * all its users. */
bool order_score_yields(const struct snap *snap, uint32_t queue,
                        uint32_t light);

/* Returns the points of a job. ask: what all its tasks ask for; light: 0 ..
 * 1000, as in struct snap_pend. */
struct order_score order_score_make(const struct snap_policy *policy,
                                    int64_t priority, int64_t waited,
                                    const int64_t ask[RES_N],
                                    const int64_t capacity[RES_N],
                                    uint32_t light);

/* Returns the rank of a job, which is 0 in the order of points. length: its
 * time limit in seconds, or SNAP_NEVER. */
int64_t order_score_rank(const struct snap_policy *policy, int64_t length,
                         const int64_t ask[RES_N],
                         const int64_t capacity[RES_N]);

static inline int64_t order_score_sum(const struct order_score *s)
{
	return s->priority + s->age + s->size + s->fair_share;
}

/* Returns how long a job of a queue without max_wait must wait until it goes
 * before all jobs that have waited less; CONF_NONE: it never does. In the order
 * of points this is a week longer than hold_after, because a job gets points
 * for its first week of waiting. */
int64_t order_score_overdue(uint8_t order, int64_t hold_after);

/* Return how long a job of the queue must wait until it holds back the jobs
 * behind it (hold), and until it precedes all that have waited less
 * (overdue_in). Taken from the max_wait of the queue or of its nearest ancestor
 * that has one, else from the policy. CONF_NONE: never. */
int64_t order_score_hold(const struct snap *snap, uint32_t queue);
int64_t order_score_overdue_in(const struct snap *snap, uint32_t queue);

#endif
