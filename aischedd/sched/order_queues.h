/*
 * order_queues.h - which queue is served next
 *
 * From the root down, the child that is furthest below its fair share is
 * served. For each resource for which a child has a quota, its use is divided
 * by its share; the child whose largest ratio is the least is served. A queue
 * whose next claim would take it above its share comes last, unless that claim
 * has waited too long. Ties go, in this order, to the queue
 *  - with the higher priority;
 *  - whose next job has waited too long;
 *  - whose largest ratio after its next claim is the least (a quota above the
 *    share counts instead of the share);
 *  - whose next claim goes first (order_compare()).
 *
 * Instead of shares, a queue without any quota has its limits or, without
 * these, the whole cluster. Shares are computed once; use changes with each job
 * that the pass places.
 */
#ifndef AISCHEDD_SCHED_ORDER_QUEUES_H
#define AISCHEDD_SCHED_ORDER_QUEUES_H

#include <stdbool.h>

#include "aischedd/sched/fit_empty.h"
#include "aischedd/sched/order.h"

struct order_queues {
	const struct snap *snap;
	const struct work *work;
	const struct row_order *order;
	const int64_t *capacity;
	int64_t (*ask)[RES_N];   /* by queue: the demand of it and all queues
	                            below it */
	int64_t (*share)[RES_N]; /* by queue: its fair share; CONF_NONE: the
	                            queue has no quota for this resource */
	struct ratio {
		int64_t use, share; /* share 0: the ratio is above all others */
	} * far, *next; /* by queue, use to share; far: now; next: after its
	                   next claim */
	/* kid_first: by queue, the start of its heap of kids in `kid`; the
	 * heap of the root comes last */
	uint32_t *kid_first, *kid;
	uint32_t *nkids; /* by queue: kids that still have a claim */
	uint32_t *at;    /* by queue: its index in its parent's heap */
};

/* Make the queues of a pass, and compute their fair shares from the
 * demand of running and waiting jobs. capacity: the resources of all
 * nodes that are not down. */
struct order_queues *order_queues_new(const struct tally *tally,
                                      const struct work *work,
                                      const struct row_order *order,
                                      struct fit_empty *empty,
                                      const int64_t capacity[RES_N],
                                      struct arena *arena);

/* Set *ret_queue to the leaf whose next claim is to be served. Returns false if
 * there is none. */
bool order_queues_first(const struct order_queues *t, uint32_t *ret_queue);

/* Update the order after the use of a leaf, or its next claim, has changed. */
void order_queues_update(struct order_queues *t, uint32_t queue);

#endif
