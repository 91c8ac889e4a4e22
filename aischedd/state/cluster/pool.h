/*
 * pool.h - pools: reports of their runners, and which may take a job
 */
#ifndef AISCHEDD_STATE_CLUSTER_POOL_H
#define AISCHEDD_STATE_CLUSTER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/sched/snap.h"
#include "libcommon/limits.h"
#include "libcommon/spec/spec.h"

struct err;
struct node;
struct state;

/* Sums over the nodes of a pool. */
struct pool_sum {
	int64_t total[RES_N];
	/* MiB on the node with the least; INT64_MAX: no CPUs */
	int64_t mem_per_cpu;
};

/* How the nodes of a pool give GPUs: numbers of nodes. */
enum node_gives {
	GIVES_NONE,    /* the node has no GPUs, or is gone */
	GIVES_COUNTED, /* the kubelet chooses which GPUs */
	GIVES_NAMED,   /* the plan chooses; their NUMA nodes are known */
	GIVES_NO_NUMA, /* the plan chooses; their NUMA nodes are not known */
	GIVES_KINDS
};

struct pool_table {
	uint32_t gives[LIMIT_POOLS][GIVES_KINDS];
	struct pool_sum sum[LIMIT_POOLS];
	uint64_t sum_gen; /* generation of the sums, + 1 */
	bool ready[LIMIT_POOLS];
	char *trouble[LIMIT_POOLS]; /* NULL: there is none */
};

/* Whether the runner of the pool has reported all its nodes and jobs. */
void state_pool_ready(struct state *state, uint32_t pool, bool ready);
bool state_pool_is_ready(const struct state *state, uint32_t pool);

/* Returns the first pool whose runner has not reported them yet, or -1. */
int state_pool_unready(const struct state *state);

/* End jobs on nodes of the pool that are gone. */
void state_lose_orphans(struct state *state, uint32_t pool, int64_t now);

/* Note why the pool's runner cannot go on, for the reasons of its jobs; NULL:
 * it can. */
void state_pool_trouble(struct state *state, uint32_t pool, const char *text);
bool state_pool_has_trouble(const struct state *state, uint32_t pool);

/* --- for this folder ---------------------------------------------------- */

/* Returns the pools that may run such a job in this queue, one bit each. */
uint64_t spec_pools(const struct state *state, const struct spec *spec,
                    uint32_t queue);

/* Whether tasks in the pool get what --numa and --links demand. Fails with a
 * sentence; err may be NULL. */
bool pool_aligns(const struct state *state, uint32_t pool,
                 const struct spec *spec, struct err *err);

/* Count a node that has changed in gives[] again. If pool_aligns() may now
 * answer otherwise, the jobs that depend on it get other rows. */
void pool_count_node(struct state *state, struct node *node);

/* Returns the sums of each pool; borrowed until nodes change. */
const struct pool_sum *pool_sums(struct state *state);

/* Returns the MiB per CPU of a job that asks for no memory and may run in any
 * of these pools. */
int64_t state_default_mem(struct state *state, uint64_t pools);

#endif
