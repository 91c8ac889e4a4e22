/*
 * usage.h - what users have used of queues, decaying over time
 *
 * For each second a job is charged the largest fraction that it holds of any
 * one resource of its pool, in billionths: one GPU of eight is an eighth,
 * whatever CPUs go with it. A charge counts half after each half-life H. So, d
 * seconds after `at`, a user's usage is
 *
 *   amount 2^(-d/H) + rate (1 - 2^(-d/H)) H / ln 2
 *
 * where rate is the sum of the charges of the user's jobs in the queue: nothing
 * has to be done while they run, and the result does not depend on how often it
 * is asked for. All integers, so every machine computes the same.
 */
#ifndef AISCHEDD_STATE_CLUSTER_USAGE_H
#define AISCHEDD_STATE_CLUSTER_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/sched/snap.h"

#include "libcommon/map.h"

struct job;
struct state;

enum {
	/* a second of a job that holds its whole pool */
	CHARGE_ALL = 1000000000,
	USAGE_NOTHING = 1000, /* less than this counts as none */
	LIGHT_MOST = 1000     /* lightness of a user who has used nothing */
};

struct usage {
	uint32_t queue, user;   /* indices in the state */
	uint64_t jobs, running; /* jobs that have not ended; that hold nodes */
	int64_t rate, amount, at;
	bool dirty; /* rate or amount is to be written */
	/* As of the last snapshot: usage, its fraction of the queue's usage in
	 * millionths, and the user's lightness. */
	int64_t used;
	uint32_t part;
	uint16_t light; /* 0 .. LIGHT_MOST */
};

/* The entries: one for each pair of user and queue that has been used. */
struct usage_table {
	struct map by_key;
	struct usage **usage;
	size_t n, cap;
	bool dirty;  /* some entries are to be written */
	bool judged; /* 1: entries say what they were at judged_at */
	int64_t judged_at;
	struct usage *guest; /* the entry of a trial submission, or NULL */
};

/* Returns the usage at `when`, which must not be before u->at. */
int64_t usage_at(const struct usage *u, int64_t half_life, int64_t when);

/* Add `by` to the rate from `when` on, which may be before u->at. */
void usage_change(struct usage *u, int64_t half_life, int64_t by, int64_t when);

/*
 * Returns 1000 * 2^(-used/all * users): 500 for a user whose usage is the mean
 * of all who share the queue's usage.
 */
uint16_t usage_light(int64_t used, int64_t all, uint32_t users);

/* Work out usage, fractions and lightness of all users as of now, unless that
 * has been done and nothing has changed since. */
void state_judge_usage(struct state *state, int64_t now);

/* The same, and drop entries of users who have used nothing and have no jobs
 * any more, even if nothing has changed. */
void state_judge_usage_again(struct state *state, int64_t now);

/* Return the number of entries, and entry i. Their order has no meaning, and
 * each event may change them. */
size_t state_nusages(const struct state *state);
const struct usage *state_usage(const struct state *state, size_t i);

/* Load an entry from the store. */
void state_load_usage(struct state *state, const char *queue, uint32_t uid,
                      const char *user, int64_t amount, int64_t at);

/* --- for this folder ---------------------------------------------------- */

/* Count a job that is not really submitted, with all that its user has used;
 * take it back. */
void usage_try(struct state *state, const struct job *job, int64_t now);
void usage_untry(struct state *state, const struct job *job);

/* Return the entry of a user in a queue. If there is none, usage_find() returns
 * NULL, and usage_of() adds one. */
struct usage *usage_find(const struct state *state, uint32_t queue,
                         uint32_t user);
struct usage *usage_of(struct state *state, uint32_t queue, uint32_t user);

/* Returns what a job with nodes keeps from others: milli-CPUs, MiB, milli-GPUs;
 * no CPUs while it is suspended. */
void usage_held(const struct state *state, struct job *job, int64_t ret[RES_N]);

/* Charge the job for what it holds from now on: call it after each change of
 * its place, and after suspend and resume. */
void usage_charge(struct state *state, struct job *job, int64_t now);

/* Correct the charge: the job has held its nodes since `to`, not `from`. */
void usage_backdate(struct state *state, struct job *job, int64_t from,
                    int64_t to);

/* Renumber the queues as conf has them (-1: gone); the caller then counts jobs
 * again. Only another half-life changes what is stored. */
void usage_reconf(struct state *state, const struct conf *conf,
                  const uint32_t *queue_to, int64_t now);
void usage_free(struct state *state);

#endif
