/*
 * shepherd.h - the program that runs one attempt of a job
 *
 * Started by the daemon, but independent of it once it has claimed the attempt:
 * it lives until nothing of the job is left and the outcome is on disk,
 * whatever becomes of the daemon. One thread, one poll loop.
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
#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

enum task_state {
	TASK_DUE, /* to be started, perhaps again */
	TASK_RUNS,
	TASK_ENDED
};

/* One main process of the job; what it starts is not listed. */
struct task {
	uint32_t rank;
	enum task_state state;
	bool moved; /* its CPUs have changed */
	pid_t pid;  /* of its last process, 0: none yet */
	/* stdout and stderr; tasks with the same name share them */
	int out, err;
	int report;      /* pipe for its error if exec fails, or -1 */
	int64_t exec_by; /* monotonic ms: deadline of its exec */
	bool late;       /* it missed that deadline and was killed */
	/* monotonic ms: when to start it, or to kill it if it leaves */
	int64_t at;
	int64_t pause; /* ms between two rounds of SIGKILL */
};

#define END_FILE "end" /* in dir */

/* An open file of the job. */
struct file {
	char *path;
	int fd;
	int say_fd; /* the same file, but writing to it never waits */
};

struct shepherd {
	struct arena *arena;
	struct order order;
	const char *dir; /* state_dir/run/JOB.ATTEMPT */
	int dirfd, claim_fd;
	const char *tmpdir;   /* the job's own */
	const char *end_file; /* the file that tells the job why it is ended */
	struct claim claim;
	struct cgroup cg; /* the part of claim.cgroup that could be made */

	/* Credentials of the job's processes, if not ours. */
	bool other_user;
	gid_t *group;
	int ngroups;
	const char *home, *shell;

	/* the tasks and CPUs as an order changed them; NULL: as they began */
	struct arena *place;

	struct task *task; /* [ntasks] as in the order, or one for all */
	uint32_t ntasks;
	uint32_t alive;       /* tasks not TASK_ENDED */
	int report;           /* of all tasks started together, or -1 */
	int64_t exec_by;      /* monotonic ms: deadline of their exec */
	bool started;         /* all have become the script */
	struct task *leaving; /* [nleaving] told to end */
	uint32_t nleaving;
	size_t leaving_cap;
	int64_t leave_grace; /* seconds of grace for these */
	bool resizing;       /* the daemon waits for the answer to a resize */
	uint32_t resize;     /* the number of that resize */
	uint32_t replaced;   /* failed tasks that were started again */
	struct buf last_failure; /* how the last of them failed */
	struct file *file;       /* outputs, each once */
	size_t nfiles, files_cap;

	int listen_fd, conn, signal_fd;
	struct steps *steps;    /* NULL: it has none */
	bool suspended, frozen; /* frozen: by the cgroup, not by signals */
	bool ending;            /* SIGTERM was sent, or the script has ended */
	bool childless;         /* nothing of the job is left */
	struct buf cpus;   /* CPUs of the group, as the kernel reads them */
	int deny_fd;       /* program that denies GPUs; -1: none */
	bool watch_memory; /* no cgroup limits memory: we do */
	bool out_of_memory;
	int64_t kill_at, look_at; /* monotonic ms; 0: never */
	int64_t kill_pause;       /* ms between two rounds of SIGKILL */
	int64_t peak_kib, cpu_us; /* as far as we measured ourselves */
	struct gpu_watch gpu;
	struct outcome outcome;
};

void tell_replaced(struct shepherd *s);
void tell_resized(struct shepherd *s);
void tell_used(struct shepherd *s);

/* Whether the process is of the job, a struct shepherd, now. */
bool job_has(pid_t pid, const void *arg);

#endif
