/*
 * pass.h - one pass of the scheduler, while it goes on
 *
 * Shared by plan.c, which takes the claims in their order, serve.c, which
 * answers one, claim.c, which settles claims of earlier plans first, and
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

/* Limits of a row: only this many of its jobs start, as `by` would evict the
 * others (0: any number start); rehearse.h. */
struct vain {
	uint32_t most;
	uint64_t by;
};

struct pass {
	const struct snap *snap;
	struct arena *arena;
	const struct tally *tally;
	struct row_order *order;
	struct order_queues *queues;
	struct place *place;
	struct promises *promises;
	struct fit_empty *empty;
	struct evictor *evict;   /* made when a claimant first needs room */
	struct verdict *verdict; /* by row */
	/* by row: 1 if checked whether it could ever start */
	uint8_t *looked_at;
	uint32_t *failed; /* by request: a row for which it failed */
	uint8_t
	    *promised_in; /* by pool: 1 if a job is promised a start there */
	uint8_t *settled; /* by run: 1 if it grows or resumes: not to be evicted
	                     in this pass */
	uint32_t *more; /* by run: index in more_node, + 1, of the last node by
	                   which it grows; 0: none */
	uint32_t owner; /* index of the start, + 1, whose tasks place->own
	                   counts between its trials; 0: none */
	int64_t capacity[RES_N]; /* of all nodes that are not down */
	int64_t wake;
	/* starts on claims of earlier plans, which come first */
	const struct vain *vain; /* by row, or NULL */
	bool held_back; /* a row did not start because of another one */
	size_t nsettled;
	int64_t spent; /* part of the budget used up */

	/* The decisions. */
	struct arena_list start, grow, eviction, loss, claim, claim_node;
	struct arena_list promised, queued;
	struct arena_list more_node; /* struct more of all runs */
	struct arena_list extra;     /* struct extra of all starts */
	struct arena_list due;       /* admit.h */
};

/* A node by which a run grows. */
struct more {
	struct snap_task task; /* of a claim only its node */
	uint32_t next;         /* of the same run, + 1; 0: none */
};

/* A task that an elastic job gets beyond those with which it starts. */
struct extra {
	uint32_t task; /* in place->task */
	uint32_t next; /* of the same start, + 1; 0: none */
};

struct pass *pass_new(const struct snap *snap, struct arena *arena);

/* Plan again at this time at the latest. */
void pass_wake(struct pass *p, int64_t at);

/* Make the trial in p->place the start of the row's next job, more tasks of a
 * run, or one more task of a job that starts; charge the claimant. */
void pass_start(struct pass *p, uint32_t row);
void pass_grow(struct pass *p, uint32_t run);
void pass_extra(struct pass *p, struct order_elastic *e);

/* Try to place one more task of a start. */
bool pass_try_extra(struct pass *p, struct order_elastic *e);

/* Called before any other trial: forget the tasks of the start that the last
 * trial was for, unless this one is for it, too. */
void pass_disown(struct pass *p, const struct order_elastic *but);

/* Make the tasks of each start adjacent. */
void pass_lay_out(struct pass *p);

/* Count the tasks of a run, with those that it gets by this plan, as tasks of
 * the job being placed (place->own), or no longer. */
void pass_own(struct pass *p, uint32_t run, bool own);

/* Add a claim of the row's next job, or (row SNAP_NONE) of a run; its nodes
 * follow, one a task. */
void pass_claim(struct pass *p, uint32_t row, uint32_t run);
void pass_claim_node(struct pass *p, uint32_t node);

#endif
