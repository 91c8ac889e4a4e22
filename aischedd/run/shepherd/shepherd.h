/*
 * shepherd.h - the program that runs one attempt of a job
 *
 * Started by the daemon, independent of it from the moment it has claimed
 * the attempt: it lives until nothing of the job is left and the outcome is
 * on disk, whatever becomes of the daemon.  One thread, one poll loop.
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
	TASK_DUE, /* is to be started, maybe again */
	TASK_RUNS,
	TASK_ENDED
};

/* One process that the job consists of; what it starts is not listed. */
struct task {
	uint32_t rank;
	enum task_state state;
	bool moved;   /* to other CPUs than it had */
	pid_t pid;    /* of its last process, 0: it had none yet */
	int out, err; /* stdout and stderr; shared by tasks of one name */
	int report;   /* what it says if it cannot become the script, or -1 */
	int64_t exec_by; /* monotonic ms: then it must have become it */
	bool late;       /* it had not, and was killed */
	int64_t at;      /* monotonic ms: when it is to be started; of one that
	                  * leaves: killed */
	int64_t pause;   /* ms between two rounds of SIGKILL */
};

/* An open file of the job. */
struct file {
	char *path;
	int fd;
	int say_fd; /* the same, but writing to it never waits */
};

struct shepherd {
	struct arena *arena;
	struct order order;
	const char *dir; /* state_dir/run/JOB.ATTEMPT */
	int dirfd, claim_fd;
	const char *tmpdir; /* of the job's own */
	struct claim claim;
	struct cgroup cg; /* claim.cgroup as far as it could be made */

	/* Credentials of the job's processes, when they are not ours. */
	bool other_user;
	gid_t *group;
	int ngroups;
	const char *home, *shell;

	struct arena *place; /* of the order's tasks and CPUs; NULL: arena */

	struct task *task; /* [ntasks] as in the order, or one for all */
	uint32_t ntasks;
	uint32_t alive;       /* of these: not TASK_ENDED */
	int report;           /* of all that were started together, or -1 */
	int64_t exec_by;      /* monotonic ms: then they must have become it */
	bool started;         /* they have */
	struct task *leaving; /* [nleaving] were told to */
	uint32_t nleaving;
	size_t leaving_cap;
	int64_t leave_grace;     /* seconds that they have */
	bool resizing;           /* the daemon waits for an answer, */
	uint32_t resize;         /* with this number */
	uint32_t replaced;       /* tasks that failed and were started again */
	struct buf last_failure; /* what happened to the last of them */
	struct file *file;       /* outputs, each once */
	size_t nfiles, files_cap;

	int listen_fd, conn, signal_fd;
	bool suspended, frozen; /* frozen: by its group, not by signals */
	bool ending;       /* SIGTERM was sent, or only leftovers are left */
	bool childless;    /* nothing of the job is left */
	struct buf cpus;   /* those of the group, as the kernel reads them */
	bool watch_memory; /* no group limits it: we do */
	bool out_of_memory;
	int64_t kill_at, look_at; /* monotonic ms; 0: not at all */
	int64_t kill_pause;       /* ms between two rounds of SIGKILL */
	int64_t peak_kib, cpu_us; /* as far as we saw ourselves */
	struct outcome outcome;
};

/* --- task.c: from the order to running processes --- */

/*
 * Files, credentials, group, processes; all or none.  What goes wrong is a
 * fault of the user's or of the system's.
 */
int tasks_start(struct shepherd *s, enum start_fault *ret_fault,
                struct err *err);
/*
 * Returns 1 once all of them have become the script, 0 as long as one may.
 * Fails with what one of them says, or if one takes too long: its user can
 * stop it before that, and its files may be on a server that does not answer.
 */
int tasks_started(struct shepherd *s, enum start_fault *ret_fault,
                  struct err *err);
/* One more task, or one that failed.  Fails: the job goes on without it. */
int task_start(struct shepherd *s, uint32_t i, struct err *err);
/* Kill it if it should have become the script by now and has not. */
void task_check(struct task *t, int64_t now);
/* Returns 1 if it could not become the script, with why; else 0. */
int task_report(struct task *t, struct err *err);
/* A line of ours in every stderr of the job. */
void tasks_say(struct shepherd *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- limit.c: what the processes may use --- */

/* Make the group. */
void limits_make(struct shepherd *s);
/* The job has other tasks, or CPUs, than it had. */
void limits_change(struct shepherd *s);
/* Of the process that becomes task i; of task i and all below it. */
void limits_bind_self(const struct shepherd *s, uint32_t i);
void limits_bind(const struct shepherd *s, uint32_t i);

/* --- gang.c: tasks that come, fail and leave --- */

/*
 * The job goes on with the tasks and CPUs of a new place: those that run and
 * have none there leave, those that are missing are started.
 */
void gang_place(struct shepherd *s, json_t *place);
/* The process has ended, with this status of wait(). */
void gang_task_ended(struct shepherd *s, pid_t pid, int status);
/* Start and kill what is due. */
void gang_step(struct shepherd *s, int64_t now);
/* When something is, monotonic ms, or 0. */
int64_t gang_due(const struct shepherd *s);
/* --- shepherd.c --- */

void tell_replaced(struct shepherd *s);
void tell_resized(struct shepherd *s);

/* --- end.c: signals, memory and the end --- */

int64_t job_mem_mib(const struct shepherd *s);
/* Call fn for each process of the job; their number. */
size_t job_each(struct shepherd *s, proc_fn *fn, void *arg);
/* To every process of the job. */
void job_signal(struct shepherd *s, int signo);
void job_suspend(struct shepherd *s);
void job_resume(struct shepherd *s);
/* SIGCONT, SIGTERM, after grace seconds SIGKILL. */
void job_end(struct shepherd *s, int64_t grace);
/* SIGKILL all and wait until nothing of it is left. */
void job_kill(struct shepherd *s);
/* Reap what died, do what is due; true once nothing of the job is left. */
bool job_step(struct shepherd *s);
/* Milliseconds until something is due, -1: never. */
int job_timeout(const struct shepherd *s);
/* What it used, into the outcome; then its groups are removed. */
void job_account(struct shepherd *s);

#endif
