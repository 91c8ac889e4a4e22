/*
 * crash.h - kill the daemon again and again while it works, then check the
 * results
 *
 * Worker threads (crash_work.c) submit, cancel, hold and requeue jobs as fast
 * as they may and record what the daemon has acknowledged. The main thread
 * (crash.c) kills and restarts the daemon. crash_check.c compares what the
 * workers recorded, what the jobs themselves wrote into the file "ran", and
 * what the daemon lists.
 */
#ifndef TESTS_E2E_CRASH_H
#define TESTS_E2E_CRASH_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/client/client.h"
#include "libcommon/err.h"

enum need { NEED_NONE, NEED_ANY, NEED_OK, NEED_NOT_OK };

/* One submission, and the requests about its jobs. */
struct sub {
	char name[24]; /* name of all its jobs */
	char token[33];
	uint32_t njobs;     /* jobs in the request */
	uint32_t ntasks;    /* tasks of an array, 0: no array */
	uint32_t procs;     /* processes of each job */
	int code, pause_ms; /* exit status and sleep of each */
	bool held;          /* held at submission, and never released */
	enum need need;     /* how it depends on the jobs of `after` */
	struct sub *after;

	/* set under crash.lock before the request is sent */
	bool cancelled, released;
	uint32_t requeues;
	/* set after the submission was answered */
	uint64_t id; /* of the first job; 0: not confirmed */
};

/* Shared by all threads; lock guards all members below it. */
struct crash {
	const char *dir; /* the daemon's state_dir */
	uint64_t seed;
	pthread_mutex_t lock;
	struct sub **sub;
	size_t nsubs, sub_cap;
	/* jobs submitted so far; how many may be submitted in all before the
	 * next kill */
	size_t njobs, allowed;
	bool stop;
};

struct worker {
	struct crash *crash;
	pthread_t thread;
	unsigned number;
	uint64_t random;
	struct client *client; /* NULL: not connected */
	struct sub **mine;     /* confirmed submissions, the newest last */
	size_t nmine, mine_cap, nmade;
};

/* Returns a random number below n. The same seed gives the same series. */
uint64_t random_below(uint64_t *state, uint64_t n);

/* Call client_call(), and repeat it while no daemon runs; if *client is NULL,
 * connect first. Unlike retry_call() it does not wait longer each time, as that
 * would miss most of the moments between two kills. */
json_t *persist(struct client **client, json_t *req, const struct buf *raw,
                struct buf *parts, struct err *err);

void pause_ms(uint64_t ms);
void *worker_main(void *arg);

/* The number of problems that were reported with problem(). */
extern size_t nproblems;
void problem(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- crash_check.c ------------------------------------------------------- */

/* The lines that the jobs have written so far. */
struct ran;
struct ran *ran_read(void);
void ran_free(struct ran *ran);

/* The final states of jobs seen so far, which must not change. */
struct finals;
struct finals *finals_new(void);
void finals_free(struct finals *finals);

/* Check the jobs right after a restart. `before` has the lines that were read
 * while no daemon was running. */
void check_restart(struct crash *crash, const struct ran *before,
                   struct finals *finals);

/* To be called after all jobs have ended. Each function prints a line for each
 * requirement that it checks. */
void check_end(struct crash *crash);
void check_left(const struct crash *crash);
/* Wait until shepherds, or the daemon for those that were killed, have removed
 * the folders of their attempts: they do so after the jobs have ended. */
void await_removal(const struct crash *crash);
void check_database(const struct crash *crash);

/* Print "0 TEXT" if there was no problem since the last call, else "1 TEXT";
 * crash.t turns these into results. */
void verdict(const char *text);

#endif
