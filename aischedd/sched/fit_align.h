/*
 * fit_align.h - the NUMA nodes for one task
 *
 * A task takes all its devices from a set of NUMA nodes: from one if it asks
 * for --numa strict, else from as few as possible.  The least number on the
 * empty node is its span.  All sets are tried on nodes of up to ALIGN_NUMAS
 * NUMA nodes; on others those of neighbours by number.
 */
#ifndef AISCHEDD_SCHED_FIT_ALIGN_H
#define AISCHEDD_SCHED_FIT_ALIGN_H

#include "aischedd/sched/fit_devices.h"

enum { ALIGN_NUMAS = 8 };

/* How many tasks fit by the devices and the memory of a part of the node, at
 * most max. */
int64_t fit_align_room(const struct work *w, uint32_t req, uint32_t node,
                       const struct fit_where *at, int64_t max);

/* Whether the devices for a task can lie in one NUMA node or in several. */
bool fit_align_has_devices(const struct work *w, uint32_t req, uint32_t node);

/* The span of a task; 0: it does not even fit on the empty node. */
uint32_t fit_align_span(const struct work *w, uint32_t req, uint32_t node);

/* The sets of this size among n NUMA nodes, one after the other; begin with 0.
 * Returns 0 after the last. */
uint32_t fit_align_next(uint32_t set, uint32_t n, uint32_t size);

/*
 * Find the part of the node for one of `left` tasks: as its request demands,
 * and as far as possible as it wishes. Returns false if its demands cannot be
 * met.
 */
bool fit_align_choose(const struct work *w, uint32_t req, uint32_t node,
                      int64_t left, struct fit_where *ret);

/* The same by CPUs alone. */
int64_t fit_align_cpus(const struct work *w, uint32_t req, uint32_t node,
                       uint32_t numas, int64_t max);

/* Idle CPUs in a part of the node, and how many fractions of a CPU fit in
 * shared ones. */
void fit_align_threads(const struct work *w, uint32_t node, uint32_t numas,
                       int64_t part, int64_t *ret_idle, int64_t *ret_shares);

/* The memory that tasks bound to these NUMA nodes can have there. Memory that
 * is there because its own NUMA node is full does not count: it may be
 * anywhere. */
int64_t fit_align_mem(const struct work *w, uint32_t node, uint32_t numas);

/* Whether the links of the request's GPUs matter on this node. */
bool fit_align_links(const struct work *w, uint32_t req, uint32_t node);

#endif
