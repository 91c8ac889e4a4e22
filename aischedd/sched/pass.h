/*
 * pass.h - one pass of the scheduler, while it goes on
 *
 * Shared by plan.c (takes the claims in their order), serve.c (answers one
 * claim), claim.c (settles the claims of earlier plans first) and evict.c
 * (evicts jobs to make room).
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

/* How many jobs of a row may start in a pass, because the job `by` would evict
 * all further ones in the next pass (rehearse.h). by 0: any number may start.
 */
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
	/* NULL until jobs are first to be evicted for a claimant */
	struct evictor *evict;
	struct verdict *verdict; /* by row */
	/* by row: 1 if it was checked that its jobs could ever start */
	uint8_t *looked_at;
	uint32_t *failed; /* by request: a row whose job could not be placed, or
	                     SNAP_NONE */
	uint8_t
	    *promised_in; /* by pool: 1 if a job is promised a start there */
	uint8_t *settled; /* by run: 1 if it grows, resumes or has a claim, so
	                     this pass may not evict it */
	uint32_t *more; /* by run: its last entry in more_node, as index + 1; 0:
	                   none */
	uint32_t owner; /* the start whose tasks are counted in place->own from
	                   one trial to the next, as index + 1; 0: none */
	int64_t capacity[RES_N]; /* the resources of all nodes that are not
	                            down */
	int64_t wake;
	const struct vain *vain; /* by row: starts to leave out; NULL: none */
	/* a row was kept from starting because of struct vain */
	bool held_back;
	/* number of starts on claims of earlier plans; they are the first in
	 * `start` */
	size_t nsettled;
	int64_t spent; /* how much of the budget is used up */

	/* The decisions. */
	struct arena_list start, grow, eviction, loss, claim, claim_node;
	struct arena_list promised, queued;
	/* uint32_t, by promise: how many starts were decided before it */
	struct arena_list starts_before;
	struct arena_list more_node; /* struct more of all runs */
	struct arena_list extra;     /* struct extra of all starts */
	struct arena_list due;       /* limits kept for overdue jobs, see
	                                admit.h */
};

/* A node on which a run grows, or which a claim of the run holds. */
struct more {
	struct snap_task task; /* for a claim only the node is set */
	uint32_t next;         /* next entry of the same run, index in more_node
	                          + 1; 0: none */
};

/* A task that an elastic job gets beyond those with which it starts. */
struct extra {
	uint32_t task; /* index in place->task */
	uint32_t next; /* the task that the start got before this one, as index
	                  in pass.extra + 1; 0: none */
};

struct pass *pass_new(const struct snap *snap, struct arena *arena);

/* Make the next plan at this time at the latest. */
void pass_wake(struct pass *p, int64_t at);

/* Add the trial in p->place to the plan: as the start of the row's next job, as
 * more tasks of a run, or as one more task of a job that starts. Charge the
 * job's queue. */
void pass_start(struct pass *p, uint32_t row);
void pass_grow(struct pass *p, uint32_t run);
void pass_extra(struct pass *p, struct order_elastic *e);

/* Try to place one more task of a start. */
bool pass_try_extra(struct pass *p, struct order_elastic *e);

/* Called before a trial. If the tasks of a start (p->owner) are still counted
 * as tasks of the job being placed, stop counting them, unless the trial is for
 * the same start (`but`). */
void pass_disown(struct pass *p, const struct order_elastic *but);

/* Reorder p->place->task so that the tasks of each start are adjacent. */
void pass_lay_out(struct pass *p);

/* Count the tasks of a run, and those that it gets by this plan, as tasks of
 * the job being placed (place->own) or, if `own` is false, stop counting
 * them. Returns on how many nodes they are, if `own` is true. */
uint32_t pass_own(struct pass *p, uint32_t run, bool own);
/* Returns what a run gets next that has fewer tasks than it asks for: one task,
 * or all that are to be together on a node in place of a lost one; or none. */
struct place_growth pass_growth(struct pass *p, uint32_t run);

/* pass_claim() adds a claim of the row's next job, or (row SNAP_NONE) of a run;
 * pass_claim_node() adds a node to it, one for each task. */
void pass_claim(struct pass *p, uint32_t row, uint32_t run);
void pass_claim_node(struct pass *p, uint32_t node);

#endif
