/*
 * near.h - devices other than GPUs: none is given twice, and each is where the
 * request wants it
 */
#ifndef AISCHEDD_SCHED_CHECK_NEAR_H
#define AISCHEDD_SCHED_CHECK_NEAR_H

#include "aischedd/sched/check/audit.h"

/* Whether it matters to a request where its devices are. */
bool check_near_matters(const struct snap *s, uint32_t req);

/* Whether these NUMA nodes have as many devices of each kind as a task that is
 * bound to them needs, if no job ran. Kinds of which the node lists none do not
 * count. */
bool check_near_could(const struct snap *s, uint32_t req, uint32_t node,
                      uint32_t set);

/* Returns for each piece 1 if a running task has it, else 0. */
uint8_t *check_near_taken(const struct snap *s, struct arena *arena);

/* Check the pieces of a task of the plan, and count them in `taken`. */
int check_near_task(const struct audit *a, uint32_t req, uint64_t job,
                    const struct snap_task *t, uint8_t *taken);

enum { CHECK_NEAR_TRIES = 4096 };

/*
 * Try the sets of n of these free GPUs of the node, at most that many. Returns
 * the fewest link groups of a set with which a task in these NUMA nodes could
 * have its devices, of those that are not taken; UINT32_MAX: there is no such
 * set. Clears *all unless all sets were tried. With n = 0 the NUMA nodes of the
 * task are all of `set`.
 */
uint32_t check_near_groups(const struct snap *s, uint32_t req, uint32_t node,
                           const uint8_t *taken, uint32_t set, uint64_t gpus,
                           uint32_t n, bool *all);

#endif
