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
	CG_MEMORY, /* from here on: version 1 */
	CG_CPU,
	CG_PIDS,
	CG_CPUSET,
	CG_FREEZER,
	CG_NTREES
};

/* The cgroups that this machine lets us use; found once, by the daemon. */
struct cgroup_ways {
	const char *base[CG_NTREES]; /* parent of all attempts' directories;
	                                NULL: none */
	bool v2[CG_NTREES];          /* use this controller in v2 */
	const char *shepherds;       /* v2 group for shepherds; NULL: none */
};

/* The cgroup of one attempt: its directories, NULL where it has none. */
struct cgroup {
	const char *dir[CG_NTREES];
	bool v2[CG_NTREES];
	bool born_inside; /* cgroup_fork() made this process in dir[CG_V2] */
};

struct cgroup_usage {
	int64_t cpu_ms, peak_kib; /* -1: not known */
	int64_t oom_kills;
};

/* Name the directories of an attempt; makes nothing. */
void cgroup_name(struct cgroup *ret, const struct cgroup_ways *ways,
                 const char *name, struct arena *arena);

/* Make the directories; dir[] becomes NULL for a tree where that fails. */
void cgroup_make(struct cgroup *cg);

/* Set limits; each fails if the group lacks the controller or refuses. */
int cgroup_limit_memory(const struct cgroup *cg, int64_t mib);
int cgroup_limit_cpu(const struct cgroup *cg, int64_t milli);
int cgroup_limit_pids(const struct cgroup *cg, int64_t max);
/* cpus as the kernel lists them: "0-3,8"; mems likewise, NULL: all. */
int cgroup_set_cpus(const struct cgroup *cg, const char *cpus,
                    const char *mems);

/*
 * Like fork(); the child must call cgroup_join() at once, while it has one
 * thread. To move a process between groups, the kernel waits ten milliseconds
 * or more for a lock. So the kernel makes the child in its v2 group at once
 * (clone3()), and in the v1 trees the child moves only its thread.
 */
pid_t cgroup_fork(struct cgroup *cg);
int cgroup_join(const struct cgroup *cg, struct err *err);

/* Fails if there is no freezer. */
int cgroup_freeze(const struct cgroup *cg, bool frozen);

/* Whether the attempt has a cgroup that lists its processes. */
bool cgroup_holds(const struct cgroup *cg);
/* Call fn for each process; returns how many. */
size_t cgroup_procs(const struct cgroup *cg, proc_fn *fn, void *arg);
/* Whether the process is in the group now. */
bool cgroup_has(const struct cgroup *cg, pid_t pid);

/* SIGKILL all processes, frozen or not. */
void cgroup_kill(const struct cgroup *cg);

void cgroup_usage(const struct cgroup *cg, struct cgroup_usage *ret);

/* Remove the directories. Fails with EBUSY if a process is left. */
int cgroup_remove(const struct cgroup *cg);

#endif
