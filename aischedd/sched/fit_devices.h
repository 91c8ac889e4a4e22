/*
 * fit_devices.h - which GPUs and CPUs of a node a task gets
 *
 * Whole GPUs that are linked, or the fullest that is shared; CPUs of whole
 * cores near the GPUs. The rest should be of most use to other tasks. The
 * caller knows that the task fits (fit.h).
 */
#ifndef AISCHEDD_SCHED_FIT_DEVICES_H
#define AISCHEDD_SCHED_FIT_DEVICES_H

#include "aischedd/sched/work.h"

enum {
	ANY_NUMA = -1,
	NUMA_IDS = 256 /* as many as a uint8_t can tell apart */
};

/* Whether the device is of the type that the request names, if any. */
static inline bool fit_devices_is_type(const struct snap *s, uint32_t req,
                                       uint32_t device)
{
	return s->req.gpu_type[req] == SNAP_NONE ||
	       s->gpu.type[device] == s->req.gpu_type[req];
}

/* Returns the devices of the best group to take n from: the smallest group with
 * enough of those in set, else the largest; the first among equals. */
uint64_t fit_devices_group(const uint8_t *group, uint64_t set, int n);

/* GPUs of the task on its node, all in this NUMA node unless ANY_NUMA. */
void fit_devices_gpus(const struct work *w, uint32_t req, int numa,
                      struct snap_task *task);

/* CPUs of a task; returns how many.  near: where they best lie; numa: where
 * they must lie, or ANY_NUMA. */
uint32_t fit_devices_cpus(const struct work *w, uint32_t req, uint32_t node,
                          int near, int numa, struct snap_cpu_use *use);

#endif
