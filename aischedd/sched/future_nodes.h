/*
 * future_nodes.h - which nodes could have room first
 *
 * For an amount of CPUs, memory or GPUs, each node has a time before which it
 * certainly has not so much free: as many of its tasks as that takes must have
 * ended.  Nodes are handed out in the order of these times, sorted only as far
 * as somebody asks, so that the earliest start of a job is found on the few
 * nodes that come first.  Amounts of about the same size share an order.
 */
#ifndef AISCHEDD_SCHED_FUTURE_NODES_H
#define AISCHEDD_SCHED_FUTURE_NODES_H

#include "aischedd/sched/future_runs.h"

struct future_nodes;

struct future_nodes *future_nodes_new(const struct snap *snap,
                                      const struct future_runs *stays,
                                      struct arena *arena);

/* What is there may leave sooner than it seemed: the node comes first. */
void future_nodes_early(struct future_nodes *soon, uint32_t node);

/* The order for so much of it; worked out (*ret_new: it was not known). */
struct future_nodes_order;
struct future_nodes_order *future_nodes_order_for(struct future_nodes *soon,
                                                  enum resource res,
                                                  int64_t amount,
                                                  bool *ret_new);

/* The node at place i of it (from 0; SNAP_NONE: it was handed out before), if
 * it could have so much by then. */
bool future_nodes_get(struct future_nodes *soon,
                      struct future_nodes_order *order, uint32_t i, int64_t by,
                      uint32_t *ret_node);

/* Whether this one could. */
bool future_nodes_could(const struct future_nodes *soon,
                        const struct future_nodes_order *order, uint32_t node,
                        int64_t by);

#endif
