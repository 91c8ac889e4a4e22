/*
 * cluster.h - report the configured nodes to the state, as runners would
 *
 * CPUs of a node are only counted, not assigned to tasks one by one, unless the
 * configuration gives its sockets.
 */
#ifndef AISIM_CLUSTER_H
#define AISIM_CLUSTER_H

#include "aischedd/state/state.h"
#include "aisim/trace.h"

/* Report all nodes of the configuration to the state, up and idle, in their
 * order, so that node i of the state is conf->nodes[i]. Fails with EINVAL if
 * the configuration does not give the CPUs of a node. */
int cluster_begin(struct state *state, struct err *err);

/* Report that a node is up, or down, without the GPUs of this mask. */
void cluster_set_down(struct state *state, uint32_t node, bool down,
                      uint64_t gpus);

/* Returns how many GPUs the nodes that are up have. */
int64_t cluster_gpus(struct state *state);

/* Returns the CPUs of all nodes, in thousandths. */
int64_t cluster_cpus(const struct state *state);

/* The resources of all nodes that no job holds at second 0. */
struct room;

struct room *room_new(struct state *state);
void room_free(struct room *room);

struct room_ask {
	const struct request *req;
	const char *gpu_type;        /* NULL: any */
	const char *device;          /* as in a request, see devices.h; NULL */
	int numa;                    /* enum numa */
	const uint32_t *node;        /* [ntasks] */
	const struct trace_dev *dev; /* [ntasks] GPUs of tasks; NULL: any */
	uint32_t ntasks;
};

/*
 * Place the tasks of a job that is running at second 0 on the nodes given. Each
 * task gets the GPUs in `dev`. If there is no `dev`, a part of a GPU is taken
 * from the GPU with the least left among those that have enough; a partition
 * from the first GPU where it fits; whole GPUs are the first idle ones. CPUs
 * are chosen likewise, in the NUMA nodes of the task's GPUs if the job requires
 * that. The caller frees the result. Fails with EBUSY, naming the full node, or
 * with EINVAL if the job may not have the GPUs.
 */
struct placement *room_take(struct room *room, const struct room_ask *ask,
                            struct err *err);

#endif
