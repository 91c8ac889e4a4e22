/*
 * amounts.h - what is free of CPUs and of the memory of NUMA nodes, worked out
 * again from what runs
 */
#ifndef AISCHEDD_SCHED_CHECK_AMOUNTS_H
#define AISCHEDD_SCHED_CHECK_AMOUNTS_H

#include "aischedd/sched/snap.h"

/* The free thousandths of each CPU of a slice. */
void check_amounts_threads(const struct snap *s, int64_t *ret);

/* The free MiB of each NUMA node, as numa_mem of the snapshot, less the memory
 * of all tasks, or (bound) of those that are bound there. */
void check_amounts_numas(const struct snap *s, bool bound, int64_t *ret);

/* Divide a task's memory among its NUMA nodes in proportion to their sizes; ret
 * has an entry for each NUMA node whose memory is counted. */
void check_amounts_divide(const struct snap *s, uint32_t node, uint32_t numas,
                          int64_t mem, int64_t ret[SNAP_NUMAS]);

#endif
