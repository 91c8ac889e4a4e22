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

struct soon;

struct soon *soon_new(const struct snap *snap, const struct stays *stays,
                      struct arena *arena);

/* What is there may leave sooner than it seemed: the node comes first. */
void soon_early(struct soon *soon, uint32_t node);

/* The order for so much of it; worked out (*ret_new: it was not known). */
struct soon_order;
struct soon_order *soon_for(struct soon *soon, enum resource res,
                            int64_t amount, bool *ret_new);

/* The node at place i of it (from 0; SNAP_NONE: it was handed out before), if
 * it could have so much by then. */
bool soon_get(struct soon *soon, struct soon_order *order, uint32_t i,
              int64_t by, uint32_t *ret_node);

/* Whether this one could. */
bool soon_could(const struct soon *soon, const struct soon_order *order,
                uint32_t node, int64_t by);

#endif
