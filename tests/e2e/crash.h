/*
 * crash.h - kill the daemon over and over while it works, then compare
 *
 * Workers (crash_work.c) submit, cancel, hold and requeue jobs as fast as
 * they may and write down what was acknowledged.  The main thread (crash.c)
 * kills and restarts the daemon.  crash_check.c compares what the workers
 * wrote down, what the jobs themselves wrote into the file "ran", and what
 * the daemon says.
 */
#ifndef TESTS_E2E_CRASH_H
#define TESTS_E2E_CRASH_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/client.h"
#include "libcommon/err.h"

enum need { NEED_NONE, NEED_ANY, NEED_OK, NEED_NOT_OK };

/* One submission and what was done to its jobs. */
struct sub {
	char name[24]; /* of all its jobs */
	char token[33];
	uint32_t njobs;     /* in the request */
	uint32_t ntasks;    /* of an array, 0: no array */
	uint32_t procs;     /* of each job */
	int code, pause_ms; /* what each does: sleep, exit */
	bool held;          /* at submission, and never released */
	enum need need;     /* of the jobs of `after` */
	struct sub *after;

	/* Written under the lock, before the request goes out. */
	bool cancelled, released;
	uint32_t requeues;
	/* After its answer. */
	uint64_t id; /* of the first job; 0: not acknowledged */
};

/* Everything that is shared; lock for all below it. */
struct crash {
	const char *dir; /* the daemon's state_dir */
	uint64_t seed;
	pthread_mutex_t lock;
	struct sub **sub;
	size_t nsubs, sub_cap;
	size_t njobs, allowed; /* submitted; not more for now */
	bool stop;
};

struct worker {
	struct crash *crash;
	pthread_t thread;
	unsigned number;
	uint64_t random;
	struct client *client; /* NULL: not connected */
	struct sub **mine;     /* acknowledged, the newest last */
	size_t nmine, mine_cap, nmade;
};

/* 0 .. n - 1; the same seed gives the same series. */
uint64_t random_below(uint64_t *state, uint64_t n);

/* As client_call(), again and again while the daemon is away; *client is
 * opened when it is NULL.  Unlike retry_call() it does not slow down: that
 * would miss most of the moments between two kills. */
json_t *persist(struct client **client, json_t *req, const struct buf *raw,
                struct buf *parts, struct err *err);

void pause_ms(uint64_t ms);
void *worker_main(void *arg);

/* How many of a kind went wrong; each was said with problem(). */
extern size_t nproblems;
void problem(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- crash_check.c ------------------------------------------------------- */

/* What the jobs wrote down so far. */
struct ran;
struct ran *ran_read(void);
void ran_free(struct ran *ran);

/* What was final at one look must be so at the next. */
struct finals;
struct finals *finals_new(void);
void finals_free(struct finals *finals);

/* Right after a restart; before: read when the daemon had been killed. */
void check_restart(struct crash *crash, const struct ran *before,
                   struct finals *finals);

/* When all has ended: prints a line for each thing that must be so. */
void check_end(struct crash *crash);
void check_left(const struct crash *crash);
void check_database(const struct crash *crash);

/* "0 TEXT" when there was no problem since the last call, else "1 TEXT":
 * crash.t makes results of that. */
void verdict(const char *text);

#endif
