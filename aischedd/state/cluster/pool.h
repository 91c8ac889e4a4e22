/*
 * pool.h - pools: what their runners say, and which may take a job
 */
#ifndef AISCHEDD_STATE_CLUSTER_POOL_H
#define AISCHEDD_STATE_CLUSTER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/sched/snap.h"
#include "libcommon/limits.h"
#include "libcommon/spec.h"

struct state;

/* What the nodes of a pool have. */
struct pool_sum {
	int64_t total[RES_N];
	int64_t mem_per_cpu; /* MiB, least of them; INT64_MAX: no CPUs */
};

struct pool_table {
	struct pool_sum sum[LIMIT_POOLS];
	uint64_t sum_gen; /* gen + 1 when they were summed */
	bool ready[LIMIT_POOLS];
	char *trouble[LIMIT_POOLS]; /* NULL: there is none */
};

/* Whether the runner of the pool has told all that it has. */
void state_pool_ready(struct state *state, uint32_t pool, bool ready);
bool state_pool_is_ready(const struct state *state, uint32_t pool);

/* Jobs on nodes of the pool that are gone are lost. */
void state_lose_orphans(struct state *state, uint32_t pool, int64_t now);

/* Why the pool's runner cannot go on, for people who ask about its jobs;
 * NULL: nothing holds it up. */
void state_pool_trouble(struct state *state, uint32_t pool, const char *text);

/* --- for this folder ---------------------------------------------------- */

/* The pools that may run such a job in this queue, a bit each. */
uint64_t spec_pools(const struct state *state, const struct spec *spec,
                    uint32_t queue);

/* The sums of each pool; borrowed until nodes change. */
const struct pool_sum *pool_sums(struct state *state);

/* MiB for each CPU of a job that asks for no memory, in any of these pools. */
int64_t state_default_mem(struct state *state, uint64_t pools);

#endif
