/* rollup_check.c - compare rollups with the attempts that they should sum up */
#include "aischedd/store/rollup_check.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/job.h"
#include "aischedd/store/db.h"
#include "aischedd/store/rollup_purge.h"
#include "libcommon/cron/period.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum { WINDOW_DAYS = 7, DAY_S = 86400, SAID_MOST = 20, HOUR_MS = 3600000 };

typedef __int128 wide;

/* The sums of one key in one period. `cost` combines SUM_cost and
 * SUM_cost_rest, in the unit of SUM_cost_rest. */
struct sums {
	int64_t key, start;
	wide sum[ROLLUP_NSUMS], cost;
	/* bit i: sum i did not fit into a row, which has INT64_MAX instead */
	uint32_t full;
};

struct checking {
	struct db db;
	const struct zone *zone;
	struct rollup_check *check;
	int64_t since, until; /* bounds of this slice, unix seconds */
	int64_t hour[2];      /* bounds of the hour looked up last */
	struct map keys;      /* struct key by the hash of its parts */
	struct key *key;
	size_t nkeys, key_cap;
	struct map sums; /* struct sums by id_of() */
};

struct key {
	int64_t id, booked_ms;
	char *part[PARTS];
};

enum check_sql { KEYS, BOUNDS, LAGS, ATTEMPTS, RUNNING, SUMS, NSQL_CHECK };

#define COLUMN(name) ", " #name
static const char *const texts[NSQL_CHECK] = {
	[KEYS] = "SELECT id, booked_ms, user, account, queue, class, pool,"
		 " gpu_type FROM rollup_key WHERE user <> '' ORDER BY id",
	[BOUNDS] = "SELECT coalesce(min(start), 0), coalesce(max(start), -1),"
		   " (SELECT coalesce(max(value), 0) FROM meta"
		   " WHERE key = 'accounting_from'), (" ROLLUP_HOURS_FROM
		   ") FROM rollup WHERE level = 0",
	[LAGS] = "SELECT count(*) FROM meta WHERE key = 'rollup_lags'"
		 " AND value <> ''",
	/* Attempts written by older schemas have no pieces: no rollup
	 * counts them. */
	[ATTEMPTS] =
	    "SELECT user, account, queue, class, pool, gpu_type, pieces,"
	    " ended_ms - held_ms, ended_ms, state,"
	    " reason, cause, held_cpu_ms, held_mem_mib_s, held_gpu_ms, cpu_ms,"
	    " peak_mem_kib, gpu_busy_ms, gpu_known_ms, wait_ms,"
	    " CASE WHEN state > 5 THEN"
	    " (SELECT sum(held_gpu_ms) FROM attempt b WHERE b.job = a.job) END"
	    " FROM attempt a LEFT JOIN holder h ON h.id = holder"
	    " WHERE ended_ms >= ?1 AND ended_ms - held_ms < ?2"
	    " AND pieces IS NOT NULL",
	[RUNNING] = "SELECT ledger FROM job"
		    " WHERE state < 5 AND ledger IS NOT NULL",
	[SUMS] = "SELECT key, start" ROLLUP_SUMS(
	    COLUMN) " FROM rollup WHERE level = ?1 AND start >= ?2"
		    " AND start < ?3 AND key NOT IN"
		    " (SELECT id FROM rollup_key WHERE user = '')",
};

/* --- sums -------------------------------------------------------------- */

/* Returns one number for a rollup's key and the start of a period, for use in
 * maps. `start` is divided by 900: in every time zone, periods start at
 * multiples of 900 s. */
static uint64_t id_of(int64_t key, int64_t start)
{
	return (uint64_t)key << 34 | (uint64_t)(start / 900);
}

static struct sums *sums_of(struct map *map, int64_t key, int64_t start)
{
	void **at = map_at(map, id_of(key, start));
	struct sums *s = *at;

	if (s)
		return s;
	*at = s = xcalloc(1, sizeof(*s));
	s->key = key;
	s->start = start;
	return s;
}

static void free_sums(struct map *map)
{
	struct sums *s;
	size_t at = 0;

	while ((s = map_each(map, &at)))
		free(s);
	map_free(map);
	*map = (struct map){ 0 };
}

static bool in_window(const struct checking *c, int64_t ms)
{
	return ms >= c->since * 1000 && ms < c->until * 1000;
}

static struct sums *sums_at(struct checking *c, int64_t key, int64_t ms)
{
	int64_t at = ms / 1000;

	if (at < c->hour[0] || at >= c->hour[1])
		period_of(c->zone, PERIOD_HOUR, at, c->hour);
	return sums_of(&c->sums, key, c->hour[0]);
}

/* --- summing up attempts and running jobs -------------------------------- */

static void add_held(struct sums *s, const struct ledger_piece *p, int64_t ms)
{
	static const enum rollup_sum held[RES_N] = { SUM_held_cpu, SUM_held_mem,
		                                     SUM_held_gpu };
	int64_t times = p->mixed ? 1 : ms;

	for (int r = 0; r < RES_N; r++)
		s->sum[held[r]] += (wide)p->of[r] * times;
	s->cost += (wide)p->of[RATE_COST] * times;
}

static void add_piece(struct checking *c, int64_t key,
                      const struct ledger_piece *p, int64_t from)
{
	int64_t to = from + p->ms, least = c->since * 1000;

	if (p->mixed) {
		if (in_window(c, from))
			add_held(sums_at(c, key, from), p, p->ms);
		return;
	}
	if (to > c->until * 1000)
		to = c->until * 1000;
	for (from = from > least ? from : least; from < to;) {
		struct sums *s = sums_at(c, key, from);
		int64_t end = c->hour[1] * 1000 < to ? c->hour[1] * 1000 : to;

		add_held(s, p, end - from);
		from = end;
	}
}

static void add_start(struct checking *c, int64_t key, int64_t began_ms,
                      int64_t wait_ms)
{
	struct sums *s;

	if (wait_ms == SPEC_UNSET || !in_window(c, began_ms))
		return;
	s = sums_at(c, key, began_ms);
	s->sum[SUM_jobs]++;
	s->sum[SUM_waits]++;
	s->sum[SUM_wait_ms] += wait_ms;
}

/* Columns of the query ATTEMPTS, after the parts of the attempt's key. */
enum {
	A_PIECES = PARTS,
	A_BEGAN,
	A_ENDED,
	A_STATE,
	A_REASON,
	A_CAUSE,
	A_CPU,
	A_MEM,
	A_GPU,
	A_USED,
	A_PEAK,
	A_GPU_BUSY,
	A_GPU_KNOWN,
	A_WAIT,
	A_ALL_GPU
};

static void add_end(struct sums *s, const struct stmt *row)
{
	static const enum rollup_sum by_state[JOB_NSTATES] = {
		[JOB_COMPLETED] = SUM_completed,
		[JOB_FAILED] = SUM_failed,
		[JOB_CANCELLED] = SUM_cancelled,
		[JOB_TIMEOUT] = SUM_timeout,
	};
	int64_t state = db_col_i64(row, A_STATE, 0);
	int64_t cause = db_col_i64(row, A_CAUSE, 0);
	int64_t why = db_col_i64(row, A_REASON, 0);
	int64_t used = db_col_i64(row, A_USED, SPEC_UNSET);
	int64_t peak = db_col_i64(row, A_PEAK, SPEC_UNSET);
	int64_t ms = db_col_i64(row, A_ENDED, 0) - db_col_i64(row, A_BEGAN, 0);

	s->sum[SUM_attempts]++;
	if (job_state_is_final((enum job_state)state))
		s->sum[by_state[state] ? by_state[state] : SUM_other]++;
	if (state == JOB_FAILED || state == JOB_TIMEOUT ||
	    state == JOB_OUT_OF_MEMORY || state == JOB_NODE_FAIL)
		s->sum[SUM_failed_gpu_ms] += db_col_i64(row, A_ALL_GPU, 0);
	if (state == JOB_PENDING &&
	    (cause == CAUSE_PREEMPT || why == WHY_NodeFail))
		s->sum[SUM_evicted]++;
	if (state == JOB_PENDING &&
	    (cause == CAUSE_PREEMPT || cause == CAUSE_RECALL ||
	     why == WHY_NodeFail))
		s->sum[SUM_evicted_gpu_ms] += db_col_i64(row, A_GPU, 0);
	s->sum[SUM_gpu_busy_ms] += db_col_i64(row, A_GPU_BUSY, 0);
	s->sum[SUM_gpu_known_ms] += db_col_i64(row, A_GPU_KNOWN, 0);
	if (used != SPEC_UNSET) {
		s->sum[SUM_cpu_used_ms] += used;
		s->sum[SUM_cpu_known_ms] += db_col_i64(row, A_CPU, 0);
	}
	if (peak != SPEC_UNSET) {
		s->sum[SUM_mem_used_mib_s] +=
		    (int64_t)((wide)peak * ms / 1024000);
		s->sum[SUM_mem_known_mib_s] += db_col_i64(row, A_MEM, 0);
	}
}

static uint64_t hash_of(const char *const part[PARTS])
{
	uint64_t hash = 0;

	for (int i = 0; i < PARTS; i++)
		hash = hash_bytes(hash, part[i], strlen(part[i]) + 1);
	return hash;
}

/* Returns the id of the rollup to which an attempt belongs, or -1 if there is
 * no such rollup. */
static int64_t key_of(const struct checking *c, const struct stmt *row)
{
	const char *part[PARTS];
	const struct key *key;

	for (int i = 0; i < PARTS; i++)
		if (!(part[i] = db_col_text(row, i)))
			return -1;
	key = map_find(&c->keys, hash_of(part));
	return key ? key->id : -1;
}

static int add_attempts(struct checking *c, struct err *err)
{
	struct stmt row = db_use(&c->db, ATTEMPTS);
	int more;

	db_i64(&row, 1, c->since * 1000);
	db_i64(&row, 2, c->until * 1000);
	while ((more = db_step(&c->db, &row, err)) > 0) {
		int64_t key = key_of(c, &row);
		int64_t began = db_col_i64(&row, A_BEGAN, 0), at = began;
		int64_t ended = db_col_i64(&row, A_ENDED, 0);
		const unsigned char *data =
		    sqlite3_column_blob(row.s, A_PIECES);
		size_t left = (size_t)sqlite3_column_bytes(row.s, A_PIECES);
		struct ledger_piece p;

		c->check->attempts++;
		while (ledger_piece_unpack(&data, &left, &p)) {
			add_piece(c, key, &p, at);
			at += p.ms;
		}
		add_start(c, key, began, db_col_i64(&row, A_WAIT, SPEC_UNSET));
		if (in_window(c, ended))
			add_end(sums_at(c, key, ended), &row);
	}
	return more;
}

/* Add what a running job has held so far, up to the time to which its rollup
 * is booked. */
static void add_ledger(struct checking *c, const struct ledger *l)
{
	const struct key *key = NULL;
	struct ledger_piece open = { .ms = 0 };
	int64_t at = l->began_ms;

	for (size_t i = 0; i < c->nkeys && !key; i++)
		if (c->key[i].id == l->rollup_id)
			key = &c->key[i];
	if (!key || !l->began_ms)
		return;
	for (size_t i = 0; i < l->npieces; at += l->piece[i++].ms)
		add_piece(c, key->id, &l->piece[i], at);
	memcpy(open.of, l->rate, sizeof(open.of));
	open.ms = key->booked_ms - at;
	add_piece(c, key->id, &open, at);
	add_start(c, key->id, l->began_ms, l->wait_ms);
	c->check->attempts++;
}

static int add_running(struct checking *c, struct err *err)
{
	struct stmt row = db_use(&c->db, RUNNING);
	int more;

	while ((more = db_step(&c->db, &row, err)) > 0) {
		const char *text = db_col_text(&row, 0);
		struct ledger *l = text ? ledger_parse(text, NULL) : NULL;

		if (l)
			add_ledger(c, l);
		ledger_free(l);
	}
	return more;
}

/* --- comparing with the stored sums ------------------------------------- */

static void say(struct checking *c, enum period level, const struct sums *s,
                const char *what, int64_t more)
{
	static const char *const names[] = { "hour", "day", "month" };
	struct buf text = { 0 };

	if (c->check->wrong++ >= SAID_MOST)
		return;
	buf_printf(&text, "%s ", names[level]);
	format_time(&text, s->start);
	for (size_t i = 0; i < c->nkeys; i++)
		if (c->key[i].id == s->key)
			buf_printf(&text, ", user %s, queue %s, pool %s",
			           c->key[i].part[PART_USER],
			           c->key[i].part[PART_QUEUE],
			           c->key[i].part[PART_POOL]);
	buf_printf(&text, ": %s is %lld too %s", what,
	           (long long)(more < 0 ? -more : more),
	           more < 0 ? "little" : "much");
	c->check->said(text.data, c->check->arg);
	buf_free(&text);
}

/* Report each sum that is not 0: the map has the expected amounts less the
 * stored ones, so the rest is wrong. */
static void compare(struct checking *c, enum period level, struct map *map)
{
	static const char *const names[] = {
#define X(name) #name,
		ROLLUP_SUMS(X)
#undef X
	};
	const struct sums *s;
	size_t at = 0;

	while ((s = map_each(map, &at))) {
		for (int i = 0; i < ROLLUP_NSUMS; i++)
			if (s->sum[i] && !(s->full >> i & 1))
				say(c, level, s, names[i], (int64_t)-s->sum[i]);
		if (s->cost)
			say(c, level, s, "cost", (int64_t)-s->cost);
		c->check->sums++;
	}
}

/* Read all rollup rows of a level in this slice, and add them to the sums in
 * `map`, or subtract them if sign is -1. Each row counts in the period of level
 * `into` that contains it. */
static int add_rows(struct checking *c, struct map *map, enum period level,
                    enum period into, int sign, struct err *err)
{
	struct stmt row = db_use(&c->db, SUMS);
	int64_t span[2] = { 0, 0 };
	int more;

	db_i64(&row, 1, level);
	db_i64(&row, 2, c->since);
	db_i64(&row, 3, c->until);
	while ((more = db_step(&c->db, &row, err)) > 0) {
		int64_t start = db_col_i64(&row, 1, 0);
		struct sums *s;

		if (start < span[0] || start >= span[1])
			period_of(c->zone, into, start, span);
		s = sums_of(map, db_col_i64(&row, 0, 0),
		            level == into ? start : span[0]);
		for (int i = 0; i < ROLLUP_NSUMS; i++) {
			int64_t sum = db_col_i64(&row, 2 + i, 0);

			s->sum[i] += (wide)sign * sum;
			s->full |= (uint32_t)(sum == INT64_MAX) << i;
		}
		s->cost +=
		    sign * ((wide)db_col_i64(&row, 2 + SUM_cost, 0) * HOUR_MS +
		            db_col_i64(&row, 2 + SUM_cost_rest, 0));
		s->sum[SUM_cost] = s->sum[SUM_cost_rest] = 0;
	}
	return more;
}

/* Compare the sums of a level's rows (hours, say) with the rows of the level
 * above (days). */
static int check_level(struct checking *c, enum period level, enum period above,
                       struct err *err)
{
	struct map map = { 0 };
	int result = 0;

	if (add_rows(c, &map, level, above, 1, err) < 0 ||
	    add_rows(c, &map, above, above, -1, err) < 0)
		result = -1;
	else
		compare(c, above, &map);
	free_sums(&map);
	return result;
}

static int check_hours(struct checking *c, struct err *err)
{
	int result = 0;

	if (add_attempts(c, err) < 0 || add_running(c, err) < 0 ||
	    add_rows(c, &c->sums, PERIOD_HOUR, PERIOD_HOUR, -1, err) < 0)
		result = -1;
	else
		compare(c, PERIOD_HOUR, &c->sums);
	free_sums(&c->sums);
	return result;
}

/* --- one slice ---------------------------------------------------------- */

static int load_keys(struct checking *c, struct err *err)
{
	struct stmt row = db_use(&c->db, KEYS);
	int more;

	while ((more = db_step(&c->db, &row, err)) > 0) {
		struct key *key;

		c->key = GROW(c->key, c->nkeys, &c->key_cap);
		key = &c->key[c->nkeys++];
		key->id = db_col_i64(&row, 0, 0);
		key->booked_ms = db_col_i64(&row, 1, 0);
		for (int i = 0; i < PARTS; i++) {
			const char *text = db_col_text(&row, 2 + i);

			key->part[i] = xstrdup(text ? text : "");
		}
	}
	for (size_t i = 0; i < c->nkeys; i++)
		map_set(&c->keys, hash_of((const char *const *)c->key[i].part),
		        &c->key[i]);
	return more;
}

/* Fail with EAGAIN if long spans of use are still being booked to rollups. */
static int check_lags(struct checking *c, struct err *err)
{
	struct stmt row = db_use(&c->db, LAGS);
	int64_t n;

	if (db_step(&c->db, &row, err) < 1)
		return -1;
	n = db_col_i64(&row, 0, 0);
	sqlite3_reset(row.s);
	if (!n)
		return 0;
	return err_set(err, EAGAIN,
	               "the clock went far ahead, and what jobs held since is "
	               "still being booked: try again later");
}

/* Set check->first and ->last to the first and the last hour that can be
 * compared: before check->first, attempts or sums of hours may have been
 * purged. */
static int bounds(struct checking *c, struct err *err)
{
	struct rollup_check *check = c->check;
	struct stmt row = db_use(&c->db, BOUNDS);
	int64_t gone_ms, span[2];

	if (db_step(&c->db, &row, err) < 1)
		return -1;
	check->first = db_col_i64(&row, 0, 0);
	check->last = db_col_i64(&row, 1, -1);
	gone_ms = db_col_i64(&row, 2, 0);
	if (check->first < db_col_i64(&row, 3, 0))
		check->first = db_col_i64(&row, 3, 0);
	sqlite3_reset(row.s);
	if (gone_ms / 1000 >= check->first) {
		period_of(c->zone, PERIOD_HOUR, gone_ms / 1000, span);
		check->first = span[1];
	}
	return 0;
}

static int check_window(struct checking *c, struct err *err)
{
	struct rollup_check *check = c->check;
	int64_t span[2];

	c->since = check->from ? check->from : check->first;
	period_of(c->zone, PERIOD_DAY, c->since, span);
	c->until = span[1];
	for (int i = 1; i < WINDOW_DAYS && c->until <= check->last; i++) {
		period_of(c->zone, PERIOD_DAY, c->until, span);
		c->until = span[1];
	}
	if (check_hours(c, err) < 0)
		return -1;
	/* Compare whole days, even if attempts of the first day's first hours
	 * were purged: the sums of these hours are still there. */
	period_of(c->zone, PERIOD_DAY, c->since, span);
	c->since = span[0];
	if (check_level(c, PERIOD_HOUR, PERIOD_DAY, err) < 0)
		return -1;
	check->next = c->until <= check->last ? c->until : 0;
	if (check->next)
		return 0;
	c->since = 0;
	c->until = INT64_MAX;
	return check_level(c, PERIOD_DAY, PERIOD_MONTH, err);
}

static void checking_free(struct checking *c)
{
	for (size_t i = 0; i < c->nkeys; i++)
		for (int p = 0; p < PARTS; p++)
			free(c->key[i].part[p]);
	free(c->key);
	map_free(&c->keys);
	db_close(&c->db);
}

int store_rollup_check(const char *path, const struct zone *zone,
                       struct rollup_check *check, struct err *err)
{
	struct checking c = { .zone = zone, .check = check };
	int result = 0;

	check->attempts = check->sums = check->wrong = 0;
	check->next = 0;
	if (db_open(&c.db, path, true, texts, NSQL_CHECK, err) < 0)
		return -1;
	if (db_exec(&c.db, "BEGIN", err) < 0 || check_lags(&c, err) < 0 ||
	    load_keys(&c, err) < 0 || bounds(&c, err) < 0)
		result = -1;
	else if (check->first <= check->last)
		result = check_window(&c, err);
	checking_free(&c);
	return result;
}
