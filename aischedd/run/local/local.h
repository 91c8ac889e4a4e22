/*
 * local.h - the runner of this machine, as its own files see it
 *
 * ask.c is what the daemon may ask, such as to start a shepherd;
 * attempt.c talks to shepherds; recover.c finds out what
 * became of attempts whose shepherd does not answer: after a restart of the
 * daemon, and when one was killed.
 */
#ifndef AISCHEDD_RUN_LOCAL_LOCAL_H
#define AISCHEDD_RUN_LOCAL_LOCAL_H

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/local/inventory.h"
#include "aischedd/run/runner.h"
#include "aischedd/run/shepherd/cgroup.h"
#include "aischedd/run/shepherd/record.h"
#include "libcommon/buf.h"
#include "libcommon/map.h"

enum attempt_state {
	ATTEMPT_WAITS,   /* the nursery has no room for it yet */
	ATTEMPT_TALKS,   /* connected to its shepherd */
	ATTEMPT_FAILED,  /* could not be started; to be told */
	ATTEMPT_UNCLEAR, /* its record must be looked at */
	ATTEMPT_DYING,   /* without shepherd; what is left is being killed */
	ATTEMPT_DONE,    /* its last event was told */
	ATTEMPT_REMOVED  /* likewise; its files are being removed */
};

struct attempt {
	struct local *local;
	uint64_t job;
	uint32_t attempt;
	enum attempt_state state;
	bool stray;   /* nobody asked for it: it is ended, not told about */
	bool awaited; /* recover() waits for its answer */
	bool started; /* RUN_STARTED was told */
	bool forgotten;
	struct attempt *next; /* in local->work */

	int fd; /* -1: not connected */
	struct event *readable;
	int order_fd, child_fd; /* until the nursery has them; then -1 */

	json_t *stop, *resize; /* to be sent once it is connected, or NULL */

	struct claim claim; /* while dying; its texts are in arena */
	struct arena *arena;
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
	char *tmp_dir; /* below it each attempt has its temporary folder */
	int64_t max_processes;
	int dirfd, null_fd;
	int lock_fd; /* dir/lock: see local_lock() */
	bool locked;
	char *shepherd; /* path of the program */
	int nursery_fd; /* -1: it must be started first */
	pid_t nursery_pid;
	struct arena *arena;
	struct machine machine;
	struct cgroup_ways ways;
	bool scope; /* the nursery is in one and divides it itself */
	char boot[BOOT_ID_SIZE];
	struct buf shortcomings;

	struct map attempts;
	struct attempt *work; /* what the next tick looks after */
	struct event *tick;
	bool hello;         /* RUN_NODE is still to be told */
	bool recovering;    /* RUN_SYNCED likewise */
	bool strays_unseen; /* of recover(): to be looked for */
	size_t awaited;     /* attempts of recover() without an answer */
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
/* Talk over fd from now on, or no longer. */
void attempt_connect(struct attempt *a, int fd);
void attempt_hang_up(struct attempt *a);
void attempt_send(struct attempt *a, json_t *msg);
/* Send it, or keep it in *kept until its shepherd is found again. */
void attempt_insist(struct attempt *a, json_t **kept, json_t *msg);
/* Look after it at the next tick. */
void attempt_queue(struct attempt *a);
/* Fill in who and deliver; an answer of recover() is counted. */
void attempt_tell(struct attempt *a, struct run_event *ev);
/* That was its last event; strays and forgotten ones are removed. */
void attempt_done(struct attempt *a);
/* One step of that.  Returns true once the attempt is gone and freed. */
bool attempt_remove(struct attempt *a);

/* --- ask.c: as in runner.h --- */

void local_start(struct runner *r, const struct run_job *job);
/* Hand it to the nursery; false: it has no room for more, try again. */
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

/* Finds what cgroups can be had, too. */
int nursery_open(struct local *l, struct err *err);
void nursery_close(struct local *l);
/* Hand over child_fd and order_fd.  1: done; 0: it has no room, try later. */
int nursery_send(struct local *l, const struct attempt *a, struct err *err);

/* --- recover.c --- */

/*
 * Each shepherd inherits the daemon's lock and lets go of it once it has
 * claimed its attempt: whoever holds the lock knows that no start of an
 * earlier daemon is still under way.
 */
bool local_lock(struct local *l);
void local_recover(struct runner *r, size_t n, const uint64_t *job,
                   const uint32_t *attempt);
/* Directories of attempts that nobody asked about. */
void local_find_strays(struct local *l);
/* One step with what is unclear or dying; true: it is settled. */
bool attempt_settle(struct attempt *a);

#endif
