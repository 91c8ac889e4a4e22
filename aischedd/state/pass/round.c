/* round.c - rounds of passes, each of which continues the previous one */
#include "aischedd/state/pass/round.h"

#include <stdlib.h>

#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"

/* How many claims a pass may consider; that takes some tenths of a second. */
enum { BUDGET = 100000 };

void round_init(struct round *r)
{
	*r = (struct round){ .budget = BUDGET };
}

/* Forget the verdicts of earlier passes, and free their arena. */
static void let_go(struct round *r)
{
	arena_free(r->was_arena);
	r->was = NULL;
	r->was_at = NULL;
	r->was_arena = NULL;
}

void round_fini(struct round *r)
{
	let_go(r);
}

bool round_holds(struct round *r, struct arena *last)
{
	if (!r->was || r->was_arena)
		return false;
	r->was_arena = last;
	return true;
}

static enum judged judged(const struct verdict *v)
{
	if (v->expected != SNAP_NEVER)
		return JUDGED_PROMISED;
	if (v->judged != JUDGED_NO)
		return (enum judged)v->judged;
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

/* Set *ret to the verdicts of the last plan, for a pass that continues
 * a round. */
static void recall(struct state *state, struct arena *arena,
                   struct judgements *ret)
{
	const struct last_plan *last = &state->last_plan;
	struct round *r = &state->round;
	size_t n = state->rows.all.n;

	*ret = (struct judgements){
		.was = last->verdict,
		.at = arena_array_raw(arena, uint32_t, n + 1),
		.n = (uint32_t)n,
	};
	if (state->rows.taken.serial == last->serial)
		ret->rows = last->rows;
	r->was = ret->was;
	r->was_at = ret->at;
}

void round_begin(struct state *state, struct snap *snap, struct arena *arena,
                 struct judgements *ret)
{
	struct round *r = &state->round;

	let_go(r); /* the last pass may have been abandoned */
	r->goes_on &= state->last_plan.verdict && r->gen == state->gen;
	r->stale = r->goes_on && (r->stale || r->noted != state->nchanges);
	r->noted = state->nchanges;
	snap->policy.budget = r->budget;
	if (r->goes_on)
		recall(state, arena, ret);
}

void round_judge(const struct judgements *j, struct snap *snap,
                 struct arena *arena)
{
	uint8_t *to = arena_array(arena, uint8_t, snap->pend.n + 1);

	snap->pend.judged = to;
	if (!j->was)
		return;
	for (uint32_t i = 0; i < j->n; i++)
		if (j->at[i] != SNAP_NONE)
			to[i] = (uint8_t)judged(&j->was[j->at[i]]);
	/* The rows from index n on are suspended jobs that are to resume. Treat
	 * them as promised, so that each pass plans them. */
	for (uint32_t i = j->n; i < snap->pend.n; i++)
		to[i] = JUDGED_PROMISED;
}

void round_recall(const struct judgements *j, struct verdict *verdict,
                  uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t position = verdict[i].position;
		uint64_t first = verdict[i].first;

		if (!verdict[i].kept)
			continue;
		verdict[i] = j->was[j->at[i]];
		verdict[i].position = position;
		verdict[i].first = first;
		verdict[i].started = 0;
	}
}

void round_let_go(struct round *r, struct arena *arena)
{
	arena_join(arena, r->was_arena);
	r->was_arena = NULL;
	let_go(r);
}

bool round_end(struct state *state, const struct plan *plan, bool more)
{
	struct round *r = &state->round;
	bool went_on = r->goes_on;

	r->goes_on = plan->partial && plan->gen == state->gen;
	r->gen = state->gen;
	r->stale |= more;
	r->noted = state->nchanges; /* the plan's own changes do not count */
	return more || r->goes_on || (went_on && r->stale);
}
