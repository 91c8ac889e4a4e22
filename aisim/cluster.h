/*
 * cluster.h - the nodes of the configuration, in place of a runner's report
 *
 * Their CPUs are counted, not bound one by one, unless the configuration gives
 * their sockets.
 */
#ifndef AISIM_CLUSTER_H
#define AISIM_CLUSTER_H

#include "aischedd/state/state.h"
#include "aisim/trace.h"

/* Let all nodes of the configuration appear, up and idle, in the order of the
 * file: node i of the state is section i. Fails with EINVAL if a node lacks its
 * CPUs. */
int cluster_begin(struct state *state, struct err *err);

void cluster_set_down(struct state *state, uint32_t node, bool down);

/* Returns the GPUs of the nodes that are up. */
int64_t cluster_gpus(struct state *state);

/* Returns the CPUs of all nodes, in thousandths. */
int64_t cluster_cpus(const struct state *state);

/* The amounts left by the jobs that run from the beginning. */
struct room;

struct room *room_new(struct state *state);
void room_free(struct room *room);

struct room_ask {
	const struct request *req;
	const char *gpu_type;        /* NULL: any */
	int numa;                    /* enum numa */
	const uint32_t *node;        /* [ntasks] */
	const struct trace_dev *dev; /* [ntasks] their GPUs, or NULL */
	uint32_t ntasks;
};

/*
 * Place the tasks of such a job on its nodes: on the given devices; else a part
 * of a device on the fullest one that holds it, a partition on the first, whole
 * devices on the first idle ones. CPUs likewise, in the NUMA nodes of its
 * devices if it demands that. The caller frees the result. Fails with EBUSY,
 * naming the full node, or EINVAL if it may not have the devices.
 */
struct placement *room_take(struct room *room, const struct room_ask *ask,
                            struct err *err);

#endif
