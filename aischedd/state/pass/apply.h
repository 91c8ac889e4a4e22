/*
 * apply.h - apply a plan to the state
 *
 * To start 64,000 jobs at once would hold up the loop. The daemon applies a
 * plan in parts, each in a turn of its own; what a part has changed is stored
 * and told before the next. Requests and reports between two parts may change
 * anything: each start is checked against the present. No snapshot may be taken
 * for another plan meanwhile.
 */
#ifndef AISCHEDD_STATE_PASS_APPLY_H
#define AISCHEDD_STATE_PASS_APPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/sched/snap.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/told.h"

struct apply;
struct arena;
struct build;
struct queue_found;
struct state;

/* How many jobs the daemon starts in one turn; applying these takes some ms. */
enum { APPLY_STARTS = 1000 };

/* The parts of the last plan that are kept: they say why jobs wait, and the
 * next pass uses them. */
struct last_plan {
	struct arena *arena;
	/* snapshot without jobs, for the names that verdicts refer to */
	const struct snap *names;
	const struct verdict *verdict; /* one for each row */
	struct planned_rows rows;
	struct turns_told told;
	struct snap_promise *promise; /* promised starts, sorted by job */
	uint32_t npromises, *promise_node;
	const int64_t (*share)[RES_N]; /* fair share of each queue, or NULL */
	int64_t capacity[RES_N];
	uint64_t serial;
	int64_t wake; /* latest time for another plan; NO_TIME: none */
};

/*
 * Apply those decisions of a plan that are still possible, and keep its
 * verdicts. If nodes, queues or limits have changed since the snapshot was
 * taken, no decision is applied. Takes over and frees *arena, which has the
 * snapshot and the plan.
 */
void state_apply_plan(struct state *state, const struct snap *snap,
                      const struct plan *plan, struct arena **arena,
                      int64_t now);

/*
 * state_apply_plan() in steps, so that a million rows and starts do not hold up
 * the loop. snapshot_read_plan() reads the plan, on any thread, and must be
 * called before state_end_snapshot(). apply_begin() keeps the verdicts. It also
 * moves the memory that was kept for the previous plan into `arena`, which the
 * caller frees after apply_free(). Each apply_part() applies the next starts,
 * at most `starts`. It returns true if that was the last part: then it has also
 * applied everything else, and asked for another plan if one is needed. If
 * nodes, queues or limits have changed since the snapshot was taken, the rest
 * of the plan is dropped. apply_free() may be called early.
 */
const struct queue_found *snapshot_read_plan(const struct build *taken,
                                             const struct plan *plan,
                                             struct arena *arena);
struct apply *apply_begin(struct state *state, const struct snap *snap,
                          const struct plan *plan,
                          const struct queue_found *found, struct arena *arena);
bool apply_part(struct apply *apply, uint32_t starts, int64_t now);
void apply_free(struct apply *apply); /* NULL is allowed */

/*
 * Withdraw the request for a plan if the plan would be empty, because no job
 * waits, resumes, holds a claim, or may get more tasks, and no nodes can be
 * given back. Returns whether the request was withdrawn. Only the simulator may
 * call this function, because it also forgets the last plan, whose shares of
 * queues the daemon shows to users.
 */
bool state_skip_plan(struct state *state);

/* Free everything that is kept of the last plan. */
void state_forget_plan(struct state *state);

#endif
