/* told.c - what a plan says about jobs that are not the first of their row */
#include "aischedd/state/pass/told.h"

#include <stdlib.h>

static int by_job(const void *a, const void *b)
{
	const struct turn_told *x = a, *y = b;

	return x->job < y->job ? -1 : x->job > y->job;
}

struct turns_told told_list(const struct snap *snap, const struct plan *plan,
                            struct arena *arena)
{
	struct turns_told told = { 0 };

	told.turn = arena_array(arena, struct turn_told,
	                        plan->npromised + plan->nqueued);
	for (uint32_t i = 0; i < plan->npromised; i++) {
		const struct promised *it = &plan->promised[i];

		told.turn[told.n++] = (struct turn_told){
			.job = snap->member[it->member].job,
			.behind = it->job,
			.expected = it->expected,
			.position = it->position,
		};
	}
	for (uint32_t i = 0; i < plan->nqueued; i++) {
		const struct queued *it = &plan->queued[i];

		told.turn[told.n++] = (struct turn_told){
			.job = snap->member[it->member].job,
			.expected = SNAP_NEVER,
			.position = it->position,
		};
	}
	if (told.n)
		qsort(told.turn, told.n, sizeof(*told.turn), by_job);
	return told;
}

struct verdict told_verdict(const struct turns_told *told, uint64_t job,
                            const struct verdict *row)
{
	const struct turn_told key = { .job = job }, *turn = NULL;
	struct verdict own = *row;

	if (!row->first || row->first == job)
		return own;
	if (told->n)
		turn = bsearch(&key, told->turn, told->n, sizeof(key), by_job);
	own.expected = turn ? turn->expected : SNAP_NEVER;
	own.position = turn ? turn->position : 0;
	/* A row that waits for the reason Priority keeps row->job, the job for
	 * which nodes are kept free. */
	if (turn && turn->behind && row->why != WHY_Priority)
		own.job = turn->behind;
	return own;
}
