/*
 * round.h - passes that continue where the last one stopped
 *
 * A pass that spends its budget leaves rows without a turn. The next pass
 * follows at once and serves these first: a row that is known to wait is marked
 * in the snapshot, keeps its verdict, and is not tried again. In the end every
 * row has had its turn, however short passes are. The next round sees what has
 * changed meanwhile.
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

/* The last verdicts on the first n rows of a snapshot. */
struct judgements {
	const struct verdict *was; /* NULL: the round begins with this pass */
	struct planned_rows rows;  /* which row each is about */
	uint32_t *at; /* by row: the index of its verdict, or SNAP_NONE; written
	                 when the rows are read */
	uint32_t n;
};

struct round {
	int64_t budget;      /* claims per pass */
	bool goes_on;        /* the last pass left rows without a turn */
	bool stale;          /* something changed since the round began */
	uint64_t gen, noted; /* of the state after the last pass */
	/* While a pass runs: the last verdicts, or NULL; by row, the index of
	 * its verdict among them, or UINT32_MAX; and the arena that holds them
	 * once another plan is in force. */
	const struct verdict *was;
	uint32_t *was_at;
	struct arena *was_arena;
};

void round_init(struct round *round);
void round_fini(struct round *round);

/* Put the budget of the next pass into its snapshot, and note what earlier
 * passes of the round decided. */
void round_begin(struct state *state, struct snap *snap, struct arena *arena,
                 struct judgements *ret);

/* Write the column `judged`, on any thread. */
void round_judge(const struct judgements *judgements, struct snap *snap,
                 struct arena *arena);

/* The last plan is about to be forgotten: take its arena if the pass under way
 * reads its verdicts. Returns whether it was taken. */
bool round_holds(struct round *round, struct arena *last);

/* Put the verdict of an earlier pass in place of each verdict that the plan
 * only keeps; on any thread. */
void round_recall(const struct judgements *judgements, struct verdict *verdict,
                  uint32_t n);

/* The verdicts of earlier passes are no longer needed: their arena becomes part
 * of `arena`. */
void round_let_go(struct round *round, struct arena *arena);

/* Call it after the plan was applied; more: there is more to decide. Returns
 * whether another pass is to follow. */
bool round_end(struct state *state, const struct plan *plan, bool more);

#endif
