/*
 * fit_align.h - the NUMA nodes for one task
 *
 * A task gets all its devices from a set of NUMA nodes: from one if it asks for
 * --numa strict, else from as few as possible. The span of a task is the least
 * number of NUMA nodes that it would need if the node were empty. On nodes with
 * up to ALIGN_NUMAS NUMA nodes all sets are tried; on others only sets of
 * consecutive NUMA nodes.
 */
#ifndef AISCHEDD_SCHED_FIT_ALIGN_H
#define AISCHEDD_SCHED_FIT_ALIGN_H

#include "aischedd/sched/fit_devices.h"

enum { ALIGN_NUMAS = 8 };

/* Returns how many tasks fit into a part of the node, by its devices and
 * memory, at most max. */
int64_t fit_align_room(const struct work *w, uint32_t req, uint32_t node,
                       const struct fit_where *at, int64_t max);

/* Whether the request asks for anything that belongs to a NUMA node on this
 * node: GPUs, or CPUs or memory if they are counted by NUMA node. */
bool fit_align_has_devices(const struct work *w, uint32_t req, uint32_t node);

/* Returns the span of a task, or 0 if it does not fit even on the empty node.
 */
uint32_t fit_align_span(const struct work *w, uint32_t req, uint32_t node);

/*
 * Find the part of the node for the next of `left` tasks. The part meets the
 * demands of the request, and its preferences as far as possible. Returns false
 * if the demands cannot be met.
 */
bool fit_align_choose(const struct work *w, uint32_t req, uint32_t node,
                      int64_t left, struct fit_where *ret);

/* Returns how many tasks fit into these NUMA nodes by their CPUs alone, at most
 * max. */
int64_t fit_align_cpus(const struct work *w, uint32_t req, uint32_t node,
                       uint32_t numas, int64_t max);

/* Count the idle CPUs of these NUMA nodes, and how often a fraction `part` of a
 * CPU fits into CPUs that are shared already. */
void fit_align_threads(const struct work *w, uint32_t node, uint32_t numas,
                       int64_t part, int64_t *ret_idle, int64_t *ret_shares);

/* Returns the free memory of these NUMA nodes. If tasks use more memory than
 * some NUMA node has, the excess may be anywhere on the node: it is subtracted
 * here, too. */
int64_t fit_align_mem(const struct work *w, uint32_t node, uint32_t numas);

/* Whether it depends on links which GPUs of this node the request gets. */
bool fit_align_links(const struct work *w, uint32_t req, uint32_t node);

#endif
