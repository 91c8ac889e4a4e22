/*
 * align.h - NUMA nodes and link groups of tasks, found by trying all sets
 */
#ifndef AISCHEDD_SCHED_CHECK_ALIGN_H
#define AISCHEDD_SCHED_CHECK_ALIGN_H

#include "aischedd/sched/check/audit.h"

/* The free devices and memory, as in the snapshot; NULL: all are free. */
struct align_free {
	const int64_t *gpu, *thread, *numa_mem;
};

/* The best that one task can have on a node. */
struct align_best {
	bool known;             /* false: it takes parts of devices */
	bool fits;              /* with all that it demands */
	uint32_t numas, groups; /* the fewest NUMA nodes; then groups there */
};

struct align_best check_align_best(const struct snap *s, uint32_t req,
                                   uint32_t node,
                                   const struct align_free *nfree);

/* Whether a request demands something of NUMA nodes or links. */
bool check_align_demands(const struct snap *s, uint32_t req);

/* The fewest NUMA nodes for a task on the empty node, 0: it does not fit; the
 * fewest link groups for n GPUs there. */
uint32_t check_align_span(const struct snap *s, uint32_t req, uint32_t node);
uint32_t check_align_groups(const struct snap *s, uint32_t req, uint32_t node,
                            uint32_t n);

/* The NUMA nodes of a task, as bits. */
uint32_t check_align_numas(const struct snap *s, const struct snap_task *t,
                           const struct snap_cpu_use *use);

/* The link groups of some GPUs of a node. */
uint32_t check_align_links(const struct snap *s, uint32_t node, uint64_t gpus);

/*
 * Take the memory of a task from the free memory of its NUMA nodes. Check that
 * it is in as few NUMA nodes as it must be, and that all memory that is bound
 * there fits: beside all other memory, unless bound_only.
 */
int check_align_task(const struct audit *a, uint32_t req, uint64_t job,
                     const struct snap_task *t, bool bound_only,
                     int64_t *numa_mem, int64_t *unbound);

/* Check that, on each node, a job with --links strict has its GPUs in as few
 * groups as possible: those of n new tasks, and those that the run keeps
 * (SNAP_NONE: none). */
int check_align_job(const struct audit *a, uint32_t req, uint64_t job,
                    const struct snap_task *t, uint32_t n, uint32_t run);

#endif
