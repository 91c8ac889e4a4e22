/*
 * cgroup_find.h - find the cgroups that this machine lets us use
 */
#ifndef AISCHEDD_RUN_SHEPHERD_CGROUP_FIND_H
#define AISCHEDD_RUN_SHEPHERD_CGROUP_FIND_H

#include "aischedd/run/shepherd/cgroup.h"

/*
 * Find, make and enable what is available. Root uses the root of the v2 tree,
 * so that a restart of a service's cgroup touches no job; other users their own
 * cgroup. v1 is used below the own cgroup of each controller. Does not fail.
 */
void cgroup_find(struct cgroup_ways *ret, struct arena *arena);

/* Divide a delegated scope for the nursery that was started in it: move into a
 * leaf, make the rest the base. */
void cgroup_find_scope(struct cgroup_ways *ret, struct arena *arena);

/* Returns how much the own group and its ancestors may use, -1: no limit. */
int64_t cgroup_own_memory_mib(void);

/* Whether memory, cpu, pids or cpuset can be limited. */
bool cgroup_can(const struct cgroup_ways *ways, enum cgroup_tree controller);

#endif
