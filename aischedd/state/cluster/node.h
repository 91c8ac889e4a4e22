/*
 * node.h - nodes: reported by their runners, configured, drained
 */
#ifndef AISCHEDD_STATE_CLUSTER_NODE_H
#define AISCHEDD_STATE_CLUSTER_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "aischedd/state/cluster/device.h"
#include "aischedd/state/cluster/pool.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

struct state;

/* Whether a node of a template is being added or removed, see scale.h. Do not
 * renumber: the store has these values. */
enum node_want {
	WANT_NOTHING,
	WANT_ADDED,  /* it was asked for, and is not ready yet */
	WANT_REMOVED /* it is given back, and still there */
};

/* A node belongs to one pool; nodes of different pools may share a name. */
struct node {
	char *full;       /* "POOL/NAME" */
	const char *name; /* the end of it */
	uint64_t serial;  /* how many nodes were added to the table before */
	uint32_t pool;
	/* the next node with this name: its index plus one; 0: none */
	uint32_t namesake;
	/* the store or a user named it, but no runner has reported it yet;
	 * `pool` is a guess */
	bool expected;
	bool removed; /* its pool is no longer configured */
	bool gone;    /* its runner no longer reports it */
	/* it is removed for good, also from the store: forget.h */
	bool forgotten;
	bool down;     /* its runner reports it as down */
	bool drained;  /* by an operator */
	bool cordoned; /* the runner reports it as unschedulable */
	bool dirty;
	/* Three reasons, each owned or NULL; node_reason() chooses the one
	 * to show. */
	char *drain_reason; /* why an operator drained it */
	/* from its runner: why it is down, gone or cordoned */
	char *seen_reason;
	char *avoid_reason; /* why nothing starts there until retry_at */
	uint32_t ncpus_found, ngpus;
	uint32_t slots; /* it can run at most this many tasks; 0: any number */
	uint32_t ncpus; /* CPUs to bind tasks to; 0: CPUs are only counted */
	int64_t cpu_found, mem_found, tmp_found; /* found by its runner */
	/* what jobs may use: as configured or found, minus the reserve */
	int64_t cpu_milli, mem_mib, tmp_mib;
	/* devices other than GPUs: found by its runner; all of them; in use by
	 * others than jobs */
	struct device_counts devs_found, devs, devs_others;
	/* those that the runner knows by name, or NULL; kinds_named: bit i is
	 * set if it knows those of kind i; kinds_rooted, kinds_zoned: if it
	 * knows PCIe roots, or NUMA nodes, of some of kind i */
	struct node_devices *named;
	uint8_t kinds_named, kinds_rooted, kinds_zoned;
	uint16_t *gpu_root; /* PCIe root of each GPU; 0: unknown */
	uint8_t *cpu_numa, *gpu_numa, *gpu_link;
	uint16_t *cpu_core;
	/* cpu_reserved[i]: CPU i is reserved for the system */
	bool *cpu_reserved;
	/* Memory of each NUMA node, as the runner found it and as jobs may use
	 * it. numa_mem is NULL unless there are several NUMA nodes, and the
	 * runner or a kubelet binds tasks to them. */
	int64_t *numa_found, *numa_mem;
	uint32_t nnumas_found, nnumas;
	/* as its runner found them: by GPU, its number (libcommon/mig.h), or
	 * NULL; the model of GPUs whose partitions are made as needed */
	uint64_t *gpu_parts;
	uint8_t mig;
	/* [MIG_PROFILES_MOST] by profile: how many partitions others than jobs
	 * use; NULL: none */
	uint16_t *parts_others;
	char *gpu_type;
	int64_t gpu_mem_mib;             /* of each GPU; 0: unknown */
	struct strlist features, taints; /* found by its runner */
	char *topology;                  /* found by its runner, or NULL */
	/* Used by processes or pods that are not jobs of aisched. */
	int64_t cpu_others, mem_others, tmp_others, gpu_others;
	uint32_t slots_others;
	/* gpus_named: tasks get exactly the GPUs that the plan chooses;
	 * gpu_numas_known: the runner knows the NUMA nodes of the GPUs. */
	bool gpus_named, gpu_numas_known;
	/* unless gpus_named: how the node's kubelet chooses GPUs and CPUs */
	enum node_policy policy;
	/* [LIMIT_SOCKETS] as in struct node_info (pass/kubelet.h), or NULL */
	int64_t *zone_gpus, *zone_cpus;
	/* how its GPUs are chosen; struct pool counts the nodes of each
	 * kind */
	enum node_gives gives;
	uint32_t knows;     /* pool_devices_known(), as struct pool counts it */
	bool gpus_shared;   /* tasks can get parts of its GPUs */
	bool counts_shared; /* struct pool counts it */
	/* [ngpus] thousandths of each that no task may use; only if
	 * gpus_named */
	uint16_t *gpu_held;
	uint32_t scale; /* its template, by number plus one; 0: none */
	bool coming;    /* of a template, and not there or not ready yet */
	/* the template by whose labels the node is known, by number plus one;
	 * 0: none (scale.h) */
	uint32_t member;
	/* The node is listed only while it is there: a member has taken its
	 * place, or it was a member. */
	bool absent;
	bool unused; /* it was asked for, and no job has used it since */
	enum node_want want;
	int64_t want_at; /* when adding or removing it began */
	/* if it is of a template: since when no job uses it; or NO_TIME */
	int64_t idle_since;
	/* its section of the configuration, or NULL */
	const struct conf_node *conf;
	/* If the starts of two different jobs have failed here, or an evicted
	 * job does not end in time, nothing starts here until retry_at.
	 * `fails` counts how often that happened in a row; each time the wait
	 * is longer. */
	uint64_t failed_job; /* the job whose start failed last; 0: none */
	uint32_t fails;
	int64_t retry_at;
};

/* Returns how many devices of each kind no other uses than jobs. */
static inline struct device_counts node_devs_free(const struct node *node)
{
	struct device_counts left = node->devs;

	for (int i = 0; i < DEVICE_KINDS; i++)
		left.n[i] -= node->devs_others.n[i];
	return left;
}

struct node_frame;

struct node_table {
	struct node *node;
	size_t n, cap;
	uint64_t made; /* how many nodes were added in all */
	/* indexes of forgotten nodes, to be used for others */
	uint32_t *spare;
	size_t nspare, spare_cap;
	int64_t forget_at;  /* when to look for nodes to forget; or NO_TIME */
	struct map by_name; /* newest node with a name: its index plus one */
	bool namesakes;     /* two nodes have the same name */
	/* sections of the configuration by pool and node */
	struct map sections;
	/* columns that snapshots share (pass/snap_node.c); NULL: the next
	 * snapshot writes them */
	struct node_frame *frame;
	uint64_t frames; /* how often they were written */
	/* hashes of requests known to fit if nothing runs */
	struct map fits;
	/* Between devices_begin() and devices_end(): the devices that tasks
	 * hold, by node; NULL: not counted yet. */
	uint64_t *held;
	bool giving;
	/* the tasks that may have devices, by node (device.c), or NULL; how
	 * often these were sought, for tests */
	struct device_tasks *device_tasks;
	uint64_t device_searches;
	bool dirty; /* some nodes are to be written */
};

size_t state_nnodes(const struct state *state);

/* Returns how many nodes there are, without those of the table that have been
 * removed. */
size_t state_nodes_there(const struct state *state);
struct node *state_node(const struct state *state, uint32_t node);

/* Returns how many nodes were ever added: a node whose serial number is not
 * below that was added later. */
uint64_t state_nodes_made(const struct state *state);

/* Find the nodes that a text names: "NAME" stands for all nodes with that name,
 * "POOL/NAME" for one. state_node_find() returns the index of the first node,
 * state_node_next() the index of the node that follows `after`; both return -1
 * if there is none. */
int state_node_find(const struct state *state, const char *text);
int state_node_next(const struct state *state, const char *text, int after);

/* Returns the index of the node with this name in this pool, or -1. */
int state_node_of(const struct state *state, uint32_t pool, const char *name);

/* Like state_node_find(), but an unknown node is added, marked as gone, if it
 * may be in a pool that has not listed its nodes yet. */
int state_node_expect(struct state *state, const char *text);

/* Returns the name of the node for people: "NAME", or "POOL/NAME" if several
 * pools have a node of that name. */
const char *state_node_label(const struct state *state, uint32_t node);

/* Returns why the node is down, drained or avoided, or NULL. The reason why it
 * is down or gone comes before an operator's reason for draining it. */
const char *node_reason(const struct node *node);

/* Store a runner's report about a node, with the changes that the node's
 * section of the configuration makes to it. */
void state_node_seen(struct state *state, uint32_t pool,
                     const struct node_info *info);

/* Drain the node, so that nothing new starts on it; drained false: end the
 * drain. Fails with EINVAL if a drain has no reason. */
int state_drain(struct state *state, uint32_t node, bool drained,
                const char *reason, struct err *err);

/* --- for this folder ---------------------------------------------------- */

/* Returns the index of the node that a text of the store names: "POOL/NAME",
 * or "NAME" if an earlier version wrote it. An unknown node is added, marked
 * as gone. */
uint32_t node_intern(struct state *state, const char *text);

/* Give each node the number of its pool in a new configuration. A node whose
 * pool is not in that configuration is marked as removed, and can no longer be
 * found by name. */
void nodes_reconf(struct state *state, const struct conf *conf);

/* Call it once all pools have listed their nodes: removes nodes that are
 * only `expected`, which no runner has reported. Nodes that an operator
 * drained stay. */
void nodes_drop_expected(struct state *state);
/* Compute what jobs may use of the node, from what its runner found and its
 * section of the configuration. */
void node_apply_conf(struct state *state, struct node *node);

/* Returns the NUMA node of a GPU: as configured, or else as the
 * runner found it. */
uint8_t node_gpu_numa(const struct node *node, uint32_t gpu);

/* Returns the MIG model of the node's GPUs (an enum mig_model), as configured
 * or found, which says what MIG partitions they can have. */
uint8_t node_mig(const struct node *node);

/* Returns the partitions that a GPU has for good (libcommon/mig.h): as
 * configured, or else as the runner found them; 0: none. */
uint64_t node_gpu_parts(const struct node *node, uint32_t gpu);

/* Returns the MiB of each of the node's GPUs, as configured or else as its
 * runner found them; 0: unknown. */
int64_t node_gpu_mem(const struct node *node);
/* Returns the weight in the node's section of the configuration, or 1. */
int64_t node_weight(const struct node *node);
/* Returns the link group of a GPU: as configured, or else as the runner
 * found it. */
uint8_t node_gpu_link(const struct node *node, uint32_t gpu);

/* Returns one more than the highest NUMA node number of the node's CPUs
 * and GPUs. */
uint32_t node_nnumas(const struct node *node);

/* Index the node sections of a new configuration by pool and name. */
void node_index_sections(struct state *state);

/* Leave EFFECT_DRAIN, which tells the node's runner whether the node
 * is drained. */
void node_tell_drain(struct state *state, uint32_t node);

/* Free what the runner has reported about the node, and its reasons. */
void node_clear(struct node *node);
void nodes_free(struct node_table *nodes);

#endif
