/*
 * round.c - passes that go on where the one before stopped
 *
 * A pass that spends its budget leaves rows that it has not looked at.  The
 * next one follows at once and asks for these first: whoever was found to wait
 * is told so in the snapshot, keeps what was said of him, and is not asked
 * again.  So all have had their turn in the end, however short a pass is.
 * What has changed meanwhile is seen by the round that begins when this one is
 * over.
 */
#include "aischedd/state/round.h"

#include <stdlib.h>

#include "aischedd/state/row.h"
#include "aischedd/state/state_priv.h"

/* Claims, answered in some tenths of a second. */
enum { BUDGET = 100000 };

void round_init(struct round *r)
{
	*r = (struct round){ .budget = BUDGET };
}

void round_fini(struct round *r)
{
	free(r->was);
}

static enum judged judged(const struct verdict *v)
{
	if (v->expected != SNAP_NEVER)
		return JUDGED_PROMISED;
	switch (v->why) {
	case WHY_None:
	case WHY_Unevaluated:
	case WHY_Preempting:
		return JUDGED_NO;
	case WHY_Resources:
	case WHY_Fragmentation:
	case WHY_GangPartial:
	case WHY_Topology:
	case WHY_NumaAlignment:
	case WHY_Priority:
	case WHY_QueueLimit:
	case WHY_QueueQuota:
	case WHY_QueueMaxJobs:
	case WHY_UserLimit:
	case WHY_Licenses:
		return JUDGED_BLOCKED;
	default:
		return JUDGED_WAITS;
	}
}

/* What the last plan said, by row of this snapshot. */
static const uint8_t *recall(struct state *state, const struct snap *snap,
                             struct arena *arena)
{
	uint8_t *ret = arena_array(arena, uint8_t, snap->pend.n + 1);

	state->round.was = xcalloc(state->rows.n + 1, sizeof(struct verdict));
	for (size_t i = 0; i < state->rows.n; i++) {
		const struct row *row = state->rows.row[i];

		if (row->planned != state->last_plan.serial)
			continue;
		state->round.was[i] = state->last_plan.verdict[row->verdict];
		ret[i] = (uint8_t)judged(&state->round.was[i]);
	}
	/* Those that are to go on come last: they are asked each time. */
	for (size_t i = state->rows.n; i < snap->pend.n; i++)
		ret[i] = JUDGED_PROMISED;
	return ret;
}

void round_begin(struct state *state, struct snap *snap, struct arena *arena)
{
	struct round *r = &state->round;

	r->goes_on &= state->last_plan.verdict && r->gen == state->gen;
	r->stale = r->goes_on && (r->stale || r->noted != state->nchanges);
	r->noted = state->nchanges;
	snap->policy.budget = r->budget;
	if (r->goes_on)
		snap->pend.judged = recall(state, snap, arena);
}

void round_keep(struct state *state, struct verdict *verdict, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t position = verdict[i].position;

		if (!verdict[i].kept)
			continue;
		verdict[i] = state->round.was[i];
		verdict[i].position = position;
		verdict[i].started = 0;
	}
	free(state->round.was);
	state->round.was = NULL;
}

bool round_end(struct state *state, const struct plan *plan, bool more)
{
	struct round *r = &state->round;
	bool went_on = r->goes_on;

	r->goes_on = plan->partial && plan->gen == state->gen;
	r->gen = state->gen;
	r->stale |= more;
	r->noted = state->nchanges; /* what the plan itself did is known */
	return more || r->goes_on || (went_on && r->stale);
}
