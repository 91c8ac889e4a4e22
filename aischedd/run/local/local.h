/*
 * local.h - what the files of the runner of this machine share
 *
 * ask.c serves requests of the daemon; attempt.c exchanges messages with
 * shepherds; recover.c finds out what became of attempts after a restart of the
 * daemon, or when their shepherd was killed.
 */
#ifndef AISCHEDD_RUN_LOCAL_LOCAL_H
#define AISCHEDD_RUN_LOCAL_LOCAL_H

#include <dirent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/resource.h>

#include "aischedd/run/local/inventory.h"
#include "aischedd/run/runner.h"
#include "aischedd/run/shepherd/cgroup.h"
#include "aischedd/run/shepherd/record.h"
#include "libcommon/buf.h"
#include "libcommon/map.h"

enum attempt_state {
	/* must still be sent to the nursery, whose socket was full */
	ATTEMPT_WAITS,
	/* connected to its shepherd, which may still be starting */
	ATTEMPT_TALKS,
	/* could not be started; the next tick tells the daemon */
	ATTEMPT_FAILED,
	/* no shepherd answers: the attempt's record must be read */
	ATTEMPT_UNCLEAR,
	/* has no shepherd; its processes are being killed */
	ATTEMPT_DYING,
	/* the daemon was told the last event of the attempt */
	ATTEMPT_DONE,
	/* as ATTEMPT_DONE, and its files are being removed */
	ATTEMPT_REMOVED
};

struct attempt {
	struct local *local;
	uint64_t job;
	uint32_t attempt;
	enum attempt_state state;
	/* its files were found on disk, but recover() did not name it */
	bool stray;
	bool awaited; /* recover() waits for an answer about it */
	/* the daemon was told RUN_STARTED */
	bool started;
	/* RUN_STARTED was stored before the daemon was restarted */
	bool was_started;
	/* its shepherd lives, but takes no connection */
	bool unreached;
	/* the daemon has called forget() */
	bool forgotten;
	struct attempt *next; /* next attempt in local->work */

	int fd; /* connection to the shepherd; -1: none */
	struct event *readable;
	/* the order and the shepherd's end of the connection, to send to the
	 * nursery; -1 when sent */
	int order_fd, child_fd;

	/* ends the attempt if its shepherd does not; overdue.c */
	struct event *overdue;
	/* monotonic ms: time by which the attempt must have ended; 0: none */
	int64_t end_by;
	/* the shepherd must read what was sent; overdue_must_read() */
	bool must_read;
	/* monotonic ms: since when the shepherd leaves a message unread, or is
	 * not connected */
	int64_t silent_since;
	/* the shepherd did not read its messages, so it was sent SIGKILL */
	bool deaf;

	/* messages to send once the shepherd is connected, or NULL */
	json_t *stop, *resize;

	/* the claim while the attempt is dying; strings are in arena */
	struct claim claim;
	struct arena *arena;
	/* while dying: a complete scan of /proc has looked for its processes */
	bool scanned;
	/* number of the scan that looks for its processes */
	uint32_t scan;
	size_t left; /* processes that this scan has found so far */
	/* when it became ATTEMPT_DYING, in Unix seconds */
	int64_t dying_since;
	uint32_t slices; /* calls of attempt_remove() so far */
	/* why it could not be started */
	struct err err;
};

struct local {
	struct runner runner;
	struct event_base *base;
	run_event_fn *fn;
	void *arg;

	char *dir; /* state_dir/run */
	/* folder in which each attempt has its temporary folder */
	char *tmp_dir;
	int64_t max_processes;
	/* set of bits: which rlimits jobs inherit from submitters */
	uint32_t rlimits;
	/* jobs can open no GPUs, and no other devices, but their own */
	bool constrain_devices, constrain_others;
	int64_t sample_s;  /* seconds between samples of GPU use */
	char *gpu_program; /* path of aisched-gpu, or NULL */
	/* for how long a shepherd may leave a message unread */
	int64_t deaf_ms;
	/* RLIMIT_NOFILE for processes that we start */
	struct rlimit files;
	int dirfd, null_fd;
	int lock_fd; /* descriptor of the file dir/lock; see local_lock() */
	bool locked;
	char *shepherd; /* path of the shepherd program */
	/* connection to the nursery; -1: it was not started */
	int nursery_fd;
	pid_t nursery_pid;
	struct arena *arena;
	struct machine machine;
	struct cgroup_ways ways;
	/* the nursery, and all our cgroups, are in a scope of systemd */
	bool scope;
	char boot[BOOT_ID_SIZE];
	struct buf shortcomings;

	struct health *health;
	/* what the health program found to be wrong; NULL: nothing */
	char *unwell;

	/* connections of users to ports of jobs; forward.c */
	TAILQ_HEAD(, local_forward) forwards;
	struct map attempts;
	/* open while /proc is scanned for processes of dying attempts */
	DIR *proc;
	/* number of the last scan */
	uint32_t scan;
	/* attempts that the next tick handles */
	struct attempt *work;
	struct event *tick;
	/* RUN_NODE must still be sent */
	bool hello;
	/* RUN_SYNCED must still be sent */
	bool recovering;
	/* local_find_strays() must still be called */
	bool strays_unseen;
	/* attempts named by recover() that are not answered yet */
	size_t awaited;
};

static inline struct local *local_of(struct runner *r)
{
	return (struct local *)(void *)((char *)r -
	                                offsetof(struct local, runner));
}

/*
 * Look at the next processes in /proc, and kill those that belong to
 * dying attempts. One scan of /proc is for all dying attempts, and takes
 * several calls.
 */
void local_scan(struct local *l);

#endif
