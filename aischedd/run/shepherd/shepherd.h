/*
 * shepherd.h - the program that runs one attempt of a job
 *
 * The daemon starts the shepherd, but once the shepherd has claimed the attempt
 * it is independent of the daemon: it lives until no process of the job is left
 * and the outcome is on disk. It has one thread and one poll loop.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_SHEPHERD_H
#define AISCHEDD_RUN_SHEPHERD_SHEPHERD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "aischedd/run/shepherd/cgroup.h"
#include "aischedd/run/shepherd/gpu_watch.h"
#include "aischedd/run/shepherd/order.h"
#include "aischedd/run/shepherd/record.h"
#include "aischedd/run/shepherd/tmp.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

enum task_state {
	TASK_DUE, /* must be started, for the first time or again */
	TASK_RUNS,
	TASK_ENDED
};

/* A task of the job: the process that the shepherd starts for it. Children of
 * that process are not listed. */
struct task {
	uint32_t rank;
	enum task_state state;
	bool moved; /* its CPUs have changed, so it must be bound again */
	pid_t pid;  /* its last process; 0: it has had none */
	/* stdout and stderr; tasks share the descriptors of files with the
	 * same name */
	int out, err;
	int report;      /* pipe for the error if exec fails, or -1 */
	int64_t exec_by; /* monotonic ms: deadline for its exec */
	bool late;       /* it missed that deadline and was killed */
	/* monotonic ms: when to start the task or, if a resize ends it, to
	 * kill it */
	int64_t at;
	/* pause between two rounds of SIGKILL, in ms */
	int64_t pause;
};

/* name of end_file in dir */
#define END_FILE "end"

/* An output file of the job that is open. */
struct file {
	char *path;
	int fd;
	int say_fd; /* descriptor for lines of our own; see open_to_say() */
};

struct shepherd {
	struct arena *arena;
	struct order order;
	const char *dir; /* state_dir/run/JOB.ATTEMPT */
	int dirfd, claim_fd;
	const char *tmpdir;   /* the job's temporary folder */
	int tmp_fd;           /* a descriptor of it, which locks it; or -1 */
	uint32_t project;     /* its project with a quota; 0: it has none */
	const char *end_file; /* file that tells the job why it is ended */
	struct claim claim;
	/* those directories of claim.cgroup that could be made */
	struct cgroup cg;

	/* other_user: the job's processes run as another user than the
	 * shepherd; then the next members describe that user. */
	bool other_user;
	gid_t *group;
	int ngroups;
	const char *home, *shell;

	/* arena of the tasks and CPUs set by the last resume() or resize();
	 * NULL: those of the order are still in use */
	struct arena *place;

	/* [ntasks] the tasks of the order, or one for all of them */
	struct task *task;
	uint32_t ntasks;
	uint32_t alive; /* tasks whose state is not TASK_ENDED */
	/* pipe for errors of the tasks that tasks_start() starts, or -1 */
	int report;
	/* monotonic ms: time by which these tasks must have called exec */
	int64_t exec_by;
	bool started; /* all tasks of tasks_start() have called exec */
	/* [nleaving] tasks that a resize ends */
	struct task *leaving;
	uint32_t nleaving;
	size_t leaving_cap;
	/* seconds from SIGTERM to SIGKILL for tasks that a resize ends */
	int64_t leave_grace;
	/* the daemon waits for the answer to a resize */
	bool resizing;
	uint32_t resize;   /* the number of that resize */
	uint32_t replaced; /* failed tasks that were started again */
	/* text that says how the last replaced task failed */
	struct buf last_failure;
	/* [nfiles] open output files; each path has one entry */
	struct file *file;
	size_t nfiles, files_cap;

	int listen_fd, conn, signal_fd;
	/* NULL: there is no socket for steps */
	struct steps *steps;
	/* frozen: the job is suspended by the cgroup freezer, not by SIGSTOP */
	bool suspended, frozen;
	/* the job has been sent SIGTERM, or its script has ended */
	bool ending;
	bool childless; /* the shepherd has no child processes left */
	/* CPUs to which the cgroup is bound, as in "0,4" */
	struct buf cpus;
	/* BPF program that denies GPUs to the job; -1: none */
	int deny_fd;
	/* no cgroup limits the memory, so the shepherd watches it */
	bool watch_memory;
	bool out_of_memory;
	/* monotonic ms: when to send the next SIGKILL, and when to look at
	 * memory; 0: never */
	int64_t kill_at, look_at;
	/* pause between two rounds of SIGKILL, in ms */
	int64_t kill_pause;
	/* measured by the shepherd, in case there is no cgroup */
	int64_t peak_kib, cpu_us;
	struct gpu_watch gpu;
	struct tmp_watch tmp_watch;
	struct outcome outcome;
};

/* Send the daemon an event: how many tasks were replaced, that a resize is
 * done, or how the GPUs have been used so far. */
void tell_replaced(struct shepherd *s);
void tell_resized(struct shepherd *s);
void tell_used(struct shepherd *s);

/* Whether the process belongs to the job now. arg is the struct shepherd. */
bool job_has(pid_t pid, const void *arg);

#endif
