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
	bool stray;   /* unknown to the daemon, which names no such attempt */
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
	bool scanned;        /* while dying: all processes were looked at */
	uint32_t scan;       /* the scan that looks at them */
	size_t left;         /* how many of its processes that scan has found */
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
	uint32_t rlimits; /* which limits jobs get from their submitters */
	bool constrain_devices;
	int64_t sample_s;  /* how often GPUs are looked at */
	char *gpu_program; /* path of aisched-gpu, or NULL */
	/* RLIMIT_NOFILE that other processes inherit from us */
	struct rlimit files;
	int dirfd, null_fd;
	int lock_fd; /* of dir/lock: see local_lock() */
	bool locked;
	char *shepherd; /* path of the program */
	int nursery_fd; /* -1: not started */
	pid_t nursery_pid;
	struct arena *arena;
	struct machine machine;
	struct cgroup_ways ways;
	bool scope; /* the nursery has a delegated scope and divides it */
	char boot[BOOT_ID_SIZE];
	struct buf shortcomings;

	struct health *health;
	char *unwell; /* the program's verdict; NULL: the machine is well */

	struct map attempts;
	DIR *proc;     /* a scan for processes of dying attempts; NULL: none */
	uint32_t scan; /* its number */
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

/*
 * Look at some processes of the machine, and kill those of dying attempts. One
 * scan of /proc serves all of them, and is spread over turns.
 */
void local_scan(struct local *l);

#endif
