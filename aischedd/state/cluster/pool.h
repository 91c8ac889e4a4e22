/*
 * pool.h - pools: reports of their runners, and which may take a job
 */
#ifndef AISCHEDD_STATE_CLUSTER_POOL_H
#define AISCHEDD_STATE_CLUSTER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/sched/snap.h"
#include "aischedd/state/cluster/pool_devices.h"
#include "libcommon/limits.h"
#include "libcommon/spec/spec.h"

struct err;
struct node;
struct state;

/* Sums over all nodes of a pool. */
struct pool_sum {
	int64_t total[RES_N];
	/* least MiB for each CPU, over all nodes; INT64_MAX: there are
	 * no CPUs */
	int64_t mem_per_cpu;
};

/* How the GPUs of a node are chosen for tasks. A pool counts its nodes of
 * each kind. */
enum node_gives {
	GIVES_NONE, /* the node has no GPUs, or is gone */
	/* The kubelet chooses the GPUs of a task, by a policy: one not known
	 * or none; best-effort; restricted; single-numa-node. */
	GIVES_COUNTED,
	GIVES_ANYWHERE,
	GIVES_BEST_EFFORT,
	GIVES_TIGHT,
	GIVES_STRICT,
	GIVES_NAMED, /* the plan chooses them; their NUMA nodes are known */
	/* the plan chooses them; their NUMA nodes are not known */
	GIVES_NO_NUMA,
	GIVES_KINDS
};

/* GPUs of a size and type that are in a pool. */
struct gpu_kind {
	uint32_t pool;
	int64_t mem_mib;  /* of each GPU; 0: unknown */
	const char *type; /* the node's; NULL: none */
};

/* Reports of a pool's runner and nodes. */
struct pool {
	bool ready;                  /* all its nodes and jobs are known */
	char *trouble;               /* why it cannot start jobs, or NULL */
	uint32_t gives[GIVES_KINDS]; /* nodes of each kind */
	uint32_t nshares;            /* nodes with GPUs given in parts */
	uint32_t knows[NODE_KNOWS];  /* nodes of which that is known */
	/* the result of kubelets_of() that the rows of jobs have */
	enum numa kubelets;
};

struct pool_table {
	struct pool pool[LIMIT_POOLS];
	struct pool_sum sum[LIMIT_POOLS];
	uint64_t sum_gen; /* 1 + state->gen for which sum[] holds; 0: none */
	struct gpu_kind *kind;
	size_t nkinds, kind_cap;
	uint64_t kind_gen; /* the same for kind[] */
};

/* Set or return whether the pool's runner has reported all its nodes
 * and jobs. */
void state_pool_ready(struct state *state, uint32_t pool, bool ready);
bool state_pool_is_ready(const struct state *state, uint32_t pool);

/* Returns the index of the first pool that is not ready, or -1. */
int state_pool_unready(const struct state *state);

/* Handle the event `lost` for each job whose nodes in the pool are gone. */
void state_lose_orphans(struct state *state, uint32_t pool, int64_t now);

/* Set why the pool's runner cannot start jobs now, which users see as the
 * reason why jobs wait; NULL: it can. */
void state_pool_trouble(struct state *state, uint32_t pool, const char *text);
/* Returns how many jobs have nodes of the pool. */
uint32_t state_pool_jobs(const struct state *state, uint32_t pool);

bool state_pool_has_trouble(const struct state *state, uint32_t pool);

/* --- for this folder ---------------------------------------------------- */

/* Returns the pools that may run a job with this request in this queue, one
 * bit each. */
uint64_t spec_pools(const struct state *state, const struct spec *spec,
                    uint32_t queue);

/* Whether the pool can place tasks as --numa and --links demand, gives devices
 * where --device wants them, and parts of GPUs to jobs that request some. If
 * not, set *err (unless err is NULL) to the reason. */
bool pool_aligns(const struct state *state, uint32_t pool,
                 const struct spec *spec, struct err *err);

/* Whether the result of pool_aligns() may be false for this request. */
bool pool_align_is_asked(const struct spec *spec);

/* Returns how the tasks of a request must or should use NUMA nodes: as it asks
 * for or, if it may run in these pools only, as their kubelets place each
 * pod. */
enum numa pool_numa(const struct state *state, uint64_t pools,
                    const struct spec *spec);

/* Update the pool's counts after a node has changed. If that may change
 * the result of pool_aligns(), update the rows of jobs on which it depends,
 * too. */
void pool_count_node(struct state *state, struct node *node);

/* Returns an array with the sums of each pool; borrowed until nodes change. */
const struct pool_sum *pool_sums(struct state *state);

/* Returns the *ret_n kinds of GPUs that are there; borrowed until nodes
 * change. */
const struct gpu_kind *pool_gpu_kinds(struct state *state, size_t *ret_n);

/* Returns how many MiB for each CPU a job gets that asks for no memory and may
 * run in any of these pools. */
int64_t state_default_mem(struct state *state, uint64_t pools);

#endif
