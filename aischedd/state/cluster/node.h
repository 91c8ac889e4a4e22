/*
 * node.h - nodes: reported by their runners, configured, drained
 */
#ifndef AISCHEDD_STATE_CLUSTER_NODE_H
#define AISCHEDD_STATE_CLUSTER_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "aischedd/state/cluster/pool.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

struct state;

/* A node belongs to one pool; nodes of different pools may share a name. */
struct node {
	const char *full; /* "POOL/NAME"; the table owns it */
	const char *name;
	uint32_t pool;
	uint32_t namesake; /* next node with this name: its index plus one */
	bool expected;     /* named in a text, not reported; pool: a guess */
	bool removed;      /* its pool is no longer configured */
	bool gone;         /* its runner no longer reports it */
	bool down;         /* its runner reports it as down */
	bool drained;      /* by an admin */
	bool cordoned;     /* by its runner */
	bool dirty;
	/* Owned, each NULL or set; node_reason() chooses the one to show. */
	char *drain_reason; /* why an admin drained it */
	char *seen_reason;  /* from its runner: why down, gone or cordoned */
	char *avoid_reason; /* why nothing starts there until retry_at */
	uint32_t ncpus_found, ngpus;
	uint32_t slots; /* at most this many tasks; 0: any number */
	uint32_t ncpus; /* CPUs to bind tasks to; 0: CPUs are only counted */
	int64_t cpu_found, mem_found; /* found by its runner */
	int64_t cpu_milli,
	    mem_mib; /* for jobs: as configured or found, minus the reserve */
	uint8_t *cpu_numa, *gpu_numa, *gpu_link;
	uint16_t *cpu_core;
	bool *cpu_reserved; /* kept for the system */
	/* Memory of each NUMA node, as the runner found it and as jobs may use
	 * it. NULL unless there are several, and tasks are bound to them. */
	int64_t *numa_found, *numa_mem;
	uint32_t nnumas_found, nnumas;
	char *gpu_type;
	struct strlist features, taints; /* found by its runner */
	char *topology;                  /* found by its runner, or NULL */
	/* Used by processes or pods that are not jobs of aisched. */
	int64_t cpu_others, mem_others;
	uint32_t gpus_others, slots_others;
	/* gpus_named: tasks get exactly the GPUs that the plan names;
	 * gpu_numas_known: the NUMA nodes of these GPUs are known. */
	bool gpus_named, gpu_numas_known;
	enum node_gives gives; /* its kind in the counts of its pool */
	uint64_t gpus_held;    /* GPUs that no task may have, one bit each */
	/* its section of the configuration, or NULL */
	const struct conf_node *conf;
	/* If starts of two different jobs have failed here, or an evicted job
	 * does not end in time, nothing starts here until retry_at; each time
	 * the wait is longer, by `fails`. */
	uint64_t failed_job; /* the job whose start failed last; 0: none */
	uint32_t fails;
	int64_t retry_at;
};

struct node_table {
	struct node *node;
	size_t n, cap;
	struct arena *names; /* snapshots refer to these */
	struct map by_name;  /* newest node of a name: its index plus one */
	bool namesakes;      /* some nodes have the same name */
	struct map sections; /* sections of the configuration by node name */
	struct map fits;     /* requests known to fit if nothing runs: hashes */
	bool dirty;          /* some nodes are to be written */
};

size_t state_nnodes(const struct state *state);
struct node *state_node(const struct state *state, uint32_t node);

/* Find the nodes that a text names: "NAME" all nodes with that name,
 * "POOL/NAME" one. state_node_find() returns the index of the first of them,
 * state_node_next() that of the next one after `after`; -1 if there is none. */
int state_node_find(const struct state *state, const char *text);
int state_node_next(const struct state *state, const char *text, int after);

/* Returns the index of the node of this pool, or -1. */
int state_node_of(const struct state *state, uint32_t pool, const char *name);

/* Like state_node_find(), but if no node is found and a pool that the text
 * allows has not listed its nodes yet, a node is added, as gone. */
int state_node_expect(struct state *state, const char *text);

/* Returns the name of the node for people: "NAME", or "POOL/NAME" if several
 * pools have a node of that name. */
const char *state_node_label(const struct state *state, uint32_t node);

/* Returns why the node is down, drained or avoided, or NULL. If it is down or
 * gone, that is more important than the admin's reason for a drain. */
const char *node_reason(const struct node *node);

/* Store what a runner reports about a node, and correct it as the configuration
 * says. */
void state_node_seen(struct state *state, uint32_t pool,
                     const struct node_info *info);

/* Drain the node, or resume it. Fails with EINVAL if a drain has no reason. */
int state_drain(struct state *state, uint32_t node, bool drained,
                const char *reason, struct err *err);

/* --- for this folder ---------------------------------------------------- */

/* Returns the node that a text of the store names: "POOL/NAME", or "NAME" if an
 * earlier version wrote it. An unknown node is added, as gone. */
uint32_t node_intern(struct state *state, const char *text);

/* Give each node the number of its pool in a new configuration. A node whose
 * pool is not in it is marked as removed, and no name finds it. */
void nodes_reconf(struct state *state, const struct conf *conf);

/* Remove nodes that texts named and that no runner has reported, after all
 * pools have listed their nodes. Nodes that an admin drained stay. */
void nodes_drop_expected(struct state *state);
/* Set what the node has for jobs from what its runner found and its section of
 * the configuration. */
void node_apply_conf(struct state *state, struct node *node);

/* Return the NUMA node, or the link group, of a GPU: as configured, else as the
 * runner found it. */
uint8_t node_gpu_numa(const struct node *node, uint32_t gpu);

/* Returns the model of its GPUs, which says what MIG partitions they can have:
 * an enum mig_model. */
uint8_t node_mig(const struct node *node);
/* Returns the weight of its configuration section, or 1. */
int64_t node_weight(const struct node *node);
uint8_t node_gpu_link(const struct node *node, uint32_t gpu);

/* Returns one more than the highest number of a NUMA node there. */
uint32_t node_nnumas(const struct node *node);

/* Index the node sections of a new configuration. */
void node_index_sections(struct state *state);

/* Queue an effect that tells the node's runner whether it is drained. */
void node_tell_drain(struct state *state, uint32_t node);
void nodes_free(struct node_table *nodes);

#endif
