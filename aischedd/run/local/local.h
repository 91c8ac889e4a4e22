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
	ATTEMPT_WAITS,   /* to be sent to the nursery, whose socket was full */
	ATTEMPT_TALKS,   /* connected to its shepherd */
	ATTEMPT_FAILED,  /* could not be started; the daemon is to be told */
	ATTEMPT_UNCLEAR, /* no shepherd answers: its record must be read */
	ATTEMPT_DYING,   /* without shepherd; its processes are being killed */
	ATTEMPT_DONE,    /* the daemon has got its last event */
	ATTEMPT_REMOVED  /* likewise, and its files are being removed */
};

struct attempt {
	struct local *local;
	uint64_t job;
	uint32_t attempt;
	enum attempt_state state;
	bool stray;           /* found on disk, but not named by recover() */
	bool awaited;         /* recover() waits for its answer */
	bool started;         /* RUN_STARTED was told */
	bool forgotten;       /* forget() was called */
	struct attempt *next; /* in local->work */

	int fd; /* -1: not connected */
	struct event *readable;
	int order_fd, child_fd; /* open until sent to the nursery; then -1 */

	json_t *stop, *resize; /* to be sent once it is connected, or NULL */

	struct claim claim; /* while dying; its strings are in arena */
	struct arena *arena;
	bool scanned;        /* while dying: a scan of /proc is complete */
	uint32_t scan;       /* number of the scan in progress */
	size_t left;         /* its processes that this scan has found so far */
	int64_t dying_since; /* unix seconds */
	uint32_t slices;     /* calls of attempt_remove() so far */
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
	uint32_t rlimits; /* bits: which rlimits jobs get from submitters */
	bool constrain_devices;
	int64_t sample_s;  /* seconds between samples of GPU use */
	char *gpu_program; /* path of aisched-gpu, or NULL */
	/* RLIMIT_NOFILE that other processes inherit from us */
	struct rlimit files;
	int dirfd, null_fd;
	int lock_fd; /* of dir/lock: see local_lock() */
	bool locked;
	char *shepherd; /* path of the shepherd program */
	int nursery_fd; /* -1: not started */
	pid_t nursery_pid;
	struct arena *arena;
	struct machine machine;
	struct cgroup_ways ways;
	bool scope; /* the nursery runs in a scope of systemd for our cgroups */
	char boot[BOOT_ID_SIZE];
	struct buf shortcomings;

	struct health *health;
	char *unwell; /* what the health program found wrong; NULL: nothing */

	struct map attempts;
	DIR *proc;     /* /proc, while it is scanned for dying attempts */
	uint32_t scan; /* number of that scan */
	struct attempt *work; /* attempts for the next tick */
	struct event *tick;
	bool hello;         /* RUN_NODE is still to be sent */
	bool recovering;    /* RUN_SYNCED is still to be sent */
	bool strays_unseen; /* local_find_strays() is still to be called */
	size_t awaited;     /* attempts of recover() not answered yet */
};

static inline struct local *local_of(struct runner *r)
{
	return (struct local *)(void *)((char *)r -
	                                offsetof(struct local, runner));
}

/*
 * Look at the next processes in /proc, and kill those that belong to dying
 * attempts. One scan of /proc serves all dying attempts, and takes several
 * calls.
 */
void local_scan(struct local *l);

#endif
