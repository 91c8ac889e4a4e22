/*
 * coming.h - nodes that autoscaling adds
 *
 * A node that can be asked for is in the snapshot with its size and the time at
 * which it would be there. Nothing starts on it before, so only promises use
 * it: a job is promised such a node if nothing that is free, or will be, lets
 * the job start sooner. So gangs ask for all of their nodes, and no more nodes
 * are asked for than limits allow jobs to use.
 */
#ifndef AISCHEDD_SCHED_FUTURE_COMING_H
#define AISCHEDD_SCHED_FUTURE_COMING_H

#include "aischedd/sched/plan.h"

/* Set plan->asked to the nodes that must be asked for now if all promises are
 * to come true. Lower plan->wake to the time at which the next ones must. */
void coming_find(const struct snap *snap, struct plan *plan,
                 struct arena *arena);

/* Whether some node can be asked for, or was. */
bool coming_any(const struct snap *snap);

/* Count the different nodes of a promise that are not there yet. Sets
 * *ret_first to the first of them. */
uint32_t coming_count(const struct snap *snap, const uint32_t *node, uint32_t n,
                      uint32_t *ret_first);

#endif
