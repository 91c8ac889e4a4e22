/* round.c - passes that continue where the last one stopped */
#include "aischedd/state/pass/round.h"

#include <stdlib.h>

#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"

/* Claims per pass; they take some tenths of a second. */
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
	switch (reason_kind(v->why)) {
	case REASON_ENDED:
	case REASON_UNASKED:
		return JUDGED_NO;
	case REASON_ROOM:
	case REASON_PLACE:
	case REASON_DOMAIN:
	case REASON_TURN:
	case REASON_LIMIT:
		return JUDGED_BLOCKED;
	case REASON_DOWN:
	case REASON_OWN:
	case REASON_NEVER:
		return JUDGED_WAITS;
	}
	abort();
}

/* Recall the last verdicts, by row of this snapshot. */
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
	/* Suspended jobs that are to resume come last: each pass plans them. */
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
		uint64_t first = verdict[i].first;

		if (!verdict[i].kept)
			continue;
		verdict[i] = state->round.was[i];
		verdict[i].position = position;
		verdict[i].first = first;
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
	r->noted =
	    state
		->nchanges; /* changes made by applying the plan do not count */
	return more || r->goes_on || (went_on && r->stale);
}
