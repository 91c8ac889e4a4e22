/*
 * nodes.h - which nodes could have room first
 *
 * For an amount of CPUs, memory or GPUs, each node has an earliest time at
 * which it could have that much free: enough of its tasks must end first. Nodes
 * are returned in the order of these times, sorted only as far as needed; so
 * the earliest start of a job is found on the few nodes that come first.
 * Amounts of about the same size share an order.
 */
#ifndef AISCHEDD_SCHED_FUTURE_NODES_H
#define AISCHEDD_SCHED_FUTURE_NODES_H

#include "aischedd/sched/future/runs.h"

struct future_nodes;

struct future_nodes *future_nodes_new(const struct snap *snap,
                                      const struct future_runs *stays,
                                      struct arena *arena);

/* Put the node first in all orders, because its tasks may end sooner
 * than was known. */
void future_nodes_early(struct future_nodes *soon, uint32_t node);

/* Returns the order of nodes by the time at which they could have this amount
 * of the resource free. *ret_new: whether this call made it. */
struct future_nodes_order;
struct future_nodes_order *future_nodes_order_for(struct future_nodes *soon,
                                                  enum resource res,
                                                  int64_t amount,
                                                  bool *ret_new);

/* Set *ret_node to node i of the order, counted from 0, or to SNAP_NONE if the
 * same node was returned for another i. Returns false if neither this node nor
 * any after it can have the amount free at the time `by`. */
bool future_nodes_get(struct future_nodes *soon,
                      struct future_nodes_order *order, uint32_t i, int64_t by,
                      uint32_t *ret_node);

/* Whether this node could have the amount of the order free at the time `by`.
 */
bool future_nodes_could(const struct future_nodes *soon,
                        const struct future_nodes_order *order, uint32_t node,
                        int64_t by);

#endif
