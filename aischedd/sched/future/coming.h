/*
 * coming.h - nodes that autoscaling adds
 *
 * A node that autoscaling can add is in the snapshot with its size and the time
 * at which it would be there if it were asked for now. Until then no job starts
 * on it. A job is promised a start on such a node only if the job cannot start
 * sooner on other nodes. Only promised nodes are asked for: all nodes of a gang
 * together, and no more nodes than jobs may use within their limits.
 */
#ifndef AISCHEDD_SCHED_FUTURE_COMING_H
#define AISCHEDD_SCHED_FUTURE_COMING_H

#include "aischedd/sched/plan.h"

/* Set plan->asked to the nodes that must be asked for now so that promised jobs
 * start in time. Lower plan->wake to the time at which the next node must be
 * asked for. */
void coming_find(const struct snap *snap, struct plan *plan,
                 struct arena *arena);

/* Whether some node of the snapshot is not there yet (enum node_coming). */
bool coming_any(const struct snap *snap);

/* Count the different nodes of a promise that are not there yet. Sets
 * *ret_first to the first of them. */
uint32_t coming_count(const struct snap *snap, const uint32_t *node, uint32_t n,
                      uint32_t *ret_first);

#endif
