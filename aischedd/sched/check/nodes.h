/*
 * nodes.h - the nodes that a plan gives to a job
 */
#ifndef AISCHEDD_SCHED_CHECK_NODES_H
#define AISCHEDD_SCHED_CHECK_NODES_H

#include "aischedd/sched/check/audit.h"

/* Returns why the request may not run on a node, or NULL. */
const char *check_forbidden(const struct snap *s, uint32_t req, uint32_t node);

/* Returns the preferences of the request that the node grants, a bit each, the
 * most important in the highest bit. That one is granted if the node has no
 * soft taint that the request does not name. */
uint32_t check_granted(const struct snap *s, uint32_t req, uint32_t node);

/* Mark the domains of the pool that could hold a part of a request that is
 * spread, whatever runs there; could[] has a place for each domain and then for
 * each node. Returns how many there are; sets *ret_part to the tasks of a part.
 */
uint32_t check_spread(const struct snap *s, uint32_t req, uint32_t pool,
                      uint8_t *could, uint32_t *ret_part);

/* Returns the node's place in could[], or SNAP_NONE. */
uint32_t check_spread_at(const struct snap *s, uint32_t req, uint32_t node);

/* The domain of this level that contains the node, or SNAP_NONE. */
uint32_t check_domain(const struct snap *s, uint32_t node, uint8_t level);

/* check_nodes(): check that a job may have these nodes, one for each task.
 * check_growth(): check that a run may have the nodes on which it grows. */
int check_nodes(const struct audit *a, uint32_t req, uint64_t job,
                const struct snap_task *t, uint32_t n);
int check_growth(const struct audit *a, uint32_t run);

#endif
