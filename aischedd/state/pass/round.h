/*
 * round.h - passes that continue where the last one stopped
 *
 * A pass of the scheduler that has spent its budget leaves rows undecided. The
 * next pass follows at once, and decides these: rows of which earlier passes
 * have said why they wait are marked in the snapshot, keep their verdicts, and
 * are not tried again. When every row has been decided, the round is over, and
 * if something has changed meanwhile, a new round begins.
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

/* For a pass that continues a round: the verdicts of the last plan on the rows
 * of its snapshot. */
struct judgements {
	const struct verdict *was; /* NULL: the pass begins a round */
	struct planned_rows rows;  /* indices of rows in the last plan */
	uint32_t *at; /* for each row of the snapshot: index of its verdict in
	                 was[], or SNAP_NONE; written when rows are read */
	uint32_t n;   /* rows at the beginning of the snapshot, with at[] */
};

struct round {
	int64_t budget;      /* claims per pass */
	bool goes_on;        /* the last pass left rows undecided */
	bool stale;          /* something has changed since the round began */
	uint64_t gen, noted; /* gen and nchanges of the state, last looked at */
	/* While a pass that continues a round runs: `was` and `at` of its
	 * struct judgements, else NULL; and the arena of these verdicts, after
	 * the plan that had them was forgotten. */
	const struct verdict *was;
	uint32_t *was_at;
	struct arena *was_arena;
};

void round_init(struct round *round);
void round_fini(struct round *round);

/* Prepare a pass: set the budget in its snapshot; if the pass continues a
 * round, ret gets the verdicts of the last plan. */
void round_begin(struct state *state, struct snap *snap, struct arena *arena,
                 struct judgements *ret);

/* Write the column `judged` of the snapshot, which says what earlier passes of
 * the round have decided; on any thread. */
void round_judge(const struct judgements *judgements, struct snap *snap,
                 struct arena *arena);

/* Call it before the last plan is forgotten. If the pass that is running reads
 * that plan's verdicts, the round takes over its arena. Returns whether it
 * has. */
bool round_holds(struct round *round, struct arena *last);

/* Replace each verdict that the plan has marked as kept by that of the earlier
 * pass; on any thread. */
void round_recall(const struct judgements *judgements, struct verdict *verdict,
                  uint32_t n);

/* Forget the verdicts of earlier passes; memory that the round has taken over
 * becomes part of `arena`, for the caller to free. */
void round_let_go(struct round *round, struct arena *arena);

/* Call it after a plan was applied. more: something has changed that needs
 * another pass. Returns whether another pass is to follow at once. */
bool round_end(struct state *state, const struct plan *plan, bool more);

#endif
