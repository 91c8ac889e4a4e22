/*
 * apply.h - apply a plan to the state
 */
#ifndef AISCHEDD_STATE_PASS_APPLY_H
#define AISCHEDD_STATE_PASS_APPLY_H

#include <stdint.h>

#include "aischedd/sched/snap.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/told.h"

struct arena;
struct build;
struct queue_found;
struct state;

/* The parts of the last plan that are kept, to say why jobs wait and for the
 * next pass. */
struct last_plan {
	struct arena *arena;
	const struct snap *names;      /* without jobs: for names in verdicts */
	const struct verdict *verdict; /* by row */
	struct planned_rows rows;
	struct turns_told told;
	struct snap_promise *promise; /* sorted by job */
	uint32_t npromises, *promise_node;
	const int64_t (*share)[RES_N]; /* by queue, or NULL */
	int64_t capacity[RES_N];
	uint64_t serial;
	int64_t wake; /* when another plan is needed at the latest; NO_TIME */
};

/*
 * Apply those decisions of a plan that are still possible; keep the verdicts.
 * If nodes, queues or limits have changed since the snapshot was taken, apply
 * nothing. Takes over the arena of snapshot and plan, and frees it.
 */
void state_apply_plan(struct state *state, const struct snap *snap,
                      const struct plan *plan, struct arena **arena,
                      int64_t now);

/*
 * The same in two steps, so that a million rows do not hold up the loop:
 * snapshot_read_plan() reads the plan, on any thread, before
 * state_end_snapshot(). state_use_plan() applies it. Then the caller frees the
 * arena, which also has what was kept of the plan before.
 */
const struct queue_found *snapshot_read_plan(const struct build *taken,
                                             const struct plan *plan,
                                             struct arena *arena);
void state_use_plan(struct state *state, const struct snap *snap,
                    const struct plan *plan, const struct queue_found *found,
                    struct arena *arena, int64_t now);

/* Free what is kept of the last plan. */
void state_forget_plan(struct state *state);

#endif
