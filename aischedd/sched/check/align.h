/*
 * align.h - NUMA nodes and link groups of tasks, found by trying all sets
 */
#ifndef AISCHEDD_SCHED_CHECK_ALIGN_H
#define AISCHEDD_SCHED_CHECK_ALIGN_H

#include "aischedd/sched/check/audit.h"

/* The free devices and memory, indexed as in the snapshot; NULL: all are free.
 */
struct align_free {
	const int64_t *gpu, *thread, *numa_mem;
	/* by piece: not 0: it is taken. NULL: not known. */
	const uint8_t *taken;
};

/* How well one task can be placed on a node. */
struct align_best {
	bool known; /* false: the best place is not computed: the task takes
	               parts of devices, or it matters where its devices are
	               and these are not known, or there are too many GPUs */
	bool fits;  /* the task fits and all its demands are met */
	uint32_t numas, groups; /* the fewest NUMA nodes; the fewest link groups
	                           with this many NUMA nodes */
};

struct align_best check_align_best(const struct snap *s, uint32_t req,
                                   uint32_t node,
                                   const struct align_free *nfree);

/* Whether a request has demands for NUMA nodes or links. */
bool check_align_demands(const struct snap *s, uint32_t req);

/* check_align_span(): the fewest NUMA nodes for a task on the empty node, or 0
 * if it does not fit. check_align_groups(): the fewest link groups for n GPUs
 * there. */
uint32_t check_align_span(const struct snap *s, uint32_t req, uint32_t node);
uint32_t check_align_groups(const struct snap *s, uint32_t req, uint32_t node,
                            uint32_t n);

/* Returns the NUMA nodes of a task's devices, as bits. */
uint32_t check_align_numas(const struct snap *s, const struct snap_task *t,
                           const struct snap_cpu_use *use);

/* Returns the number of link groups of these GPUs of a node. */
uint32_t check_align_links(const struct snap *s, uint32_t node, uint64_t gpus);

/*
 * Subtract the memory of a task from numa_mem and, if the task is bound to its
 * NUMA nodes, from unbound. Check that the task uses as few NUMA nodes as it
 * demands. If the task is bound, check that its memory fits in these NUMA
 * nodes, beside the memory of all other tasks or, with bound_only, of all other
 * bound tasks.
 */
int check_align_task(const struct audit *a, uint32_t req, uint64_t job,
                     const struct snap_task *t, bool bound_only,
                     int64_t *numa_mem, int64_t *unbound);

/* Check that a job with --links strict has its GPUs in as few link groups as
 * possible on each node: the GPUs of its n new tasks and those that the run
 * keeps (SNAP_NONE: there is no run). */
int check_align_job(const struct audit *a, uint32_t req, uint64_t job,
                    const struct snap_task *t, uint32_t n, uint32_t run);

#endif
