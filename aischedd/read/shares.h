/*
 * shares.h - what queues and their users hold, may use and have used
 *
 * There is one row for each queue, and one for each of its users who has or had
 * jobs there. Decayed usage comes from the state, lifetime totals come from the
 * store. Only the first step reads the state, so that all rows show the same
 * moment. As there may be very many users, the rows are joined, summed and
 * sorted in slices.
 */
#ifndef AISCHEDD_READ_SHARES_H
#define AISCHEDD_READ_SHARES_H

#include "aischedd/state/state.h"
#include "aischedd/store/store.h"
#include "libcommon/map.h"

struct share_row {
	uint32_t queue;
	const char *user; /* NULL: the whole queue */
	/* decayed usage; see usage.h for used, part and light */
	int64_t used;
	uint32_t part, light;
	uint64_t running, pending;
	/* only of queues: what running jobs hold */
	int64_t held[RES_N];
	int64_t cpu_ms, gpu_ms, jobs; /* totals of ended jobs */
};

struct shares {
	struct arena *arena;
	uint32_t nqueues; /* number of queues when the listing began */
	const char **name;
	int *parent;
	/* rows of queues; each includes the queues below it */
	struct share_row *queue;
	struct share_row *user;
	size_t nusers, cap;
	/* queue_of: by name; row_of: by queue and user. The values are indices
	 * of queue[] and user[], plus 1. */
	struct map queue_of, row_of;
	/* The user and the queue of the last total that was read; NULL:
	 * none yet. */
	const char *last_user, *last_queue;
	bool has_totals;
	/* Indices of user[], in the end sorted by queue, then by usage. First a
	 * heap is built (ranked: its size so far). Then users are moved, one by
	 * one, from the heap to the place behind it (unsorted: how many are
	 * left in the heap). */
	uint32_t *order;
	size_t ranked, unsorted;
};

void shares_init(struct shares *s, struct state *state, int64_t now);

/* Continue until this number of steps is reached. Returns 1 if there is more to
 * do, 0 if not; fails as store_totals(). */
int shares_step(struct shares *s, struct store *store, uint64_t until_steps,
                struct err *err);
void shares_fini(struct shares *s); /* an all-zero struct is allowed */

#endif
