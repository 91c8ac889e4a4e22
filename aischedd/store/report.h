/*
 * report.h - sum up use over a range of time, by user, queue, month ...
 *
 * The database has sums by hour, by day and by month (rollups). Whole months of
 * the range are read as rows of months, other whole days as rows of days, and
 * the rest as rows of hours; where the sums of hours were removed, the range is
 * widened to whole days. Amounts that are not in the database yet come from
 * a copy of the state. The transaction that reads the rows begins when the copy
 * is made, so nothing is missed or counted twice.
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

/* X(symbol, name): keys to sum up by. First the parts of a rollup's key (as in
 * enum rollup_part), then the periods (as in enum period). The last one is the
 * group of the user, which the caller looks up. */
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
	X(WEEK, "week")         \
	X(GROUP, "group")

enum report_key {
#define X(sym, name) REPORT_##sym,
	REPORT_KEYS(X)
#undef X
	    REPORT_NKEYS
};

const char *report_key_name(enum report_key key);
bool report_key_is_time(enum report_key key);

/* One group of the report, with the sums of its rollups. `cost` combines
 * SUM_cost (millionths of the currency) and SUM_cost_rest, in the unit of
 * SUM_cost_rest: 1/3600000 of a millionth. */
struct report_row {
	/* any rollup of the group: has the user, queue ... of the group */
	const struct rollup *rollup;
	const char *group; /* "": not known, or the report is not by group */
	int64_t period; /* first second of the group's period; 0: not by time */
	__int128 sum[ROLLUP_NSUMS], cost;
	int64_t wait_max_ms;
	uint64_t bucket[ROLLUP_BUCKETS];
};

struct report {
	/* Set by the caller before report_begin(). */
	enum report_key by[REPORT_NKEYS];
	size_t nby;
	/* unix seconds; widened to whole hours, or to whole days */
	int64_t since, until;
	size_t most; /* rows; report_run() fails with E2BIG if there are more */
	const struct zone *zone;

	/* Set by report_run(). */
	struct report_row **row;
	size_t nrows, row_cap;
	struct report_row total;

	/* A copy of what the state has not written to the database yet. */
	struct report_copy *copy;
	size_t ncopies;
	struct rollup_lag *lag;
	size_t nlags;
	int64_t now_ms;
	int64_t hours_from; /* sums of hours before this time were removed */
	struct db db;
	struct report_work *work;
};

enum report_part {
	REPORT_NOT, /* leave the rollup out */
	/* count it only in the total: the requester may not see it */
	REPORT_TOTAL,
	REPORT_ROW
};
typedef enum report_part report_wanted_fn(const struct rollup *rollup,
                                          void *arg);

/*
 * Copy from the state the amounts that are not in the database yet, and open
 * the database. Call it on the loop's thread. For each rollup wanted() returns
 * whether the report counts it.
 */
int report_begin(struct report *r, const struct state *state, const char *path,
                 int64_t now_ms, report_wanted_fn *wanted, void *arg,
                 struct err *err);

typedef const char *report_group_fn(const char *user, void *arg);

/* Set the group of each user to the text that group_of() returns ("": not
 * known); the texts must outlive the report. Call this before report_run() if
 * the report is by group. May run on any thread. */
void report_set_groups(struct report *r, report_group_fn *group_of, void *arg);

/* Read the database and compute the rows and the total. May run on any thread.
 */
int report_run(struct report *r, struct err *err);

/* Returns the row's value of a key that is not a period; "": not known. */
const char *report_row_text(const struct report_row *row, enum report_key key);

/* Returns the wait in milliseconds that `permille` thousandths of the group's
 * jobs did not exceed (500: the median), accurate to 5 %. */
int64_t report_wait(const struct report_row *row, unsigned permille);

void report_fini(struct report *r);

#endif
