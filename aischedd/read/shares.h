/*
 * shares.h - what queues and their users hold, may use and have used
 *
 * One row for each queue, and one for each of its users who has or had jobs
 * there. The decayed usage comes from the state, lifetime totals from the
 * store. There may be very many users: after the first step, which sees the
 * state as it is then, the rows are joined, summed and sorted in slices.
 */
#ifndef AISCHEDD_READ_SHARES_H
#define AISCHEDD_READ_SHARES_H

#include "aischedd/state/state.h"
#include "aischedd/store/store.h"
#include "libcommon/map.h"

struct share_row {
	uint32_t queue;
	const char *user; /* NULL: the whole queue */
	int64_t used;     /* see usage.h; likewise part and light */
	uint32_t part, light;
	uint64_t running, pending;
	int64_t held[RES_N];          /* of queues: held by running jobs */
	int64_t cpu_ms, gpu_ms, jobs; /* of ended jobs */
};

struct shares {
	struct arena *arena;
	uint32_t nqueues; /* as the configuration was at the beginning */
	const char **name;
	int *parent;
	struct share_row *queue; /* each with those below it */
	struct share_row *user;
	size_t nusers, cap;
	struct map queue_of, row_of; /* name; queue and user: index + 1 */
	/* Owner of the last total that was read; NULL: none yet. */
	const char *last_user, *last_queue;
	bool has_totals;
	/* Users in order of queues, then of usage, when all is done. Those
	 * before `ranked` are a heap until `unsorted` counts down to 1. */
	uint32_t *order;
	size_t ranked, unsorted;
};

void shares_init(struct shares *s, struct state *state, int64_t now);

/* Go on until this number of steps is reached. Returns 1 if there is more to
 * do, 0 if not; fails as store_totals(). */
int shares_step(struct shares *s, struct store *store, uint64_t until_steps,
                struct err *err);
void shares_fini(struct shares *s); /* all zero is allowed */

#endif
