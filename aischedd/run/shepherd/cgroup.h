/*
 * cgroup.h - one cgroup for each attempt, if the system allows it
 *
 * The v2 tree is used to list, freeze and kill the processes, even on a hybrid
 * system where it has no controllers. Each controller (memory, cpu, pids,
 * cpuset) is used in v2 if it is there, else in v1, else not at all. An attempt
 * has a directory of the same name in each tree in use.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_CGROUP_H
#define AISCHEDD_RUN_SHEPHERD_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/shepherd/proc.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

enum cgroup_tree {
	CG_V2,
	CG_MEMORY, /* from here on: the trees of v1 */
	CG_CPU,
	CG_PIDS,
	CG_CPUSET,
	CG_FREEZER,
	CG_NTREES
};

/* The cgroups that this machine allows us to use. The daemon finds
 * them once. */
struct cgroup_ways {
	/* parent of the attempts' directories in each tree; NULL: the tree
	 * is not used */
	const char *base[CG_NTREES];
	/* v2 has this controller */
	bool v2[CG_NTREES];
	/* v2 directory for shepherds; NULL: none */
	const char *shepherds;
};

/* The cgroup of one attempt: its directory in each tree, NULL where it
 * has none. */
struct cgroup {
	const char *dir[CG_NTREES];
	bool v2[CG_NTREES];
	/* this process was made in dir[CG_V2] by cgroup_fork() */
	bool born_inside;
};

struct cgroup_usage {
	/* -1: unknown */
	int64_t cpu_ms, peak_kib;
	int64_t oom_kills;
};

/* Set the names of an attempt's directories, without making these. */
void cgroup_name(struct cgroup *ret, const struct cgroup_ways *ways,
                 const char *name, struct arena *arena);

/* Make the directories. Where that fails, dir[] becomes NULL. */
void cgroup_make(struct cgroup *cg);

/* Set a limit. Returns -1 if the attempt lacks the controller or the kernel
 * refuses the limit. */
int cgroup_limit_memory(const struct cgroup *cg, int64_t mib);
int cgroup_limit_cpu(const struct cgroup *cg, int64_t milli);
int cgroup_limit_pids(const struct cgroup *cg, int64_t max);
/* Set the CPUs in the kernel's form, as in "0-3,8", and likewise the NUMA nodes
 * for memory; mems NULL: all. */
int cgroup_set_cpus(const struct cgroup *cg, const char *cpus,
                    const char *mems);

/*
 * As fork(), but the child must call cgroup_join() at once, while it has only
 * one thread. Moving a process to another group is slow: the kernel waits ten
 * milliseconds or more for a lock. So the child is made within its v2 group
 * (clone3()), and in the v1 trees it moves only its thread.
 */
pid_t cgroup_fork(struct cgroup *cg);
int cgroup_join(const struct cgroup *cg, struct err *err);

/* Freeze or thaw all processes. Returns -1 if there is no freezer. */
int cgroup_freeze(const struct cgroup *cg, bool frozen);

/* Returns the directory whose cgroup.procs lists the processes; NULL: there is
 * none. */
const char *cgroup_holder(const struct cgroup *cg);
/* Whether the attempt has a cgroup that lists its processes. */
bool cgroup_holds(const struct cgroup *cg);
/* Call fn for each process of the cgroup; returns how many there are. */
size_t cgroup_procs(const struct cgroup *cg, proc_fn *fn, void *arg);
/* Whether the process is in the group now. */
bool cgroup_has(const struct cgroup *cg, pid_t pid);

/* Send SIGKILL to all processes, even if they are frozen. */
void cgroup_kill(const struct cgroup *cg);

void cgroup_usage(const struct cgroup *cg, struct cgroup_usage *ret);

/* Remove the directories. Fails with EBUSY if a process is left in them. */
int cgroup_remove(const struct cgroup *cg);

#endif
