/*
 * amounts.h - the free devices and memory of NUMA nodes, computed from the runs
 */
#ifndef AISCHEDD_SCHED_CHECK_AMOUNTS_H
#define AISCHEDD_SCHED_CHECK_AMOUNTS_H

#include "aischedd/sched/snap.h"

/* The free amounts of devices, in thousandths, and of NUMA nodes, in MiB;
 * indexed as in the snapshot. */
struct check_amounts {
	int64_t *gpu, *thread;
	int64_t *numa_mem; /* total minus the memory of all tasks */
	/* total minus the memory of tasks that are bound to the NUMA node */
	int64_t *unbound;
	uint8_t *slices; /* by GPU, bit i: slice i is in a partition */
};

/* Returns how many devices other than GPUs are free: by node, and there by
 * kind.
 */
int64_t *check_amounts_devs(const struct snap *s, struct arena *arena);

/* Returns the amounts that are free now, in new arrays of the arena. */
struct check_amounts check_amounts_now(const struct snap *s,
                                       struct arena *arena);

/* Returns the element of slices for the GPU on which the task has its
 * partition, or NULL if it has none. */
uint8_t *check_amounts_slices(const struct snap *s, const struct snap_task *t,
                              uint8_t *slices);

/* Divide a task's memory among its NUMA nodes in proportion to their sizes; ret
 * has an entry for each NUMA node whose memory is counted. */
void check_amounts_divide(const struct snap *s, uint32_t node, uint32_t numas,
                          int64_t mem, int64_t ret[SNAP_NUMAS]);

#endif
