/*
 * pass.h - one pass of the scheduler, while it goes on
 *
 * Shared by plan.c, which takes the claims in their order, serve.c, which
 * answers one, claim.c, which first sees to those that were made before, and
 * evict.c, which makes room.
 */
#ifndef AISCHEDD_SCHED_PASS_H
#define AISCHEDD_SCHED_PASS_H

#include "aischedd/sched/admit.h"
#include "aischedd/sched/fit_empty.h"
#include "aischedd/sched/order.h"
#include "aischedd/sched/order_queues.h"
#include "aischedd/sched/place.h"
#include "aischedd/sched/plan.h"
#include "aischedd/sched/promise.h"

struct pass {
	const struct snap *snap;
	struct arena *arena;
	const struct tally *tally;
	struct row_order *order;
	struct order_queues *queues;
	struct place *place;
	struct promises *promises;
	struct fit_empty *empty;
	struct evictor *evict;   /* once somebody needs room */
	struct verdict *verdict; /* by row */
	uint8_t *looked_at;      /* by row: whether it could ever start */
	uint32_t *failed;        /* by request: a row for which it failed */
	uint8_t *settled;        /* by run: it gets more, so it loses nothing */
	uint32_t *more;          /* by run: the last node by which it grows:
	                          * in more_node, + 1; 0: none */
	int64_t capacity[RES_N]; /* of all nodes that are not down */
	int64_t wake;
	size_t nsettled; /* starts on claims of earlier plans */
	int64_t spent;   /* of the budget */

	/* What is decided. */
	struct arena_list start, grow, eviction, loss, claim, claim_node;
	struct arena_list promised, queued;
	struct arena_list more_node; /* struct more, of all runs */
	struct arena_list due;       /* admit.h */
};

/* A node by which a run grows. */
struct more {
	uint32_t node;
	uint32_t next; /* of the same run, + 1; 0: none */
};

struct pass *pass_new(const struct snap *snap, struct arena *arena);

/* Something is decided at this time at the latest. */
void pass_wake(struct pass *p, int64_t at);

/* The trial in p->place becomes a start of the row's next job, or more tasks
 * of a run; the claimant is charged. */
void pass_start(struct pass *p, uint32_t row);
void pass_grow(struct pass *p, uint32_t run);

/* The tasks that a run has, and gets by this plan, count as those of the job
 * that is placed (place->own), or no more. */
void pass_own(struct pass *p, uint32_t run, bool own);

/* Nodes are held: for the row's next job, or (row SNAP_NONE) for a run; the
 * nodes follow, one a task. */
void pass_claim(struct pass *p, uint32_t row, uint32_t run);
void pass_claim_node(struct pass *p, uint32_t node);

#endif
