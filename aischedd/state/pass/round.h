/*
 * round.h - rounds of passes, each of which continues the previous one
 *
 * A pass of the scheduler that has used up its budget leaves some rows
 * undecided. The next pass follows at once and decides these. Rows for which
 * earlier passes of the round found why they wait are marked in the snapshot;
 * they keep their verdicts and are not tried again. The round is over when
 * every row was decided. If something has changed in the meantime, a new round
 * begins.
 */
#ifndef AISCHEDD_STATE_PASS_ROUND_H
#define AISCHEDD_STATE_PASS_ROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/state/pass/row.h"

struct arena;
struct plan;
struct snap;
struct state;
struct verdict;

/* For a pass that continues a round: the last plan's verdicts on the rows of
 * the pass's snapshot. */
struct judgements {
	/* verdicts of the last plan; NULL: the pass begins a round */
	const struct verdict *was;
	struct planned_rows rows; /* indexes of rows in the last plan */
	/* at[row]: index in was[] of the verdict on this row of the snapshot,
	 * or SNAP_NONE; written when the rows are read */
	uint32_t *at;
	/* number of elements of at[]: one for each row, except rows
	 * of suspended jobs */
	uint32_t n;
};

struct round {
	int64_t budget; /* how many claims a pass may consider */
	bool goes_on;   /* the last pass left rows undecided */
	bool stale;     /* something has changed since the round began */
	/* state->gen and state->nchanges when last compared */
	uint64_t gen, noted;
	/* `was` and `at` of the struct judgements of the running pass; NULL
	 * unless that pass continues a round */
	const struct verdict *was;
	uint32_t *was_at;
	/* memory of was[], taken over by round_holds(); or NULL */
	struct arena *was_arena;
};

void round_init(struct round *round);
void round_fini(struct round *round);

/* Prepare a pass: set the budget in its snapshot. If the pass continues a
 * round, *ret gets the verdicts of the last plan. */
void round_begin(struct state *state, struct snap *snap, struct arena *arena,
                 struct judgements *ret);

/* Write the snapshot's column `judged`, which says what earlier passes of the
 * round have decided about each row; may run on any thread. */
void round_judge(const struct judgements *judgements, struct snap *snap,
                 struct arena *arena);

/* Call it before the last plan is forgotten. last: the arena of that plan. If
 * the pass that is running still reads the plan's verdicts, the round takes
 * over the arena. Returns whether it has. */
bool round_holds(struct round *round, struct arena *last);

/* Replace each verdict that the plan marked as kept by the verdict of the
 * earlier pass; may run on any thread. */
void round_recall(const struct judgements *judgements, struct verdict *verdict,
                  uint32_t n);

/* Forget the verdicts of earlier passes. If the round has taken over their
 * memory, that becomes part of `arena`, which the caller frees. */
void round_let_go(struct round *round, struct arena *arena);

/* Call it after a plan was applied. more: something has changed that needs
 * another pass. Returns whether another pass must follow at once. */
bool round_end(struct state *state, const struct plan *plan, bool more);

#endif
