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

struct arena;
struct plan;
struct snap;
struct state;
struct verdict;

struct round {
	int64_t budget;      /* claims per pass */
	bool goes_on;        /* the last pass left rows without a turn */
	bool stale;          /* something changed since the round began */
	uint64_t gen, noted; /* of the state after the last pass */
	struct verdict *was; /* by row: the last verdicts, while a pass runs */
};

void round_init(struct round *round);
void round_fini(struct round *round);

/* Put into the snapshot of the next pass its budget, and what earlier passes of
 * the round decided. */
void round_begin(struct state *state, struct snap *snap, struct arena *arena);

/* Replace kept verdicts by the earlier ones that they stand for. */
void round_keep(struct state *state, struct verdict *verdict, uint32_t n);

/* Call it after the plan was applied; more: there is more to decide. Returns
 * whether another pass is to follow. */
bool round_end(struct state *state, const struct plan *plan, bool more);

#endif
