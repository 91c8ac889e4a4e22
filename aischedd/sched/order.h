/*
 * order.h - whose turn it is
 *
 * Rows are served by priority, then by the job id of their next member, so
 * that the members of rows of one priority take turns as they were
 * submitted.  A heap over the rows: they may have a million members.
 */
#ifndef AISCHEDD_SCHED_ORDER_H
#define AISCHEDD_SCHED_ORDER_H

#include <stdbool.h>

#include "aischedd/sched/snap.h"

struct order {
	const struct snap *snap;
	uint32_t *heap; /* rows whose turn is still to come */
	uint32_t n;
	uint32_t *next;    /* by row: the member whose turn it is */
	uint32_t *begun;   /* by row: jobs of that member that start */
	uint32_t *started; /* by row: jobs that start */
	uint32_t *limited; /* by row: the first member whose array runs as many
	                    * tasks as it may, or SNAP_NONE */
};

struct order *order_new(const struct snap *snap, struct arena *arena);

/* The row whose turn it is stays the first until one of the two is said. */
bool order_first(const struct order *o, uint32_t *ret_row);
void order_started(struct order *o); /* its job starts; the next, please */
void order_drop(struct order *o);    /* none of its jobs can start any more */

/*
 * When all had their turn: how many jobs of its queue wait before the first
 * waiting job of each row, + 1; 0 where none waits.
 */
void order_positions(const struct order *o, uint32_t *ret, struct arena *arena);

/* The member that the verdict of a row speaks of: the first that waits and
 * not only for its own array, or SNAP_NONE when all started. */
uint32_t order_waiting(const struct order *o, uint32_t row);

#endif
