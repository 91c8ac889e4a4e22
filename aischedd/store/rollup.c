/* rollup.c - write sums of use by hour, day and month, and the spans of time
 * that are not booked yet */
#include "aischedd/state/cluster/rollup.h"
#include "aischedd/store/own.h"

#include <stdlib.h>

#include "libcommon/cron/period.h"
#include "libcommon/mem.h"

/* Number of levels: each amount is in a row of its hour, one of its day and one
 * of its month. */
enum { LEVELS = PERIOD_MONTH + 1 };

static int put_key(struct store *store, const struct rollup *r, struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_ROLLUP_KEY);

	db_i64(&s, 1, r->id);
	for (int i = 0; i < PARTS; i++)
		db_text(&s, 2 + i, r->part[i]);
	db_i64(&s, 2 + PARTS, r->booked_ms);
	return db_run(&store->db, &s, err);
}

static int put_sum(struct store *store, int64_t key, enum period level,
                   int64_t start, const struct rollup_due *due, struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_ROLLUP);
	int c = 1;

	db_i64(&s, c++, level);
	db_i64(&s, c++, start);
	db_i64(&s, c++, key);
	db_i64(&s, c++, due->wait_max_ms);
	for (int i = 0; i < ROLLUP_NSUMS; i++)
		db_i64(&s, c++, due->sum[i]);
	return db_run(&store->db, &s, err);
}

static void add_due(struct rollup_due *to, const struct rollup_due *due)
{
	for (int i = 0; i < ROLLUP_NSUMS; i++)
		to->sum[i] = rollup_sum(to->sum[i], due->sum[i]);
	if (due->wait_max_ms > to->wait_max_ms)
		to->wait_max_ms = due->wait_max_ms;
}

/* Add the rollup's unwritten hours to its rows of one level (hours, days or
 * months). Consecutive hours of the same day or month are summed up first, so
 * that their row is written only once. */
static int put_level(struct store *store, const struct state *state,
                     const struct rollup *r, enum period level, struct err *err)
{
	struct rollup_due sum = { 0 };
	int64_t span[2];

	for (size_t i = 0; i < r->ndue; i++) {
		int64_t hour = r->due[i].hour;

		if (!i)
			period_of(state_zone(state), level, hour, span);
		if (hour < span[0] || hour >= span[1]) {
			if (put_sum(store, r->id, level, span[0], &sum, err) <
			    0)
				return -1;
			sum = (struct rollup_due){ 0 };
			period_of(state_zone(state), level, hour, span);
		}
		add_due(&sum, &r->due[i]);
	}
	if (!r->ndue)
		return 0;
	return put_sum(store, r->id, level, span[0], &sum, err);
}

static int put_waits(struct store *store, const struct state *state,
                     const struct rollup *r, enum period level, struct err *err)
{
	for (size_t i = 0; i < r->nwait; i++) {
		struct stmt s = db_use(&store->db, PUT_ROLLUP_WAIT);
		int64_t span[2];

		period_of(state_zone(state), level, r->wait[i].hour, span);
		db_i64(&s, 1, level);
		db_i64(&s, 2, span[0]);
		db_i64(&s, 3, r->id);
		db_i64(&s, 4, r->wait[i].bucket);
		db_i64(&s, 5, r->wait[i].n);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

int rollup_put(struct store *store, const struct state *state,
               const struct rollup *r, struct err *err)
{
	if (put_key(store, r, err) < 0)
		return -1;
	for (int level = PERIOD_HOUR; level < LEVELS; level++)
		if (put_level(store, state, r, (enum period)level, err) < 0 ||
		    put_waits(store, state, r, (enum period)level, err) < 0)
			return -1;
	return 0;
}

/* --- long spans that are not booked yet ---------------------------------- */

/* The key in table meta under which the spans are stored, as one text: "ID FROM
 * TO RATE ...;" for each. */
static const char lags_key[] = "rollup_lags";

int rollup_put_lags(struct store *store, const struct changes *changes,
                    struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_META);
	struct buf text = { 0 };
	int result;

	buf_puts(&text, "");
	for (size_t i = 0; i < changes->nlags; i++) {
		const struct rollup_lag *lag = &changes->lag[i];

		buf_printf(&text, "%lld %lld %lld", (long long)lag->rollup->id,
		           (long long)lag->from_ms, (long long)lag->to_ms);
		for (int r = 0; r < RATES; r++)
			buf_printf(&text, " %lld", (long long)lag->rate[r]);
		buf_addc(&text, ';');
	}
	db_text(&s, 1, lags_key);
	db_text(&s, 2, text.data);
	result = db_run(&store->db, &s, err);
	buf_free(&text);
	return result;
}

/* Read one span and advance *text behind it; returns false if the text is
 * not valid. */
static bool read_lag(const char **text, int64_t *id, struct rollup_lag *ret)
{
	int64_t *numbers[3 + RATES] = { id, &ret->from_ms, &ret->to_ms };
	char *end;

	for (int r = 0; r < RATES; r++)
		numbers[3 + r] = &ret->rate[r];
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		*numbers[i] = strtoll(*text, &end, 10);
		if (end == *text)
			return false;
		*text = end;
	}
	*text += *end == ';';
	return *end == ';' && ret->from_ms >= 0;
}

int rollup_load_lags(struct store *store, struct state *state, struct err *err)
{
	struct stmt s = db_use(&store->db, GET_META);
	const char *text;
	int more;

	db_text(&s, 1, lags_key);
	more = db_step(&store->db, &s, err);
	if (more <= 0)
		return more;
	text = db_col_text(&s, 0);
	while (text && *text) {
		struct rollup_lag lag;
		int64_t id;

		if (!read_lag(&text, &id, &lag)) {
			sqlite3_reset(s.s);
			return err_set(err, EINVAL, "meta '%s' is not valid",
			               lags_key);
		}
		state_load_lag(state, id, &lag);
	}
	sqlite3_reset(s.s);
	return 0;
}
