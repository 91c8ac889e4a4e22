/*
 * order_service.h - orders in which long jobs take turns
 *
 * In the orders BY_SERVED and BY_REST, a job can be preempted by jobs of its
 * queue that have the same priority but a lower rung. With BY_SERVED, jobs that
 * were served less so far are on lower rungs, which end at 10 hours of a GPU,
 * 100, 1000, ... With BY_REST, jobs that have less left to do are on lower
 * rungs: there are eight rungs for each doubling. The steps prevent that a job
 * is evicted for one that is hardly better off. There is no loop: after an
 * eviction, the two jobs change places again only once the running job has been
 * served ten times as much (BY_SERVED), or never (BY_REST), because the service
 * of a job only grows and what is left to do only shrinks. Service is counted
 * in seconds times the GPUs of the job's minimum of tasks, or times their CPUs
 * if it asks for no GPU.
 */
#ifndef AISCHEDD_SCHED_ORDER_SERVICE_H
#define AISCHEDD_SCHED_ORDER_SERVICE_H

#include <stdbool.h>

#include "aischedd/sched/snap.h"

/* Whether the order has rungs; else all jobs are on rung 0. */
static inline bool order_rung_counts(uint8_t order)
{
	return order == BY_SERVED || order == BY_REST;
}

/* Returns the rank of a row among those of equal priority: the least goes
 * first. */
int64_t order_rung_rank(const struct snap *snap, uint32_t row);

/* An upper bound of the number of rungs. */
enum { RUNGS = 1024 };

/* Returns the standing of a job: by priority, then by rung. A job may preempt
 * those of its queue whose standing is lower. */
int64_t order_standing_of_row(const struct snap *snap, uint32_t row);
int64_t order_rung_of_run(const struct snap *snap, uint32_t run);

static inline int64_t order_standing_of_run(const struct snap *s, uint32_t run)
{
	int64_t rung =
	    order_rung_counts(s->policy.order) ? order_rung_of_run(s, run) : 0;

	return s->run.priority[run] * RUNGS - rung;
}

/*
 * A job that starts because it is overdue (order_score.h) cannot be preempted
 * by jobs of its queue until it has run for as long as jobs may wait there
 * (max_wait or hold_after): otherwise the jobs of higher standing that it
 * overtook would preempt it at once. Returns the end of that time; 0 if the run
 * was not overdue when it started.
 */
int64_t order_kept_until(const struct snap *snap, uint32_t run);

/* Returns the standing that another job of the run's queue must exceed to evict
 * the run. */
static inline int64_t order_standing_kept(const struct snap *s, uint32_t run)
{
	return s->run.waited[run] && order_kept_until(s, run) > s->now
	           ? INT64_MAX - 1
	           : order_standing_of_run(s, run);
}

/* Returns when the run reaches the next rung if it keeps running, or
 * SNAP_NEVER. */
int64_t order_rung_rises(const struct snap *snap, uint32_t run);

#endif
