/*
 * nodes.h - check the nodes that a plan gives to a job
 */
#ifndef AISCHEDD_SCHED_CHECK_NODES_H
#define AISCHEDD_SCHED_CHECK_NODES_H

#include "aischedd/sched/check/audit.h"

/* Returns why the request may not run on a node, or NULL. */
const char *check_forbidden(const struct snap *s, uint32_t req, uint32_t node);

/* Returns the GPUs of a task of the request on this node, in thousandths. */
int64_t check_gpus(const struct snap *s, uint32_t req, uint32_t node);

/* Returns which preferences of the request the node meets: one bit for each, a
 * higher one for a more important preference. Bit 31, above all of them, is set
 * if the request names all soft taints of the node. */
uint32_t check_granted(const struct snap *s, uint32_t req, uint32_t node);

/* Mark in could[] the domains of the pool that could hold a part of a spread
 * request (snap_segment_part()) if nothing else ran there. could[] has an entry
 * for each domain, then one for each node. Returns how many are marked; sets
 * *ret_part to the number of tasks in a part. */
uint32_t check_spread(const struct snap *s, uint32_t req, uint32_t pool,
                      uint8_t *could, uint32_t *ret_part);

/* Returns the index in could[] of the node's domain, or SNAP_NONE. */
uint32_t check_spread_at(const struct snap *s, uint32_t req, uint32_t node);

/* Returns the domain of this level that contains the node, or SNAP_NONE. */
uint32_t check_domain(const struct snap *s, uint32_t node, uint8_t level);

/* check_nodes(): check that a job may have these nodes, one for each task.
 * check_growth(): check that a run may have the nodes on which it grows. */
int check_nodes(const struct audit *a, uint32_t req, uint64_t job,
                const struct snap_task *t, uint32_t n);
int check_growth(const struct audit *a, uint32_t run);

#endif
