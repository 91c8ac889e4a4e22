/*
 * apply.h - a plan becomes the state
 */
#ifndef AISCHEDD_STATE_APPLY_H
#define AISCHEDD_STATE_APPLY_H

#include <stdint.h>

#include "aischedd/sched/snap.h"

struct arena;
struct plan;
struct state;
struct verdict;

/* What a plan said of one job rather than of its row: when it starts, and
 * behind which other job. */
struct turn_told {
	uint64_t job, behind;
	int64_t expected;
	uint32_t position;
};

/* What is kept of the last plan: the verdicts, and a snapshot without jobs
 * that has the names of which they speak. */
struct last_plan {
	struct arena *arena;
	const struct snap *names;
	const struct verdict *verdict;
	struct turn_told *told; /* by job; others of rows with a verdict */
	uint32_t ntold;
	const int64_t (*share)[RES_N]; /* by queue, or NULL */
	int64_t capacity[RES_N];
	uint64_t serial;
	int64_t wake; /* it wants another plan then, or NO_TIME */
};

/*
 * Check each start against the present and apply it; keep the verdicts.  If
 * nodes or limits have changed since the snapshot, no start is applied.  Takes
 * the arena that holds snapshot and plan: it lives until the next plan.
 */
void state_apply_plan(struct state *state, const struct snap *snap,
                      const struct plan *plan, struct arena **arena,
                      int64_t now);

/* Drop what is kept of the last plan. */
void state_forget_plan(struct state *state);

#endif
