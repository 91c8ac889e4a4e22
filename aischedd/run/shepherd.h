/*
 * shepherd.h - the program that runs one attempt of a job
 *
 * Started by the daemon, independent of it from the moment it has claimed
 * the attempt: it lives until nothing of the job is left and the outcome is
 * on disk, whatever becomes of the daemon.  One thread, one poll loop.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_H
#define AISCHEDD_RUN_SHEPHERD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "aischedd/run/cgroup.h"
#include "aischedd/run/order.h"
#include "aischedd/run/record.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

/* One process that the job consists of; what it starts is not listed. */
struct task {
	pid_t pid;
	bool ended;
	int fd[3]; /* stdin, stdout, stderr; shared by tasks of one name */
};

/* An open file of the job. */
struct file {
	char *path;
	int fd;
};

struct shepherd {
	struct arena *arena;
	struct order order;
	const char *dir; /* state_dir/run/JOB.ATTEMPT */
	int dirfd, claim_fd;
	struct claim claim;
	struct cgroup cg; /* claim.cgroup as far as it could be made */

	/* Credentials of the job's processes, when they are not ours. */
	bool other_user;
	gid_t *group;
	int ngroups;
	const char *home, *shell;

	struct task *task;
	uint32_t ntasks, alive;
	struct file *file; /* outputs, each once */
	size_t nfiles, files_cap;

	int listen_fd, conn, signal_fd;
	bool suspended;
	bool ending;       /* SIGTERM was sent, or only leftovers are left */
	bool childless;    /* nothing of the job is left */
	bool watch_memory; /* no group limits it: we do */
	bool out_of_memory;
	int64_t kill_at, look_at; /* monotonic ms; 0: not at all */
	int64_t kill_pause;       /* ms between two rounds of SIGKILL */
	int64_t peak_kib, cpu_us; /* as far as we saw ourselves */
	struct outcome outcome;
};

/* --- shepherd_task.c: from the order to running processes --- */

/*
 * Files, credentials, group, processes; all or none.  What goes wrong is a
 * fault of the user's or of the system's.
 */
int tasks_start(struct shepherd *s, enum start_fault *ret_fault,
                struct err *err);
/* Bind the processes to the CPUs that order.job has now. */
void tasks_bind(struct shepherd *s);
/* A line of ours in every stderr of the job. */
void tasks_say(struct shepherd *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- shepherd_end.c: signals, memory and the end --- */

int64_t job_mem_mib(const struct shepherd *s);
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
