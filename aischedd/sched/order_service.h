/*
 * order_service.h - turns between jobs that take long
 *
 * In two orders a job gives way to others of its queue and priority on a
 * lower rung, as it would to a higher priority: to those who were served less
 * so far (10 hours of a GPU, 100, 1000, ...), or who have less left to do (in
 * steps of a tenth).  In steps, so that nobody makes room for one that is
 * hardly better off.  Service only grows and what is left only shrinks: whoever
 * had to leave takes its place back when the other has had ten times as much,
 * or never; so there is no loop.
 *
 * Service is counted in seconds times GPUs, or CPUs where no GPU is asked for,
 * of the fewest tasks that the job runs with.
 */
#ifndef AISCHEDD_SCHED_ORDER_SERVICE_H
#define AISCHEDD_SCHED_ORDER_SERVICE_H

#include <stdbool.h>

#include "aischedd/sched/snap.h"

/* Whether there are rungs in this order; where not, all are on rung 0. */
static inline bool order_rung_counts(uint8_t order)
{
	return order == BY_SERVED || order == BY_REST;
}

/* Whose turn it is among rows of equal priority: the least goes first. */
int64_t order_rung_rank(const struct snap *snap, uint32_t row);

/* More than there are. */
enum { RUNGS = 1024 };

/* Whose is higher may take from whose is lower: priority, then rung. */
int64_t order_standing_of_row(const struct snap *snap, uint32_t row);
int64_t order_rung_of_run(const struct snap *snap, uint32_t run);

static inline int64_t order_standing_of_run(const struct snap *s, uint32_t run)
{
	int64_t rung =
	    order_rung_counts(s->policy.order) ? order_rung_of_run(s, run) : 0;

	return s->run.priority[run] * RUNGS - rung;
}

/* When the run gets to the next rung if it goes on, or SNAP_NEVER. */
int64_t order_rung_rises(const struct snap *snap, uint32_t run);

#endif
