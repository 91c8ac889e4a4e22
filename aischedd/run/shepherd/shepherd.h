/*
 * shepherd.h - the program that runs one attempt of a job
 *
 * The daemon starts it, but once it has claimed the attempt it is independent
 * of the daemon: it lives until no process of the job is left and the outcome
 * is on disk. It has one thread and one poll loop.
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

/* One process that the shepherd starts for the job. Its children are not
 * listed. */
struct task {
	uint32_t rank;
	enum task_state state;
	bool moved; /* its CPUs have changed: bind it again */
	pid_t pid;  /* of its last process, 0: none yet */
	/* stdout and stderr; tasks with the same file name share a descriptor
	 */
	int out, err;
	int report;      /* pipe for its error if exec fails, or -1 */
	int64_t exec_by; /* monotonic ms: deadline of its exec */
	bool late;       /* it missed that deadline and was killed */
	/* monotonic ms: when to start it or, in `leaving`, when to kill it */
	int64_t at;
	int64_t pause; /* ms between two rounds of SIGKILL */
};

#define END_FILE "end" /* in dir */

/* An open file of the job. */
struct file {
	char *path;
	int fd;
	int say_fd; /* the same file, opened with O_NONBLOCK */
};

struct shepherd {
	struct arena *arena;
	struct order order;
	const char *dir; /* state_dir/run/JOB.ATTEMPT */
	int dirfd, claim_fd;
	const char *tmpdir;   /* the job's temporary folder */
	const char *end_file; /* the file that tells the job why it is ended */
	struct claim claim;
	struct cgroup cg; /* the part of claim.cgroup that could be made */

	/* Credentials of the job's processes; other_user: they differ from
	 * ours. */
	bool other_user;
	gid_t *group;
	int ngroups;
	const char *home, *shell;

	/* owns the tasks and CPUs of the last resume() or resize(); NULL: they
	 * are those of the first order */
	struct arena *place;

	struct task *task; /* [ntasks] as in the order, or one for all */
	uint32_t ntasks;
	uint32_t alive;       /* tasks not TASK_ENDED */
	int report;           /* pipe of all tasks started together, or -1 */
	int64_t exec_by;      /* monotonic ms: deadline of their exec */
	bool started;         /* all of them have called exec */
	struct task *leaving; /* [nleaving] tasks that a resize ends */
	uint32_t nleaving;
	size_t leaving_cap;
	int64_t leave_grace; /* seconds from their SIGTERM to SIGKILL */
	bool resizing;       /* the daemon waits for the answer to a resize */
	uint32_t resize;     /* the number of that resize */
	uint32_t replaced;   /* failed tasks that were started again */
	struct buf last_failure; /* how the last replaced task failed */
	struct file *file;       /* [nfiles] output files, each once */
	size_t nfiles, files_cap;

	int listen_fd, conn, signal_fd;
	struct steps *steps;    /* NULL: no socket for steps */
	bool suspended, frozen; /* frozen: suspended by the cgroup freezer, not
	                           by SIGSTOP */
	bool ending;            /* SIGTERM was sent, or the script has ended */
	bool childless;         /* the shepherd has no child processes left */
	struct buf cpus;        /* CPUs of the cgroup as a list: "0,4" */
	int deny_fd;            /* BPF program that denies GPUs; -1: none */
	bool watch_memory; /* no cgroup limits memory, so the shepherd does */
	bool out_of_memory;
	int64_t kill_at, look_at; /* monotonic ms; 0: never */
	int64_t kill_pause;       /* ms between two rounds of SIGKILL */
	int64_t peak_kib, cpu_us; /* measured without a cgroup */
	struct gpu_watch gpu;
	struct outcome outcome;
};

/* Send the daemon how many tasks were replaced, that a resize is done, or the
 * use of GPUs so far. */
void tell_replaced(struct shepherd *s);
void tell_resized(struct shepherd *s);
void tell_used(struct shepherd *s);

/* Whether the process belongs to the job now; arg: the struct shepherd. */
bool job_has(pid_t pid, const void *arg);

#endif
