/*
 * plan.h - what the scheduler decided, as a value
 *
 * One verdict for each pending row, in the order of the rows; starts in the
 * order of decision. Applying the plan is not the core's business: state checks
 * each start against the present and drops stale ones.
 */
#ifndef AISCHEDD_SCHED_PLAN_H
#define AISCHEDD_SCHED_PLAN_H

#include <stdint.h>

#include "aischedd/sched/verdict.h"

/* A waiting job with a promised start of its own, in a row whose verdict is
 * about another job. */
struct promised {
	uint32_t row;
	uint32_t member;   /* index in snap.member */
	uint32_t position; /* position, expected and job as in struct verdict */
	int64_t expected;
	uint64_t job;
};

/* A waiting job without a promised start, other than the job that its row's
 * verdict is about; see order_position.h. */
struct queued {
	uint32_t row, member, position;
};

/* One job starts, or resumes if its row is a suspended job. */
struct start {
	uint32_t row;
	uint32_t member;             /* index in snap.member */
	uint32_t task_first, ntasks; /* slice of the plan's tasks */
	bool backfilled; /* a job ahead of it is promised a start in the same
	                    pool */
};

/* A running job gets more tasks. */
struct grow {
	uint32_t run;
	uint32_t task_first, ntasks; /* slice of the plan's tasks */
};

/* Why a job was evicted. */
#define EVICTS(X)                   \
	X(NONE, none)               \
	X(PREEMPT, preempt)         \
	X(RECLAIM, reclaim)         \
	X(CONSOLIDATE, consolidate) \
	X(NODE_DOWN, node_down)

enum evict {
#define X(sym, name) EVICT_##sym,
	EVICTS(X)
#undef X
};

/* A running job loses tasks: all of them, or only tasks above its minimum. */
struct eviction {
	uint32_t run;
	/* slice of loss: indices of tasks in the run, from 0; if it lists all,
	 * the job is evicted */
	uint32_t loss_first, nlosses;
	uint8_t why;  /* enum evict */
	bool suspend; /* suspend the job: only its CPUs are needed */
	uint64_t by;  /* the job for which the tasks are evicted */
};

/*
 * Nodes held until evicted jobs have ended there. The plan lists all claims in
 * force: a claim of an earlier plan is void if the new plan does not list it.
 */
struct plan_claim {
	uint32_t row, member; /* the waiting job; row SNAP_NONE: the claim is of
	                         `run` */
	uint32_t run; /* a run that grows, or that is evicted by this plan and
	                 starts again here */
	uint32_t node_first, n; /* slice of claim_node, one for each task */
};

struct plan {
	uint64_t gen; /* generation of the snapshot */
	/* All promised starts, for the next snapshot, in the order in which the
	 * jobs had their turns. */
	uint32_t npromises;
	const struct snap_promise *promise;
	const uint32_t *promise_node;
	const uint32_t *starts_before; /* by promise: how many of the starts
	                                  were decided before it */
	/* Nodes to ask for now, so that they are there when they are needed, in
	 * ascending order; see future/coming.h. */
	uint32_t nasked;
	const uint32_t *asked;
	uint32_t nverdicts, npromised, nqueued;
	uint32_t nstarts, ngrows, nevictions, nclaims;
	const struct verdict *verdict;
	const struct promised *promised;
	const struct queued *queued;
	/* by queue: its fair share; CONF_NONE: the queue has no quota for this
	 * resource */
	const int64_t (*share)[RES_N];
	const struct start *start;
	const struct grow *grow;
	const struct eviction *eviction;
	const uint32_t *loss;
	const struct plan_claim *claim;
	const uint32_t *claim_node;
	bool partial; /* the budget was spent: plan again at once, with these
	                 verdicts in snap.pend.judged */
	bool again;   /* plan again at once: a waiting job may evict jobs that
	                 this plan starts */
	int64_t wake; /* plan again at this time even if nothing changed, or
	                 SNAP_NEVER */
	/* one entry more than there are tasks: its cpu_first is the end of
	 * cpu_use */
	const struct snap_task *task;
	const struct snap_cpu_use *cpu_use;
	const uint64_t *held; /* by task: its pieces, as in the snapshot */
};

/*
 * Make a plan. Pure: the same snapshot gives the same plan on every machine.
 * The plan lives in the arena and refers to nothing else.
 */
const struct plan *sched_plan(const struct snap *snap, struct arena *arena);

/*
 * Check that the row's first job would fit if nothing ran; if not, its
 * submission is refused. Fails with EINVAL and says what would fit at most.
 */
int sched_could_fit(const struct snap *snap, uint32_t row, struct err *err);

#endif
