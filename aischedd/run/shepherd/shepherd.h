/*
 * shepherd.h - the program that runs one attempt of a job
 *
 * Started by the daemon, independent of it once it has claimed the attempt: it
 * lives until nothing of the job is left and the outcome is on disk, whatever
 * becomes of the daemon. One thread, one poll loop.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_SHEPHERD_H
#define AISCHEDD_RUN_SHEPHERD_SHEPHERD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "aischedd/run/shepherd/cgroup.h"
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
	bool moved;      /* its CPUs have changed */
	pid_t pid;       /* of its last process, 0: none yet */
	int out, err;    /* stdout and stderr; shared by tasks of one name */
	int report;      /* pipe for its error if exec fails, or -1 */
	int64_t exec_by; /* monotonic ms: deadline of its exec */
	bool late;       /* it missed that and was killed */
	/* monotonic ms: when to start it; if it leaves: to kill it */
	int64_t at;
	int64_t pause; /* ms between two rounds of SIGKILL */
};

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
	const char *tmpdir; /* the job's own */
	struct claim claim;
	struct cgroup cg; /* claim.cgroup, as far as it could be made */

	/* Credentials of the job's processes, if not ours. */
	bool other_user;
	gid_t *group;
	int ngroups;
	const char *home, *shell;

	/* of the order's tasks and CPUs; NULL: first ones */
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
	int64_t leave_grace;     /* seconds of grace for these */
	bool resizing;           /* the daemon waits for an answer, */
	uint32_t resize;         /* with this number */
	uint32_t replaced;       /* failed tasks that were started again */
	struct buf last_failure; /* how the last of them failed */
	struct file *file;       /* outputs, each once */
	size_t nfiles, files_cap;

	int listen_fd, conn, signal_fd;
	bool suspended, frozen; /* frozen: by the cgroup, not by signals */
	bool ending;            /* SIGTERM was sent, or the script has ended */
	bool childless;         /* nothing of the job is left */
	struct buf cpus;   /* CPUs of the group, as the kernel reads them */
	bool watch_memory; /* no cgroup limits memory: we do */
	bool out_of_memory;
	int64_t kill_at, look_at; /* monotonic ms; 0: never */
	int64_t kill_pause;       /* ms between two rounds of SIGKILL */
	int64_t peak_kib, cpu_us; /* as far as we measured ourselves */
	struct outcome outcome;
};

/* --- task.c: from the order to running processes --- */

/*
 * Prepare files, credentials, cgroup, and start the processes; all or none. A
 * failure is a fault of the user or of the system.
 */
int tasks_start(struct shepherd *s, enum start_fault *ret_fault,
                struct err *err);
/*
 * Returns 1 once all have become the script, 0 while one has not. Fails with
 * the error of one of them, or if one takes too long: its user can stop it
 * before that, and its files may be on a server that does not answer.
 */
int tasks_started(struct shepherd *s, enum start_fault *ret_fault,
                  struct err *err);
/* Start one more task, or a failed one again. If it fails, the job goes on
 * without it. */
int task_start(struct shepherd *s, uint32_t i, struct err *err);
/* Kill it if it missed the deadline of its exec. */
void task_check(struct task *t, int64_t now);
/* Returns 1 if it could not become the script, with why; else 0. */
int task_report(struct task *t, struct err *err);
/* Write a line of ours to each stderr of the job. */
void tasks_say(struct shepherd *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- limit.c: what the processes may use --- */

/* Make the cgroup. */
void limits_make(struct shepherd *s);
/* Apply changed tasks or CPUs. */
void limits_change(struct shepherd *s);
/* Bind the process that becomes task i; or task i and all below it. */
void limits_bind_self(const struct shepherd *s, uint32_t i);
void limits_bind(const struct shepherd *s, uint32_t i);

/* --- gang.c: tasks that come, fail and leave --- */

/*
 * Go on with the tasks and CPUs of a new place: running tasks without a match
 * there leave, missing ones are started.
 */
void gang_place(struct shepherd *s, json_t *place);
/* A process has ended, with this status of wait(). */
void gang_task_ended(struct shepherd *s, pid_t pid, int status);
/* Start and kill what is due. */
void gang_step(struct shepherd *s, int64_t now);
/* Returns when something is due, monotonic ms, or 0. */
int64_t gang_due(const struct shepherd *s);
/* --- shepherd.c --- */

void tell_replaced(struct shepherd *s);
void tell_resized(struct shepherd *s);

/* --- end.c: signals, memory and the end --- */

int64_t job_mem_mib(const struct shepherd *s);
/* Call fn for each process of the job; returns how many. */
size_t job_each(struct shepherd *s, proc_fn *fn, void *arg);
/* Whether the process is of the job, a struct shepherd, now. */
bool job_has(pid_t pid, const void *arg);
/* Signal every process of the job. */
void job_signal(struct shepherd *s, int signo);
void job_suspend(struct shepherd *s);
void job_resume(struct shepherd *s);
/* SIGCONT, SIGTERM, after grace seconds SIGKILL. */
void job_end(struct shepherd *s, int64_t grace);
/* SIGKILL all processes and wait until none is left. */
void job_kill(struct shepherd *s);
/* Reap dead processes, do what is due; returns true once nothing of the job is
 * left. */
bool job_step(struct shepherd *s);
/* Returns ms until something is due, -1: never. */
int job_timeout(const struct shepherd *s);
/* Put what it used into the outcome; then remove its cgroups. */
void job_account(struct shepherd *s);

#endif
