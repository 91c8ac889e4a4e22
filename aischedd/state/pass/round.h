/*
 * round.h - passes that go on where the one before stopped
 *
 * A pass that spends its budget leaves rows that it has not looked at.  The
 * next pass follows at once and asks for these first: a row that was found to
 * wait is marked so in the snapshot, keeps its verdict, and is not asked again.
 * In the end every row has had its turn, however short a pass is.  The round
 * that begins when this one is over sees what has changed meanwhile.
 */
#ifndef AISCHEDD_STATE_PASS_ROUND_H
#define AISCHEDD_STATE_PASS_ROUND_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct plan;
struct snap;
struct state;
struct verdict;

struct round {
	int64_t budget;      /* of a pass */
	bool goes_on;        /* the last pass did not ask all rows */
	bool stale;          /* something changed since the round began */
	uint64_t gen, noted; /* of the state, when the last pass ended */
	struct verdict *was; /* by row, while the next is planned */
};

void round_init(struct round *round);
void round_fini(struct round *round);

/* Tell the next pass, in its snapshot, what it may cost and what the passes
 * before it in this round said. */
void round_begin(struct state *state, struct snap *snap, struct arena *arena);

/* Put verdicts that still hold in place of those that the plan left out. */
void round_keep(struct state *state, struct verdict *verdict, uint32_t n);

/* The plan was applied; more: there is more to decide.  Returns whether
 * another pass is to follow. */
bool round_end(struct state *state, const struct plan *plan, bool more);

#endif
