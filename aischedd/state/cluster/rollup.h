/*
 * rollup.h - rollups: sums of use by the hour, for each user, queue and so on
 *
 * There is a rollup for each combination of user, account, queue, class, pool
 * and type of GPU that jobs have had. The rollup has the rate at which these
 * jobs hold resources now, and the time up to which they are booked. To book
 * means to add rate times time to the sums of hours. This is done when the rate
 * changes, and by state_book_some(); a span of time is divided exactly where
 * hours begin. Amounts are exact: thousandths of a CPU or GPU, or MiB, times
 * milliseconds. Amounts booked since the last commit are `due`: the store adds
 * them to its rows of hours, days and months. A report may come late, such as
 * the end of a job that a shepherd reports after a restart; then negative
 * amounts correct what was booked too much.
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

/* Indexes of rates: those of enum resource, then the cost, in millionths of the
 * currency for each hour. */
enum { RATE_COST = RES_N, RATES };

/*
 * Sums of a rollup in an hour, day or month; their names are columns of the
 * table `rollup`.
 *
 * held_*         resources held, as exact amounts
 * cost           in millionths of the currency; cost_rest: the remainder, in
 *                3600000ths of a millionth
 * jobs           jobs that started for the first time; waits, wait_ms: the
 *                number and the sum of the times that they had waited
 * attempts       attempts that have ended
 * completed …    five sums: attempts after which the job ended in this state
 * evicted        attempts evicted or lost, after which the job was requeued;
 *                evicted_gpu_ms: GPU time that they held, and that of attempts
 *                after which an operator requeued another user's job
 * failed_gpu_ms  GPU time that all attempts of failed jobs held
 * cpu_used_ms    CPU time used by attempts for which that is known;
 *                cpu_known_ms: CPU time that these attempts held; mem_*: the
 *                same for memory
 * gpu_busy_ms    time for which GPUs were busy; gpu_known_ms: the GPU time for
 *                which that is known
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

/* Waits before the first start are counted in a histogram of buckets, each 10 %
 * wider than the one before. */
enum { ROLLUP_BUCKETS = 160 };

/* Sums that the next commit adds to the stored sums of an hour, and of its day
 * and its month. */
struct rollup_due {
	int64_t hour; /* when the hour begins, unix seconds */
	int64_t sum[ROLLUP_NSUMS];
	int64_t wait_max_ms;
};

/* Counts n jobs that started in the hour that begins at `hour`, after a wait in
 * this bucket. */
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
	int64_t id; /* its id in the store */
	uint64_t hash;
	char *part[PARTS];   /* user, account ...; "" if there is none */
	struct rollup *next; /* next rollup with the same hash */
	int64_t rate[RATES]; /* what its jobs have held since booked_ms */
	int64_t booked_ms;
	struct rollup_due *due;
	size_t ndue, due_cap;
	struct rollup_wait *wait;
	size_t nwait, wait_cap;
	bool dirty;
};

/*
 * A long span of time, with the rates held in it, that is still to be booked.
 * Each turn books some hours of it: else a turn would last for seconds after a
 * clock was set decades ahead.
 */
struct rollup_lag {
	struct rollup *rollup;
	/* negative rates correct what was booked too much */
	int64_t rate[RATES];
	int64_t from_ms, to_ms;
};

struct rollup_table {
	struct map by_hash, by_id;
	struct rollup **rollup; /* all, in order of ids */
	size_t n, cap;
	int64_t next_id;
	const struct zone *zone; /* NULL: UTC */
	int64_t hour[2];         /* begin and end of the hour looked up last */
	size_t walk; /* index at which state_book_some() continues */
	struct rollup **changed; /* rollups changed since the last commit */
	size_t nchanged, changed_cap;
	struct rollup_lag *lag;
	size_t nlags, lag_cap;
	bool lags_changed; /* lag[] has changed since the last commit */
};

/* Returns the wait in the middle of a bucket, in milliseconds. */
int64_t rollup_bucket_ms(uint32_t bucket);

/* Returns a + b, or the closest int64_t if that overflows, as 3.4 PiB of memory
 * held for a month would. */
int64_t rollup_sum(int64_t a, int64_t b);

/* Add to sum[] what is held at these rates in `ms` milliseconds. */
void rollup_add(int64_t sum[ROLLUP_NSUMS], const int64_t rate[RATES],
                int64_t ms);

/* Return the number of rollups, or rollup number i; they are in order
 * of ids. */
size_t state_nrollups(const struct state *state);
const struct rollup *state_rollup(const struct state *state, size_t i);

/* Set or return the time zone in which hours, days and months begin; borrowed;
 * NULL: UTC. */
void state_set_zone(struct state *state, const struct zone *zone);
const struct zone *state_zone(const struct state *state);

/*
 * Book some of the rollups up to now. Call it in many turns, so that no turn
 * has to book many hours of many rollups. Returns whether other rollups are
 * still to be booked.
 */
bool state_book_some(struct state *state, int64_t now_ms);

/* Returns how many hours of long spans are still to be booked. */
int64_t state_lag_hours(const struct state *state);

/* Load a rollup from the store, with rates of 0: rollup_resume() adds those of
 * the jobs that are loaded. */
void state_load_rollup(struct state *state, int64_t id,
                       const char *const part[PARTS], int64_t booked_ms);
/* Load a long span that is still to be booked. Does nothing if there is no
 * rollup with this id. */
void state_load_lag(struct state *state, int64_t id,
                    const struct rollup_lag *lag);

/* --- for this folder ---------------------------------------------------- */

/* Returns the rollup that counts a job with nodes; adds it if there is none. */
struct rollup *rollup_of(struct state *state, const struct job *job);
/* Returns the rollup of one part of a pool's capacity (capacity.h); adds it if
 * there is none. */
struct rollup *rollup_of_pool(struct state *state, const char *class,
                              const char *pool, const char *gpu_type);
/* Returns the rollup with this id in the store, or NULL. */
struct rollup *rollup_find(const struct state *state, int64_t id);

/* Add these rates to those of the rollup from at_ms on, which may be in the
 * past; sign -1: subtract them. */
void rollup_change(struct state *state, struct rollup *r,
                   const int64_t rate[RATES], int sign, int64_t at_ms);

/* Add the rates of a loaded job from booked_ms on; what the job held before
 * that is in the stored sums already. */
void rollup_resume(struct rollup *r, const int64_t rate[RATES]);

/* Count the first start of a job, and how long the job had waited. */
void rollup_started(struct state *state, struct rollup *r, int64_t at_ms,
                    int64_t wait_ms);

/* Whether an attempt after which the job was requeued was ended by others than
 * its user: it was evicted, lost its node, or an operator requeued the job.
 * cause and why: an enum cause and an enum reason. */
bool rollup_is_lost(int cause, int why);

/* Count an attempt that has ended. all_gpu_ms: GPU time held by all attempts of
 * the job. */
void rollup_ended(struct state *state, struct rollup *r,
                  const struct attempt_row *row, int64_t all_gpu_ms);

void rollups_committed(struct state *state);
void rollups_free(struct state *state);

#endif
