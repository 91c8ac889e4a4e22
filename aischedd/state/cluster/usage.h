/*
 * usage.h - what users have used of queues, decaying over time
 *
 * For each second a job is charged the largest fraction that it holds of any
 * one resource of its pool, in billionths. A job that holds an eighth of the
 * GPUs and a smaller fraction of the CPUs is charged an eighth. A charge loses
 * half of its value in each half-life H. Therefore the usage of a user, d
 * seconds after `at`, is
 *
 *   amount 2^(-d/H) + rate (1 - 2^(-d/H)) H / ln 2
 *
 * where rate is the sum of the charges of the user's jobs in the queue. Nothing
 * has to be done while jobs run, and the result does not depend on how often it
 * is computed. All numbers are integers, so that every machine computes the
 * same.
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
	/* charge for one second of a job that holds its whole pool */
	CHARGE_ALL = 1000000000,
	USAGE_NOTHING = 1000, /* a usage below this counts as none */
	LIGHT_MOST = 1000     /* lightness of a user who has used nothing */
};

struct usage {
	uint32_t queue, user; /* indexes in the state */
	/* jobs: number of jobs that have not ended; running: number of jobs
	 * that hold nodes */
	uint64_t jobs, running;
	int64_t rate, amount, at;
	bool dirty; /* to be written by the next commit */
	/* As of the last snapshot: `used` is the user's usage of the queue,
	 * `part` its fraction of the usage of all users in millionths, `light`
	 * the user's lightness, see usage_light(). */
	int64_t used;
	uint32_t part;
	uint16_t light; /* 0 .. LIGHT_MOST */
};

/* All entries: one for each user and queue that the user has used. */
struct usage_table {
	struct map by_key;
	struct usage **usage;
	size_t n, cap;
	bool dirty; /* some entries are to be written */
	/* `used`, `part` and `light` of all entries are those at judged_at */
	bool judged;
	int64_t judged_at;
	/* an entry that only --test-only needed, or NULL */
	struct usage *guest;
};

/* Returns the usage at `when`, which must not be before u->at. */
int64_t usage_at(const struct usage *u, int64_t half_life, int64_t when);

/* Add `by` to the rate from `when` on, which may be before u->at. */
void usage_change(struct usage *u, int64_t half_life, int64_t by, int64_t when);

/*
 * Returns the lightness of a user, a measure of how little they have used:
 *
 *   1000 2^(-users used / all)
 *
 * where `all` is the sum of the usages of all users of the queue, and `users`
 * their number. It is 1000 for no usage, and 500 for the mean usage.
 */
uint16_t usage_light(int64_t used, int64_t all, uint32_t users);

/* Compute `used`, `part` and `light` of all entries as of now, unless that was
 * already done for this second and nothing has changed since. Drops entries
 * without usage and jobs. */
void state_judge_usage(struct state *state, int64_t now);

/* state_judge_usage(), even if it was already done for this second. */
void state_judge_usage_again(struct state *state, int64_t now);

/* Return the number of entries, or entry i. Their order has no meaning; each
 * change of the state may add or remove some. */
size_t state_nusages(const struct state *state);
const struct usage *state_usage(const struct state *state, size_t i);

/* Load an entry from the store. */
void state_load_usage(struct state *state, const char *queue, uint32_t uid,
                      const char *user, int64_t amount, int64_t at);

/* --- for this folder ---------------------------------------------------- */

/* For --test-only: usage_try() counts a job that is not in the state, so that
 * its user has an entry; usage_untry() stops counting it. */
void usage_try(struct state *state, const struct job *job, int64_t now);
void usage_untry(struct state *state, const struct job *job);

/* Return the entry of a user in a queue. If there is none, usage_find() returns
 * NULL, and usage_of() adds one. */
struct usage *usage_find(const struct state *state, uint32_t queue,
                         uint32_t user);
struct usage *usage_of(struct state *state, uint32_t queue, uint32_t user);

/* Get the resources that a job with nodes keeps from other jobs: thousandths of
 * CPUs, MiB, and thousandths of GPUs. A suspended job keeps no CPUs. */
void usage_held(const struct state *state, struct job *job, int64_t ret[RES_N]);

/* Charge the job for what it holds from now on. Call it after each change of
 * its placement, and after it was suspended or resumed. */
void usage_charge(struct state *state, struct job *job, int64_t now);

/* Correct the usage for a job whose charge was counted from `from` on, but
 * should have been from `to` on. */
void usage_backdate(struct state *state, struct job *job, int64_t from,
                    int64_t to);

/* Renumber the queues for a new configuration. queue_to: the new number of each
 * queue; -1: it no longer exists, and has no jobs. Stored values change only if
 * the half-life does. */
void usage_reconf(struct state *state, const struct conf *conf,
                  const uint32_t *queue_to, int64_t now);
void usage_free(struct state *state);

#endif
