/* report.c - sum up use over a range of time, by user, queue, month ... */
#include "aischedd/store/report.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/state.h"
#include "aischedd/store/rollup_purge.h"
#include "libcommon/cron/period.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

typedef __int128 wide;

enum { HOUR_MS = 3600000, SQL_SUMS = 0, SQL_WAITS = 1 };

/* A copy of a rollup's amounts that are not in the database yet. */
struct report_copy {
	/* other threads may read only its parts, which never change */
	const struct rollup *rollup;
	/* count it only in the total, see REPORT_TOTAL */
	bool hidden;
	/* the user's group; "": not known, or the report is not by group */
	const char *group;
	int64_t id, booked_ms;
	int64_t rate[RATES];
	struct rollup_due *due;
	size_t ndue;
	struct rollup_wait *wait;
	size_t nwait;
};

struct report_work {
	struct map copies; /* struct report_copy, by id of the rollup */
	/* struct report_row, by the hash of the group's keys; if that is taken,
	 * by the next free number */
	struct map rows;
	int64_t span[2]; /* bounds of the period looked up last */
};

const char *report_key_name(enum report_key key)
{
	static const char *const names[] = {
#define X(sym, name) name,
		REPORT_KEYS(X)
#undef X
	};

	return names[key];
}

/* --- copying from the state ---------------------------------------------- */

static void *copy_of(const void *data, size_t n, size_t size)
{
	return n ? memcpy(xmalloc(n * size), data, n * size) : NULL;
}

static void copy_rollup(struct report_copy *to, const struct rollup *r)
{
	*to = (struct report_copy){
		.rollup = r,
		.group = "",
		.id = r->id,
		.booked_ms = r->booked_ms,
		.due = copy_of(r->due, r->ndue, sizeof(*r->due)),
		.ndue = r->ndue,
		.wait = copy_of(r->wait, r->nwait, sizeof(*r->wait)),
		.nwait = r->nwait,
	};
	memcpy(to->rate, r->rate, sizeof(to->rate));
}

/* Fail if a report by hour includes hours whose sums were removed. */
static int check_hours(const struct report *r, struct err *err)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < r->nby; i++) {
		if (r->by[i] != REPORT_HOUR || r->since >= r->hours_from)
			continue;
		format_time(&text, r->hours_from);
		err_set(err, EINVAL,
		        "hours before %s are no longer known: set --since, or "
		        "report by day",
		        text.data);
		buf_free(&text);
		return -1;
	}
	return 0;
}

#define COLUMN(name) ", " #name

int report_begin(struct report *r, const struct state *state, const char *path,
                 int64_t now_ms, report_wanted_fn *wanted, void *arg,
                 struct err *err)
{
	static const char *const sql[] = {
		[SQL_SUMS] = "SELECT key, start, wait_max_ms" ROLLUP_SUMS(
		    COLUMN) " FROM rollup WHERE level = ?1 AND start >= ?2"
			    " AND start < ?3",
		[SQL_WAITS] =
		    "SELECT key, start, bucket, n FROM rollup_wait"
		    " WHERE level = ?1 AND start >= ?2 AND start < ?3",
	};
	size_t n = state_nrollups(state);
	struct changes changes;

	r->now_ms = now_ms;
	r->work = xcalloc(1, sizeof(*r->work));
	r->copy = xcalloc(n + 1, sizeof(*r->copy));
	for (size_t i = 0; i < n; i++) {
		const struct rollup *rollup = state_rollup(state, i);

		if (wanted(rollup, arg) == REPORT_NOT)
			continue;
		copy_rollup(&r->copy[r->ncopies], rollup);
		r->copy[r->ncopies].hidden =
		    wanted(rollup, arg) == REPORT_TOTAL;
		map_set(&r->work->copies, (uint64_t)rollup->id,
		        &r->copy[r->ncopies++]);
	}
	state_changes(state, &changes);
	r->nlags = changes.nlags;
	r->lag = copy_of(changes.lag, r->nlags, sizeof(*r->lag));
	if (db_open(&r->db, path, true, sql, ARRAY_SIZE(sql), err) < 0)
		return -1;
	/* Read something at once: SQLite takes the snapshot of the database at
	 * the first read, not at BEGIN. */
	if (db_exec(&r->db, "BEGIN", err) < 0)
		return -1;
	if (db_get_i64(&r->db, ROLLUP_HOURS_FROM, &r->hours_from, err) < 0)
		return -1;
	return check_hours(r, err);
}

/* --- groups ------------------------------------------------------------ */

bool report_key_is_time(enum report_key key)
{
	return key >= REPORT_HOUR && key <= REPORT_WEEK;
}

const char *report_row_text(const struct report_row *row, enum report_key key)
{
	return key == REPORT_GROUP ? row->group : row->rollup->part[key];
}

static bool same_group(const struct report *r, const struct report_row *x,
                       const struct report_row *y)
{
	if (x->period != y->period)
		return false;
	for (size_t i = 0; i < r->nby; i++)
		if (!report_key_is_time(r->by[i]) &&
		    strcmp(report_row_text(x, r->by[i]),
		           report_row_text(y, r->by[i])) != 0)
			return false;
	return true;
}

/* If the report is by a period, returns the first second of the period that
 * contains the time `at`; else 0. */
static int64_t period_at(struct report *r, int64_t at)
{
	struct report_work *w = r->work;

	for (size_t i = 0; i < r->nby; i++) {
		if (!report_key_is_time(r->by[i]))
			continue;
		if (at < w->span[0] || at >= w->span[1])
			period_of(r->zone,
			          (enum period)(r->by[i] - REPORT_HOUR), at,
			          w->span);
		return w->span[0];
	}
	return 0;
}

/* Returns the row of the group to which a rollup belongs at a time; adds it if
 * it is new. Returns NULL if there are too many rows. */
static struct report_row *row_of(struct report *r, const struct report_copy *c,
                                 int64_t at)
{
	const struct report_row key = { .rollup = c->rollup,
		                        .group = c->group,
		                        .period = period_at(r, at) };
	uint64_t hash = hash_bytes(0, &key.period, sizeof(key.period));
	struct report_row *row;

	for (size_t i = 0; i < r->nby; i++)
		if (!report_key_is_time(r->by[i])) {
			const char *text = report_row_text(&key, r->by[i]);

			hash = hash_bytes(hash, text, strlen(text) + 1);
		}
	while ((row = map_find(&r->work->rows, hash)) &&
	       !same_group(r, row, &key))
		hash++;
	if (row)
		return row;
	if (r->nrows == r->most)
		return NULL;
	row = xcalloc(1, sizeof(*row));
	row->rollup = key.rollup;
	row->group = key.group;
	row->period = key.period;
	map_set(&r->work->rows, hash, row);
	r->row = GROW(r->row, r->nrows, &r->row_cap);
	r->row[r->nrows++] = row;
	return row;
}

static int too_many(const struct report *r, struct err *err)
{
	return err_set(err, E2BIG,
	               "the report has more than %zu rows: name a shorter "
	               "time or fewer keys",
	               r->most);
}

static void add_sums(struct report_row *to, const int64_t sum[ROLLUP_NSUMS],
                     int64_t wait_max_ms)
{
	for (int i = 0; i < ROLLUP_NSUMS; i++)
		to->sum[i] += sum[i];
	to->cost += (wide)sum[SUM_cost] * HOUR_MS + sum[SUM_cost_rest];
	if (wait_max_ms > to->wait_max_ms)
		to->wait_max_ms = wait_max_ms;
}

/* Add a rollup's sums at the time `at` to the row of its group and to
 * the total. */
static int add(struct report *r, const struct report_copy *c, int64_t at,
               const int64_t sum[ROLLUP_NSUMS], int64_t wait_max_ms,
               struct err *err)
{
	struct report_row *row = c->hidden ? NULL : row_of(r, c, at);

	if (!row && !c->hidden)
		return too_many(r, err);
	if (row)
		add_sums(row, sum, wait_max_ms);
	add_sums(&r->total, sum, wait_max_ms);
	return 0;
}

static int add_wait(struct report *r, const struct report_copy *c, int64_t at,
                    uint32_t bucket, int64_t n, struct err *err)
{
	struct report_row *row = c->hidden ? NULL : row_of(r, c, at);

	if (!row && !c->hidden)
		return too_many(r, err);
	if (bucket >= ROLLUP_BUCKETS)
		return 0;
	if (row)
		row->bucket[bucket] += (uint64_t)n;
	r->total.bucket[bucket] += (uint64_t)n;
	return 0;
}

/* --- reading the database ----------------------------------------------- */

static int read_sums(struct report *r, enum period level, int64_t from,
                     int64_t to, struct err *err)
{
	struct stmt s = db_use(&r->db, SQL_SUMS);
	int more;

	db_i64(&s, 1, level);
	db_i64(&s, 2, from);
	db_i64(&s, 3, to);
	while ((more = db_step(&r->db, &s, err)) > 0) {
		const struct report_copy *c = map_find(
		    &r->work->copies, (uint64_t)sqlite3_column_int64(s.s, 0));
		int64_t sum[ROLLUP_NSUMS];

		if (!c)
			continue;
		for (int i = 0; i < ROLLUP_NSUMS; i++)
			sum[i] = sqlite3_column_int64(s.s, 3 + i);
		if (add(r, c, sqlite3_column_int64(s.s, 1), sum,
		        sqlite3_column_int64(s.s, 2), err) < 0)
			return -1;
	}
	return more;
}

static int read_waits(struct report *r, enum period level, int64_t from,
                      int64_t to, struct err *err)
{
	struct stmt s = db_use(&r->db, SQL_WAITS);
	int more;

	db_i64(&s, 1, level);
	db_i64(&s, 2, from);
	db_i64(&s, 3, to);
	while ((more = db_step(&r->db, &s, err)) > 0) {
		const struct report_copy *c = map_find(
		    &r->work->copies, (uint64_t)sqlite3_column_int64(s.s, 0));

		if (c && add_wait(r, c, sqlite3_column_int64(s.s, 1),
		                  (uint32_t)sqlite3_column_int64(s.s, 2),
		                  sqlite3_column_int64(s.s, 3), err) < 0)
			return -1;
	}
	return more;
}

/* Returns the coarsest level (hours, days or months) at which each stored row
 * lies within one period of the report. */
static enum period most_level(const struct report *r)
{
	enum period most = PERIOD_MONTH;

	for (size_t i = 0; i < r->nby; i++)
		if (r->by[i] == REPORT_HOUR)
			most = PERIOD_HOUR;
		else if ((r->by[i] == REPORT_DAY || r->by[i] == REPORT_WEEK) &&
		         most > PERIOD_DAY)
			most = PERIOD_DAY;
	return most;
}

/* Divide the range into the longest periods that fit. Read successive periods
 * of the same level (hours, days or months) together. */
static int read_range(struct report *r, struct err *err)
{
	enum period most = most_level(r);
	int64_t from = r->since, at = from;
	int level = -1;

	while (at < r->until || level >= 0) {
		int64_t span[2] = { 0, 0 };
		int next = -1;

		for (int p = (int)most; p >= 0 && at < r->until; p--) {
			period_of(r->zone, (enum period)p, at, span);
			if (p == PERIOD_HOUR ||
			    (span[0] == at && span[1] <= r->until)) {
				next = p;
				break;
			}
		}
		if (level >= 0 && next != level) {
			if (read_sums(r, (enum period)level, from, at, err) <
			        0 ||
			    read_waits(r, (enum period)level, from, at, err) <
			        0)
				return -1;
			from = at;
		}
		level = next;
		if (next >= 0)
			at = span[1];
	}
	return 0;
}

/* --- adding what is not in the database --------------------------------- */

static int add_due(struct report *r, const struct report_copy *c,
                   struct err *err)
{
	for (size_t i = 0; i < c->ndue; i++) {
		const struct rollup_due *due = &c->due[i];

		if (due->hour >= r->since && due->hour < r->until &&
		    add(r, c, due->hour, due->sum, due->wait_max_ms, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < c->nwait; i++) {
		const struct rollup_wait *w = &c->wait[i];

		if (w->hour >= r->since && w->hour < r->until &&
		    add_wait(r, c, w->hour, w->bucket, w->n, err) < 0)
			return -1;
	}
	return 0;
}

/* Add the amounts held at these rates from `from` to `to`, a span that is not
 * booked yet. */
static int add_held(struct report *r, const struct report_copy *c,
                    const int64_t rate[RATES], int64_t from, int64_t to,
                    struct err *err)
{
	bool idle = true;

	for (int i = 0; i < RATES; i++)
		idle = idle && !rate[i];
	if (from < r->since * 1000)
		from = r->since * 1000;
	if (to > r->until * 1000)
		to = r->until * 1000;
	while (!idle && from < to) {
		int64_t sum[ROLLUP_NSUMS] = { 0 }, hour[2], end;

		period_of(r->zone, PERIOD_HOUR, from / 1000, hour);
		end = hour[1] * 1000 < to ? hour[1] * 1000 : to;
		rollup_add(sum, rate, end - from);
		if (add(r, c, hour[0], sum, 0, err) < 0)
			return -1;
		from = end;
	}
	return 0;
}

static int add_lag(struct report *r, const struct rollup_lag *lag,
                   struct err *err)
{
	const struct report_copy *c =
	    map_find(&r->work->copies, (uint64_t)lag->rollup->id);

	return c ? add_held(r, c, lag->rate, lag->from_ms, lag->to_ms, err) : 0;
}

/* --- the report ---------------------------------------------------------- */

/* Widen the range to whole days where the sums of hours were removed. */
static void whole_days(struct report *r)
{
	int64_t span[2];

	period_of(r->zone, PERIOD_DAY, r->since, span);
	if (r->since < r->hours_from)
		r->since = span[0];
	period_of(r->zone, PERIOD_DAY, r->until, span);
	if (r->until < r->hours_from && r->until > span[0])
		r->until = span[1];
}

static void whole_hours(struct report *r)
{
	int64_t span[2];

	period_of(r->zone, PERIOD_HOUR, r->since, span);
	r->since = span[0];
	period_of(r->zone, PERIOD_HOUR, r->until, span);
	if (r->until > span[0])
		r->until = span[1];
	/* A range that ends now or later is extended to the end of the month:
	 * nothing is booked after now, and a whole month is read as one row. */
	if (r->until * 1000 > r->now_ms) {
		period_of(r->zone, PERIOD_MONTH, r->until, span);
		r->until = span[1];
	}
}

static int by_keys(const void *a, const void *b, void *arg)
{
	const struct report_row *x = *(const struct report_row *const *)a;
	const struct report_row *y = *(const struct report_row *const *)b;
	const struct report *r = arg;
	int order = 0;

	for (size_t i = 0; i < r->nby && !order; i++)
		order = report_key_is_time(r->by[i])
		            ? (x->period > y->period) - (x->period < y->period)
		            : strcmp(report_row_text(x, r->by[i]),
		                     report_row_text(y, r->by[i]));
	return order;
}

void report_set_groups(struct report *r, report_group_fn *group_of, void *arg)
{
	for (size_t i = 0; i < r->ncopies; i++)
		if (!r->copy[i].hidden)
			r->copy[i].group =
			    group_of(r->copy[i].rollup->part[PART_USER], arg);
}

int report_run(struct report *r, struct err *err)
{
	whole_hours(r);
	whole_days(r);
	if (read_range(r, err) < 0)
		return -1;
	for (size_t i = 0; i < r->ncopies; i++) {
		const struct report_copy *c = &r->copy[i];

		if (add_due(r, c, err) < 0 ||
		    add_held(r, c, c->rate, c->booked_ms, r->now_ms, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < r->nlags; i++)
		if (add_lag(r, &r->lag[i], err) < 0)
			return -1;
	if (r->nrows)
		qsort_r(r->row, r->nrows, sizeof(*r->row), by_keys, r);
	return 0;
}

int64_t report_wait(const struct report_row *row, unsigned permille)
{
	uint64_t n = 0, wanted, seen = 0;

	for (int i = 0; i < ROLLUP_BUCKETS; i++)
		n += row->bucket[i];
	wanted = (n * permille + 999) / 1000;
	for (uint32_t i = 0; i < ROLLUP_BUCKETS; i++) {
		seen += row->bucket[i];
		if (seen >= wanted)
			return rollup_bucket_ms(i) < row->wait_max_ms
			           ? rollup_bucket_ms(i)
			           : row->wait_max_ms;
	}
	return row->wait_max_ms;
}

void report_fini(struct report *r)
{
	for (size_t i = 0; i < r->ncopies; i++) {
		free(r->copy[i].due);
		free(r->copy[i].wait);
	}
	free(r->copy);
	free(r->lag);
	for (size_t i = 0; i < r->nrows; i++)
		free(r->row[i]);
	free(r->row);
	if (r->work) {
		map_free(&r->work->copies);
		map_free(&r->work->rows);
	}
	free(r->work);
	if (r->db.sql)
		db_close(&r->db);
}
