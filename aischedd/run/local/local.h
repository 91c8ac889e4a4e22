/*
 * local.h - the runner of this machine, for its own files
 *
 * ask.c serves requests of the daemon; attempt.c talks to shepherds; recover.c
 * finds out what became of attempts whose shepherd does not answer: after a
 * restart of the daemon, and when one was killed.
 */
#ifndef AISCHEDD_RUN_LOCAL_LOCAL_H
#define AISCHEDD_RUN_LOCAL_LOCAL_H

#include <dirent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "aischedd/run/local/inventory.h"
#include "aischedd/run/runner.h"
#include "aischedd/run/shepherd/cgroup.h"
#include "aischedd/run/shepherd/record.h"
#include "libcommon/buf.h"
#include "libcommon/map.h"

enum attempt_state {
	ATTEMPT_WAITS,   /* the nursery has no room for it yet */
	ATTEMPT_TALKS,   /* connected to its shepherd */
	ATTEMPT_FAILED,  /* could not be started; still to be told */
	ATTEMPT_UNCLEAR, /* its record must be read */
	ATTEMPT_DYING,   /* without shepherd; its processes are being killed */
	ATTEMPT_DONE,    /* its last event was told */
	ATTEMPT_REMOVED  /* likewise; its files are being removed */
};

struct attempt {
	struct local *local;
	uint64_t job;
	uint32_t attempt;
	enum attempt_state state;
	bool stray;   /* unknown to the daemon: ended, not told */
	bool awaited; /* recover() waits for its answer */
	bool started; /* RUN_STARTED was told */
	bool forgotten;
	struct attempt *next; /* in local->work */

	int fd; /* -1: not connected */
	struct event *readable;
	int order_fd, child_fd; /* until the nursery has them; then -1 */

	json_t *stop, *resize; /* to be sent once it is connected, or NULL */

	struct claim claim; /* while dying; its strings are in arena */
	struct arena *arena;
	bool scanned;        /* while dying: all processes were looked at, */
	uint32_t scan;       /* in this scan, */
	size_t left;         /* and so many were its */
	int64_t dying_since; /* unix seconds */
	uint32_t slices;     /* turns that its removal has taken */
	struct err err;      /* why it failed */
};

struct local {
	struct runner runner;
	struct event_base *base;
	run_event_fn *fn;
	void *arg;

	char *dir;     /* state_dir/run */
	char *tmp_dir; /* each attempt has its temporary folder below it */
	int64_t max_processes;
	uint32_t rlimits;    /* of submitters that jobs get */
	struct rlimit files; /* RLIMIT_NOFILE that others have from us */
	int dirfd, null_fd;
	int lock_fd; /* of dir/lock: see local_lock() */
	bool locked;
	char *shepherd; /* path of the program */
	int nursery_fd; /* -1: to be started first */
	pid_t nursery_pid;
	struct arena *arena;
	struct machine machine;
	struct cgroup_ways ways;
	bool scope; /* the nursery has a delegated scope and divides it */
	char boot[BOOT_ID_SIZE];
	struct buf shortcomings;

	struct map attempts;
	DIR *proc;            /* a scan for processes of those that are dying */
	uint32_t scan;        /* its number */
	struct attempt *work; /* attempts for the next tick */
	struct event *tick;
	bool hello;         /* RUN_NODE is still to be told */
	bool recovering;    /* RUN_SYNCED is still to be told */
	bool strays_unseen; /* unknown attempts are still to be looked for */
	size_t awaited;     /* attempts of recover() without answer */
};

static inline struct local *local_of(struct runner *r)
{
	return (struct local *)(void *)((char *)r -
	                                offsetof(struct local, runner));
}

/* --- attempt.c --- */

void local_name(char ret[48], uint64_t job, uint32_t attempt);
struct attempt *attempt_find(struct local *l, uint64_t job, uint32_t attempt);
struct attempt *attempt_new(struct local *l, uint64_t job, uint32_t attempt);
void attempt_free(struct attempt *a);
/* Begin or stop talking over fd. */
void attempt_connect(struct attempt *a, int fd);
void attempt_hang_up(struct attempt *a);
void attempt_send(struct attempt *a, json_t *msg);
/* Send msg, or keep it in *kept until its shepherd is found again. */
void attempt_insist(struct attempt *a, json_t **kept, json_t *msg);
/* Handle it at the next tick. */
void attempt_queue(struct attempt *a);
/* Fill in job and attempt and deliver; answers of recover() are counted. */
void attempt_tell(struct attempt *a, struct run_event *ev);
/* Its last event was told; remove it if it is stray or forgotten. */
void attempt_done(struct attempt *a);
/* Do one step of the removal. Returns true once the attempt is freed. */
bool attempt_remove(struct attempt *a);

/* --- ask.c: see runner.h --- */

void local_start(struct runner *r, const struct run_job *job);
/* Hand it to the nursery; returns false if that has no room now. */
bool attempt_launch(struct attempt *a);
void local_stop(struct runner *r, uint64_t job, uint32_t attempt,
                enum stop_why why, int64_t grace);
void local_signal(struct runner *r, uint64_t job, uint32_t attempt, int signo,
                  bool script_only);
void local_suspend(struct runner *r, uint64_t job, uint32_t attempt);
void local_resume(struct runner *r, uint64_t job, uint32_t attempt,
                  uint32_t ntasks, const struct snap_task *task,
                  const struct snap_cpu_use *cpu_use);
void local_resize(struct runner *r, const struct run_job *job);
void local_forget(struct runner *r, uint64_t job, uint32_t attempt);

/* --- nursery.c --- */

/* Also finds the cgroups that are available. */
int nursery_open(struct local *l, struct err *err);
void nursery_close(struct local *l);
/* Hand over child_fd and order_fd. Returns 1 if done, 0 if there is no room
 * now, -1 on failure. */
int nursery_send(struct local *l, const struct attempt *a, struct err *err);

/* --- recover.c --- */

/*
 * Each shepherd inherits the daemon's lock and releases it once it has claimed
 * its attempt. So whoever gets the lock knows that no start of an earlier
 * daemon is still in progress.
 */
bool local_lock(struct local *l);
void local_recover(struct runner *r, size_t n, const uint64_t *job,
                   const uint32_t *attempt);
/* Find directories of attempts that the daemon did not name. */
void local_find_strays(struct local *l);
/*
 * Look at some processes of the machine, and kill those of attempts that are
 * dying.  One scan of /proc is for all of them, and is spread over turns.
 */
void local_scan(struct local *l);
/* Do one step for an unclear or dying attempt; returns true once it is
 * settled. */
bool attempt_settle(struct attempt *a);

#endif
