/*
 * report.h - sum up use over a range of time, by user, queue, month ...
 *
 * Whole months are read as rows of months, the rest of the range as days, its
 * edges as hours. Amounts that are not in the database yet come from a copy of
 * the state; the transaction that reads the rows begins when the copy is made,
 * so nothing is missed or counted twice.
 */
#ifndef AISCHEDD_STORE_REPORT_H
#define AISCHEDD_STORE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/cluster/rollup.h"
#include "aischedd/store/db.h"

struct state;
struct zone;

/* X(symbol, name): keys to sum up by; first the parts of a rollup, in their
 * order, then periods, in the order of enum period. */
#define REPORT_KEYS(X)          \
	X(USER, "user")         \
	X(ACCOUNT, "account")   \
	X(QUEUE, "queue")       \
	X(CLASS, "class")       \
	X(POOL, "pool")         \
	X(GPU_TYPE, "gpu_type") \
	X(HOUR, "hour")         \
	X(DAY, "day")           \
	X(MONTH, "month")       \
	X(WEEK, "week")

enum report_key {
#define X(sym, name) REPORT_##sym,
	REPORT_KEYS(X)
#undef X
	    REPORT_NKEYS
};

const char *report_key_name(enum report_key key);

/* A group; sums as in a rollup, cost in one number of 3600000ths of a
 * millionth. */
struct report_row {
	/* one rollup of the group, for its parts */
	const struct rollup *rollup;
	int64_t period; /* first second of its period; 0: not by time */
	__int128 sum[ROLLUP_NSUMS], cost;
	int64_t wait_max_ms;
	uint64_t bucket[ROLLUP_BUCKETS];
};

struct report {
	/* To be set by the caller. */
	enum report_key by[REPORT_NKEYS];
	size_t nby;
	int64_t since, until; /* unix seconds; becomes whole hours */
	size_t most;          /* rows; with more it fails with E2BIG */
	const struct zone *zone;

	/* Results. */
	struct report_row **row;
	size_t nrows, row_cap;
	struct report_row total;

	/* A copy of the state. */
	struct report_copy *copy;
	size_t ncopies;
	struct rollup_lag *lag;
	size_t nlags;
	int64_t now_ms;
	struct db db;
	struct report_work *work;
};

enum report_part {
	REPORT_NOT,   /* the rollup does not count */
	REPORT_TOTAL, /* only in the total, as the requester may not see it */
	REPORT_ROW
};
typedef enum report_part report_wanted_fn(const struct rollup *rollup,
                                          void *arg);

/*
 * Copy from the state, and open the database; call it on the loop's thread.
 * wanted says how a rollup counts.
 */
int report_begin(struct report *r, const struct state *state, const char *path,
                 int64_t now_ms, report_wanted_fn *wanted, void *arg,
                 struct err *err);

/* Sum up; on any thread. */
int report_run(struct report *r, struct err *err);

/* Returns how long this part of the jobs (in thousandths) waited at most, give
 * or take 5 %. */
int64_t report_wait(const struct report_row *row, unsigned permille);

void report_fini(struct report *r);

#endif
