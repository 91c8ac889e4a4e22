/*
 * rollup.h - use by the hour, of each user, account, queue and pool
 *
 * Each combination of user, account, queue, class, pool and type of GPU that
 * jobs have had is a rollup: the rate at which its jobs hold resources now, and
 * the time up to which that is booked. Nothing is done while nothing changes; a
 * span that is booked is divided exactly at the borders of hours. Amounts are
 * exact: thousandths of a CPU or GPU, or MiB, times milliseconds. Amounts
 * booked since the last commit are due: the store adds them to its rows of
 * hours, days and months. News may be late, for instance an end that a shepherd
 * reports after a restart; then amounts booked in excess are due as negative
 * ones.
 */
#ifndef AISCHEDD_STATE_CLUSTER_ROLLUP_H
#define AISCHEDD_STATE_CLUSTER_ROLLUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/sched/snap.h"
#include "libcommon/map.h"

struct attempt_row;
struct job;
struct state;
struct zone;

/* Rates: those of enum resource, and millionths of the currency an hour. */
enum { RATE_COST = RES_N, RATES };

/*
 * Sums of a rollup in a period; the names are columns of the store.
 *
 * held_*      exact amounts; cost in millionths, and what is left in
 *             3600000ths of those
 * jobs        first starts;  waits, wait_ms, wait_max_ms  of those
 * attempts …  attempts that are over, by the state of their job after it
 * evicted_*   attempts that were evicted and came back;  *_gpu_ms what they
 *             held;  failed_gpu_ms all attempts of failed jobs
 * cpu_used_ms …  of attempts of which it is known, and what those held
 * gpu_busy_ms    of the GPU time of which it is known, gpu_known_ms
 */
#define ROLLUP_SUMS(X)     \
	X(held_cpu)        \
	X(held_mem)        \
	X(held_gpu)        \
	X(cost)            \
	X(cost_rest)       \
	X(jobs)            \
	X(waits)           \
	X(wait_ms)         \
	X(attempts)        \
	X(completed)       \
	X(failed)          \
	X(cancelled)       \
	X(timeout)         \
	X(other)           \
	X(evicted)         \
	X(evicted_gpu_ms)  \
	X(failed_gpu_ms)   \
	X(cpu_used_ms)     \
	X(cpu_known_ms)    \
	X(mem_used_mib_s)  \
	X(mem_known_mib_s) \
	X(gpu_busy_ms)     \
	X(gpu_known_ms)

enum rollup_sum {
#define X(name) SUM_##name,
	ROLLUP_SUMS(X)
#undef X
	    ROLLUP_NSUMS
};

/* Waits are counted in buckets, each 10 % wider than the last. */
enum { ROLLUP_BUCKETS = 160 };

/* Sums to be added to the hour that begins then. */
struct rollup_due {
	int64_t hour; /* unix seconds */
	int64_t sum[ROLLUP_NSUMS];
	int64_t wait_max_ms;
};

struct rollup_wait {
	int64_t hour;
	uint32_t bucket, n;
};

enum rollup_part {
	PART_USER,
	PART_ACCOUNT,
	PART_QUEUE,
	PART_CLASS,
	PART_POOL,
	PART_GPU,
	PARTS
};

struct rollup {
	int64_t id; /* in the store */
	uint64_t hash;
	char *part[PARTS];   /* "": none */
	struct rollup *next; /* of the same hash */
	int64_t rate[RATES];
	int64_t booked_ms;
	struct rollup_due *due;
	size_t ndue, due_cap;
	struct rollup_wait *wait;
	size_t nwait, wait_cap;
	bool dirty;
};

/*
 * A long span that is still to be divided into hours, at the rates held in it.
 * A clock that jumps decades ahead must not make a turn last seconds: such a
 * span is booked some hours a turn.
 */
struct rollup_lag {
	struct rollup *rollup;
	int64_t rate[RATES]; /* negative: undoes what was booked in excess */
	int64_t from_ms, to_ms;
};

struct rollup_table {
	struct map by_hash, by_id;
	struct rollup **rollup; /* in order of ids */
	size_t n, cap;
	int64_t next_id;
	const struct zone *zone; /* NULL: UTC */
	int64_t hour[2];         /* the hour that was booked last */
	size_t walk; /* index at which state_book_some() continues */
	struct rollup **changed; /* since the last commit */
	size_t nchanged, changed_cap;
	struct rollup_lag *lag;
	size_t nlags, lag_cap;
	bool lags_changed; /* since the last commit */
};

/* Return the bucket of a wait; the wait in the middle of a bucket. */
uint32_t rollup_bucket(int64_t wait_ms);
int64_t rollup_bucket_ms(uint32_t bucket);

/* Add without exceeding the bounds of int64_t: 3.4 PiB of memory for a month
 * reach them. */
int64_t rollup_sum(int64_t a, int64_t b);

/* Add rates over a span of time, without dividing it, to sums. */
void rollup_add(int64_t sum[ROLLUP_NSUMS], const int64_t rate[RATES],
                int64_t ms);

/* The rollups in order of their ids, and their number. */
size_t state_nrollups(const struct state *state);
const struct rollup *state_rollup(const struct state *state, size_t i);

/* Borrowed: the zone in which hours, days and months begin; NULL: UTC. */
void state_set_zone(struct state *state, const struct zone *zone);
const struct zone *state_zone(const struct state *state);

/*
 * Book some rollups up to now, so that no commit has to book many hours of many
 * rollups. Returns whether there are more.
 */
bool state_book_some(struct state *state, int64_t now_ms);

/* Returns how many hours are left of long spans. */
int64_t state_lag_hours(const struct state *state);

/* Load one from the store; its rate comes from the jobs that hold it. */
void state_load_rollup(struct state *state, int64_t id,
                       const char *const part[PARTS], int64_t booked_ms);
/* Load what is left of a long span; it is dropped if its rollup is unknown. */
void state_load_lag(struct state *state, int64_t id,
                    const struct rollup_lag *lag);

/* --- for this folder ---------------------------------------------------- */

/* Returns the rollup that a job with a place is counted in. */
struct rollup *rollup_of(struct state *state, const struct job *job);
/* Returns the rollup of a pool's capacity (capacity.h). */
struct rollup *rollup_of_pool(struct state *state, const char *class,
                              const char *pool, const char *gpu_type);
/* Returns the rollup with this id in the store, or NULL. */
struct rollup *rollup_find(const struct state *state, int64_t id);

/* Add these rates to the rollup's from at_ms on; sign -1: subtract them. */
void rollup_change(struct state *state, struct rollup *r,
                   const int64_t rate[RATES], int sign, int64_t at_ms);

/* Add the rates of a loaded job, without booking: it held at these rates before
 * the rollup was stored. */
void rollup_resume(struct rollup *r, const int64_t rate[RATES]);

/* Count the first start of a job after this wait. */
void rollup_started(struct state *state, struct rollup *r, int64_t at_ms,
                    int64_t wait_ms);

/* Count an attempt that is over; all_gpu_ms: held by all attempts of the
 * job. */
void rollup_ended(struct state *state, struct rollup *r,
                  const struct attempt_row *row, int64_t all_gpu_ms);

void rollups_committed(struct state *state);
void rollups_free(struct state *state);

#endif
