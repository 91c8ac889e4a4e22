/*
 * shares.h - what queues and users hold, may use and have used
 *
 * One row for each queue, and one for each of its users who has or had jobs
 * there. The decayed usage comes from the state, lifetime totals from the
 * store.
 */
#ifndef AISCHEDD_READ_SHARES_H
#define AISCHEDD_READ_SHARES_H

#include "aischedd/state/state.h"
#include "aischedd/store/store.h"

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
	const struct state *state;
	struct arena *arena;
	struct share_row *queue; /* by queue, each with those below it */
	struct share_row *user;  /* in order of queues, then of usage */
	size_t nusers, cap;
};

/* Fails as store_totals(). */
int shares_init(struct shares *s, struct state *state, struct store *store,
                int64_t now, struct err *err);
void shares_fini(struct shares *s);

#endif
