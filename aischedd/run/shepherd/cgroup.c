/* cgroup.c - one cgroup for each attempt, if the system allows it */
#include "aischedd/run/shepherd/cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aischedd/run/shepherd/cgroup_file.h"
#include "libcommon/buf.h"

#define CPU_PERIOD_US     100000
#define CPU_PERIOD_MAX_US 1000000
#define CPU_QUOTA_MIN_US  1000 /* the kernel's minimum */

void cgroup_name(struct cgroup *ret, const struct cgroup_ways *ways,
                 const char *name, struct arena *arena)
{
	*ret = (struct cgroup){ 0 };
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++) {
		if (ways->base[t])
			ret->dir[t] =
			    cgroup_file_path(ways->base[t], name, arena);
		ret->v2[t] = ways->v2[t];
	}
}

void cgroup_make(struct cgroup *cg)
{
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++)
		if (cg->dir[t] && mkdir(cg->dir[t], 0755) < 0)
			cg->dir[t] = NULL;
	for (enum cgroup_tree t = CG_MEMORY; t < CG_NTREES; t++)
		cg->v2[t] = cg->v2[t] && cg->dir[CG_V2];
}

int cgroup_limit_memory(const struct cgroup *cg, int64_t mib)
{
	int64_t bytes = mib * 1024 * 1024;
	const char *dir;

	if (cg->v2[CG_MEMORY]) {
		dir = cg->dir[CG_V2];
		cgroup_file_write(dir, "memory.swap.max", "0");
		return cgroup_file_write_number(dir, "memory.max", bytes);
	}
	dir = cg->dir[CG_MEMORY];
	/* memsw limits memory and swap together. The kernel refuses a memsw
	 * limit below the limit of memory alone. So set memsw twice: first, in
	 * case both limits rise, and last, in case both fall. The memsw file is
	 * missing if the kernel does not account for swap. */
	if (dir)
		cgroup_file_write_number(dir, "memory.memsw.limit_in_bytes",
		                         bytes);
	if (!dir ||
	    cgroup_file_write_number(dir, "memory.limit_in_bytes", bytes) < 0)
		return -1;
	cgroup_file_write_number(dir, "memory.memsw.limit_in_bytes", bytes);
	return 0;
}

int cgroup_limit_cpu(const struct cgroup *cg, int64_t milli)
{
	int64_t period = CPU_PERIOD_US, quota = milli * period / 1000;
	char text[48];

	if (quota < CPU_QUOTA_MIN_US) {
		period = CPU_PERIOD_MAX_US;
		quota = milli * period / 1000;
	}
	if (cg->v2[CG_CPU]) {
		snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, quota,
		         period);
		return cgroup_file_write(cg->dir[CG_V2], "cpu.max", text);
	}
	if (!cg->dir[CG_CPU])
		return -1;
	if (cgroup_file_write_number(cg->dir[CG_CPU], "cpu.cfs_period_us",
	                             period) < 0)
		return -1;
	return cgroup_file_write_number(cg->dir[CG_CPU], "cpu.cfs_quota_us",
	                                quota);
}

int cgroup_limit_pids(const struct cgroup *cg, int64_t max)
{
	const char *dir = cg->v2[CG_PIDS] ? cg->dir[CG_V2] : cg->dir[CG_PIDS];

	return dir ? cgroup_file_write_number(dir, "pids.max", max) : -1;
}

int cgroup_set_cpus(const struct cgroup *cg, const char *cpus, const char *mems)
{
	const char *dir =
	    cg->v2[CG_CPUSET] ? cg->dir[CG_V2] : cg->dir[CG_CPUSET];

	if (!dir)
		return -1;
	if (mems && cgroup_file_write(dir, "cpuset.mems", mems) < 0)
		return -1;
	return cgroup_file_write(dir, "cpuset.cpus", cpus);
}

static pid_t fork_into(const char *dir)
{
	struct clone_args args = { .flags = CLONE_INTO_CGROUP,
		                   .exit_signal = SIGCHLD };
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = -1;

	if (fd < 0)
		return -1;
	args.cgroup = (uint64_t)fd;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	close(fd);
	return pid;
}

pid_t cgroup_fork(struct cgroup *cg)
{
	pid_t pid = -1;

	cg->born_inside = cg->dir[CG_V2] != NULL;
	if (cg->born_inside)
		pid = fork_into(cg->dir[CG_V2]);
	if (pid >= 0)
		return pid;
	/* clone3() failed: some containers forbid it, and old kernels
	 * lack it. */
	cg->born_inside = false;
	return fork();
}

int cgroup_join(const struct cgroup *cg, struct err *err)
{
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++) {
		const char *file = t == CG_V2 ? "cgroup.procs" : "tasks";

		if (!cg->dir[t] || (t == CG_V2 && cg->born_inside))
			continue;
		if (cgroup_file_write(cg->dir[t], file, "0") < 0)
			return err_sys(err, "cannot enter cgroup '%s'",
			               cg->dir[t]);
	}
	return 0;
}

int cgroup_freeze(const struct cgroup *cg, bool frozen)
{
	if (cg->dir[CG_V2] &&
	    !cgroup_file_write(cg->dir[CG_V2], "cgroup.freeze",
	                       frozen ? "1" : "0"))
		return 0;
	if (cg->dir[CG_FREEZER])
		return cgroup_file_write(cg->dir[CG_FREEZER], "freezer.state",
		                         frozen ? "FROZEN" : "THAWED");
	return -1;
}

const char *cgroup_holder(const struct cgroup *cg)
{
	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++)
		if (cg->dir[t])
			return cg->dir[t];
	return NULL;
}

bool cgroup_holds(const struct cgroup *cg)
{
	return cgroup_holder(cg) != NULL;
}

size_t cgroup_procs(const struct cgroup *cg, proc_fn *fn, void *arg)
{
	const char *dir = cgroup_holder(cg);
	struct buf text = { 0 };
	size_t found = 0;
	char *end;

	if (!dir)
		return 0;
	cgroup_file_read(dir, "cgroup.procs", &text);
	for (const char *p = text.data; *p; p = end + (*end == '\n')) {
		long pid = strtol(p, &end, 10);

		if (end == p)
			break;
		if (pid > 0) {
			fn((pid_t)pid, arg);
			found++;
		}
	}
	buf_free(&text);
	return found;
}

bool cgroup_has(const struct cgroup *cg, pid_t pid)
{
	const char *dir = cgroup_holder(cg),
		   *name = dir ? strrchr(dir, '/') : NULL;
	struct buf text = { 0 };
	char path[32];
	bool has = false;

	if (!name)
		return false;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	cgroup_file_read(path, "cgroup", &text);
	/* The group's name contains the run id, so no other group has
	 * that name. */
	for (const char *p = text.data; text.len && *p && !has;) {
		size_t len = strcspn(p, "\n"), n = strlen(name);

		has = len >= n && !strncmp(p + len - n, name, n);
		p += len + (p[len] == '\n');
	}
	buf_free(&text);
	return has;
}

static bool is_inside(pid_t pid, const void *arg)
{
	return cgroup_has(arg, pid);
}

static void kill_one(pid_t pid, void *arg)
{
	proc_signal(pid, SIGKILL, is_inside, arg);
}

void cgroup_kill(const struct cgroup *cg)
{
	if (cg->dir[CG_V2] &&
	    !cgroup_file_write(cg->dir[CG_V2], "cgroup.kill", "1"))
		return;
	cgroup_procs(cg, kill_one, (void *)(uintptr_t)cg);
	if (cg->dir[CG_FREEZER]) /* frozen processes do not die: thaw them */
		cgroup_file_write(cg->dir[CG_FREEZER], "freezer.state",
		                  "THAWED");
}

static int64_t max_number(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void cgroup_usage(const struct cgroup *cg, struct cgroup_usage *ret)
{
	const char *v2 = cg->dir[CG_V2], *v1 = cg->dir[CG_MEMORY];
	int64_t us = -1, bytes = -1, kills = 0;

	if (v2)
		us = cgroup_file_read_number(v2, "cpu.stat", "usage_usec");
	if (cg->v2[CG_MEMORY]) {
		bytes = cgroup_file_read_number(v2, "memory.peak", "");
		kills =
		    cgroup_file_read_number(v2, "memory.events", "oom_kill");
	} else if (v1) {
		bytes = cgroup_file_read_number(v1, "memory.max_usage_in_bytes",
		                                "");
		kills = cgroup_file_read_number(v1, "memory.oom_control",
		                                "oom_kill");
	}
	ret->cpu_ms = us < 0 ? -1 : us / 1000;
	ret->peak_kib = bytes < 0 ? -1 : bytes / 1024;
	ret->oom_kills = max_number(kills, 0);
}

int cgroup_remove(const struct cgroup *cg)
{
	int status = 0;

	for (enum cgroup_tree t = CG_V2; t < CG_NTREES; t++)
		if (cg->dir[t] && rmdir(cg->dir[t]) < 0 && errno != ENOENT)
			status = -1;
	return status;
}
