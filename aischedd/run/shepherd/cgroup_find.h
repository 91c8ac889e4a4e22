/* cgroup_find.h - find the cgroups that this machine allows us to use */
#ifndef AISCHEDD_RUN_SHEPHERD_CGROUP_FIND_H
#define AISCHEDD_RUN_SHEPHERD_CGROUP_FIND_H

#include "aischedd/run/shepherd/cgroup.h"

/*
 * Find the available trees and controllers, make the directory "aisched" in
 * each tree, and enable controllers there. In v2, root makes the directory in
 * the root of the tree, so that systemd can restart our service without ending
 * jobs; other users make it in their own cgroup. In v1 it is always made in our
 * own cgroup. Does not fail.
 */
void cgroup_find(struct cgroup_ways *ret, struct arena *arena);

/* Use the scope in which the nursery runs and which a user manager of systemd
 * delegated to it. Moves this process to a new group "shepherds" in the scope,
 * so that the scope itself can be the base of all attempts. */
void cgroup_find_scope(struct cgroup_ways *ret, struct arena *arena);

/* Returns the smallest memory limit of our cgroup and of those above it in MiB;
 * -1: there is no limit. */
int64_t cgroup_own_memory_mib(void);

/* Whether this controller (memory, cpu, pids or cpuset) is available. */
bool cgroup_can(const struct cgroup_ways *ways, enum cgroup_tree controller);

#endif
