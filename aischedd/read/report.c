/* report.c - sum up use by user, queue, month ..., on a thread */
#include <stdlib.h>
#include <string.h>

#include "aischedd/op/cron_run.h"
#include "aischedd/op/filter.h"
#include "aischedd/op/group.h"
#include "aischedd/op/op.h"
#include "aischedd/state/cluster/capacity.h"
#include "aischedd/store/report.h"
#include "aischedd/thread.h"
#include "libcommon/clock.h"
#include "libcommon/cron/period.h"
#include "libcommon/mem.h"
#include "libcommon/report_fields.h"

enum { ROWS = 5000, PIECE = 64 * 1024 };

struct reporting {
	struct thread_task task;
	struct daemon *d;
	struct kept_ask ask;
	json_t *body;
	struct filter part[PARTS];
	struct veil veil;
	struct report report;
	struct user_groups groups;
	/* the report is about pools: their capacity, and how it was used */
	bool of_pools;
	int64_t since, until; /* the period that the request asks for */
	char *currency;
	/* one JSON object in each line */
	struct buf rows;
	json_t *answer;
	int result;
	struct err err;
};

/* --- columns ----------------------------------------------------------- */

typedef double column_fn(const struct report_row *row);

#define NOT_KNOWN (-1.0)

static double sum_of(const struct report_row *row, enum rollup_sum sum)
{
	return (double)row->sum[sum];
}

/* Converts a sum of thousandths of a CPU or GPU times milliseconds to hours. */
static double hours(const struct report_row *row, enum rollup_sum sum)
{
	return sum_of(row, sum) / 3.6e9;
}

static double ms_hours(const struct report_row *row, enum rollup_sum sum)
{
	return sum_of(row, sum) / 3.6e6;
}

static double ratio(const struct report_row *row, enum rollup_sum part,
                    enum rollup_sum all)
{
	return row->sum[all] > 0 ? sum_of(row, part) / sum_of(row, all)
	                         : NOT_KNOWN;
}

static double wait_of(const struct report_row *row, unsigned permille)
{
	return row->sum[SUM_waits] ? (double)report_wait(row, permille) / 1e3
	                           : NOT_KNOWN;
}

#define COLUMN(name, value)                                  \
	static double r_##name(const struct report_row *row) \
	{                                                    \
		return value;                                \
	}
COLUMN(jobs, sum_of(row, SUM_jobs))
COLUMN(cpu_hours, hours(row, SUM_held_cpu))
COLUMN(mem_gib_hours, sum_of(row, SUM_held_mem) / 1024 / 3.6e6)
COLUMN(gpu_hours, hours(row, SUM_held_gpu))
COLUMN(cpu_used_hours,
       row->sum[SUM_cpu_known_ms] ? ms_hours(row, SUM_cpu_used_ms) : NOT_KNOWN)
COLUMN(cpueff, ratio(row, SUM_cpu_used_ms, SUM_cpu_known_ms))
COLUMN(memeff, ratio(row, SUM_mem_used_mib_s, SUM_mem_known_mib_s))
COLUMN(gpu_busy_hours,
       row->sum[SUM_gpu_known_ms] ? ms_hours(row, SUM_gpu_busy_ms) : NOT_KNOWN)
COLUMN(gpueff, ratio(row, SUM_gpu_busy_ms, SUM_gpu_known_ms))
COLUMN(idle_gpu_hours,
       row->sum[SUM_gpu_known_ms]
           ? ms_hours(row, SUM_gpu_known_ms) - ms_hours(row, SUM_gpu_busy_ms)
           : NOT_KNOWN)
COLUMN(gpu_known_ratio, ratio(row, SUM_gpu_known_ms, SUM_held_gpu) * 1000)
/* The energy used is not measured yet. */
COLUMN(energy_kwh, ((void)row, NOT_KNOWN))
COLUMN(evicted_gpu_hours, ms_hours(row, SUM_evicted_gpu_ms))
COLUMN(failed_gpu_hours, ms_hours(row, SUM_failed_gpu_ms))
COLUMN(cost, (double)row->cost / 3.6e6 / 1e6)
COLUMN(wait_mean, row->sum[SUM_waits]
                      ? sum_of(row, SUM_wait_ms) / 1e3 / sum_of(row, SUM_waits)
                      : NOT_KNOWN)
COLUMN(wait_p50, wait_of(row, 500))
COLUMN(wait_p95, wait_of(row, 950))
COLUMN(wait_max,
       row->sum[SUM_waits] ? (double)row->wait_max_ms / 1e3 : NOT_KNOWN)
COLUMN(completed, sum_of(row, SUM_completed))
COLUMN(failed, sum_of(row, SUM_failed))
COLUMN(cancelled, sum_of(row, SUM_cancelled))
COLUMN(timeout, sum_of(row, SUM_timeout))
COLUMN(preemptions, sum_of(row, SUM_evicted))

static void put_columns(const struct report_row *row, struct buf *out)
{
	static const struct {
		const char *name;
		column_fn *fn;
		int places;
	} columns[] = {
#define X(name, places, header, show) { #name, r_##name, places },
		REPORT_FIELDS(X)
#undef X
	};

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		double value = columns[i].fn(row);

		buf_printf(out, "%s\"%s\":", i ? "," : "", columns[i].name);
		if (value < 0 && columns[i].places != 0)
			buf_puts(out, "null");
		else
			buf_printf(out, "%.*f", columns[i].places, value);
	}
}

/* --- pools -------------------------------------------------------------- */

/* Amounts that a pool offered and how they were used, each summed up over the
 * time of the report in the units of rollups. */
struct pool_use {
	const char *pool;
	__int128 part[CAPACITY_PARTS][RES_N];
	__int128 held[RES_N], used[RES_N], known[RES_N], idle[RES_N];
};

static double part_of(const struct pool_use *u, __int128 amount, int r)
{
	__int128 all = u->part[CAPACITY_OFFERED][r];

	return all > 0 ? (double)amount / (double)all : NOT_KNOWN;
}

static double p_offered_hours(const struct pool_use *u, int r)
{
	return (double)u->part[CAPACITY_OFFERED][r] /
	       (r == RES_MEM ? 1024 * 3.6e6 : 3.6e9);
}

static double p_allocated(const struct pool_use *u, int r)
{
	return part_of(u, u->held[r], r);
}

/* Returns the fraction of the pool's resource that was busy; NOT_KNOWN if more
 * than a tenth of what jobs held was not measured. */
static double p_busy(const struct pool_use *u, int r)
{
	return u->known[r] * 1000 < u->held[r] / 10 * 9
	           ? NOT_KNOWN
	           : part_of(u, u->used[r] * 1000, r);
}

static double p_reserved(const struct pool_use *u, int r)
{
	return part_of(u, u->part[CAPACITY_RESERVED][r], r);
}

static double p_drained(const struct pool_use *u, int r)
{
	return part_of(u, u->part[CAPACITY_DRAINED][r], r);
}

static double p_down(const struct pool_use *u, int r)
{
	return part_of(u, u->part[CAPACITY_DOWN][r], r);
}

static double p_idle(const struct pool_use *u, int r)
{
	return part_of(u, u->idle[r], r);
}

/*
 * Make the parts of a pool's capacity add up. The amounts that jobs held are
 * exact, but those reserved, drained or down come from samples: so limit each
 * of these, in turn, to what is still left of the amount that the pool offered.
 * The final remainder is idle.
 */
static void share_rest(struct pool_use *u)
{
	for (int r = 0; r < RES_N; r++) {
		__int128 left = u->part[CAPACITY_OFFERED][r] - u->held[r];

		for (int i = CAPACITY_PARTS - 1; i > CAPACITY_OFFERED; i--) {
			__int128 *part = &u->part[i][r];

			if (*part > left)
				*part = left > 0 ? left : 0;
			left -= *part;
		}
		u->idle[r] = left > 0 ? left : 0;
	}
}

static void put_pool(const struct pool_use *u, int r, struct buf *out)
{
	static const char *const resource[RES_N] = {
		[RES_CPU] = "cpus", [RES_MEM] = "memory", [RES_GPU] = "gpus"
	};
	static const struct {
		const char *name;
		double (*fn)(const struct pool_use *u, int r);
		int places;
	} columns[] = {
#define X(name, places, header, show) { #name, p_##name, places },
		CAPACITY_FIELDS(X)
#undef X
	};

	buf_printf(out, "{\"pool\":\"%s\",\"resource\":\"%s\"", u->pool,
	           resource[r]);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		double value = columns[i].fn(u, r);

		if (value < 0)
			buf_printf(out, ",\"%s\":null", columns[i].name);
		else
			buf_printf(out, ",\"%s\":%.*f", columns[i].name,
			           columns[i].places, value);
	}
	buf_puts(out, "}\n");
}

static void add_use(struct pool_use *u, const struct report_row *row)
{
	static const enum rollup_sum held[RES_N] = { SUM_held_cpu, SUM_held_mem,
		                                     SUM_held_gpu };
	static const enum rollup_sum used[RES_N] = { SUM_cpu_used_ms,
		                                     SUM_mem_used_mib_s,
		                                     SUM_gpu_busy_ms };
	static const enum rollup_sum known[RES_N] = { SUM_cpu_known_ms,
		                                      SUM_mem_known_mib_s,
		                                      SUM_gpu_known_ms };
	enum capacity_part part;
	bool capacity = rollup_is_capacity(row->rollup, &part);

	for (int r = 0; r < RES_N; r++) {
		if (capacity) {
			u->part[part][r] += row->sum[held[r]];
			continue;
		}
		u->held[r] += row->sum[held[r]];
		u->used[r] += row->sum[used[r]];
		u->known[r] += row->sum[known[r]];
	}
}

/* Write rows for all pools. In the report, the rows of a pool follow each
 * other. Returns how many rows were written. */
static size_t put_pools(const struct report *r, struct buf *out)
{
	static const int order[RES_N] = { RES_GPU, RES_CPU, RES_MEM };
	size_t n = 0;

	for (size_t i = 0; i < r->nrows;) {
		struct pool_use u = { .pool =
			                  r->row[i]->rollup->part[PART_POOL] };

		for (; i < r->nrows &&
		       !strcmp(r->row[i]->rollup->part[PART_POOL], u.pool);
		     i++)
			add_use(&u, r->row[i]);
		share_rest(&u);
		for (int k = 0; k < RES_N; k++)
			if (u.part[CAPACITY_OFFERED][order[k]] > 0 ||
			    u.held[order[k]] > 0) {
				put_pool(&u, order[k], out);
				n++;
			}
	}
	return n;
}

static void put_period(const struct report *r, enum report_key key,
                       int64_t period, struct buf *out)
{
	char text[ZONE_TEXT];
	int len = key == REPORT_MONTH ? 7 : key == REPORT_HOUR ? ZONE_TEXT : 10;
	int64_t span[2];

	period_of(r->zone, (enum period)(key - REPORT_HOUR), period, span);
	zone_format(r->zone, period, text);
	buf_printf(out, "\"%.*s\",\"start\":%lld,\"end\":%lld,", len, text,
	           (long long)span[0], (long long)span[1]);
}

static void put_text(const char *text, struct buf *out)
{
	if (*text)
		buf_json(out, text);
	else
		buf_puts(out, "null");
	buf_addc(out, ',');
}

static void put_row(const struct report *r, const struct report_row *row,
                    struct buf *out)
{
	buf_addc(out, '{');
	for (size_t i = 0; i < r->nby; i++) {
		enum report_key key = r->by[i];

		buf_printf(out, "\"%s\":", report_key_name(key));
		if (report_key_is_time(key)) {
			put_period(r, key, row->period, out);
		} else {
			put_text(report_row_text(row, key), out);
		}
	}
	put_columns(row, out);
	buf_puts(out, "}\n");
}

/* --- running on the thread --------------------------------------------- */

/* Takes over total. */
static json_t *answer_of(const struct reporting *g, size_t nrows, json_t *total)
{
	return json_pack("{s:I, s:o, s:I, s:I, s:s?}", "rows",
	                 (json_int_t)nrows, "total", total, "since",
	                 (json_int_t)g->since, "until", (json_int_t)g->until,
	                 "currency", g->currency);
}

static void report_work_all(struct thread_task *task)
{
	struct reporting *g = (struct reporting *)(void *)task;
	struct buf total = { 0 };

	g->result = report_run(&g->report, &g->err);
	if (g->result < 0)
		return;
	if (g->of_pools) {
		size_t n = put_pools(&g->report, &g->rows);

		g->answer = answer_of(g, n, json_null());
		return;
	}
	for (size_t i = 0; i < g->report.nrows; i++)
		put_row(&g->report, g->report.row[i], &g->rows);
	buf_addc(&total, '{');
	put_columns(&g->report.total, &total);
	buf_addc(&total, '}');
	g->answer = answer_of(g, g->report.nrows,
	                      json_loadb(total.data, total.len, 0, NULL));
	buf_free(&total);
}

static void reporting_free(struct reporting *g)
{
	for (int i = 0; i < PARTS; i++)
		filter_fini(&g->part[i]);
	veil_fini(&g->veil);
	report_fini(&g->report);
	user_groups_fini(&g->groups);
	free(g->currency);
	json_decref(g->body);
	json_decref(g->answer);
	buf_free(&g->rows);
	free(g);
}

static void report_done(struct thread_task *task)
{
	struct reporting *g = (struct reporting *)(void *)task;
	size_t at = 0;

	if (!daemon_is_open(g->d, &g->ask)) {
		reporting_free(g);
		return;
	}
	if (g->result < 0) {
		daemon_refuse(g->d, g->ask.ask, &g->err);
		reporting_free(g);
		return;
	}
	for (size_t len; at < g->rows.len; at += len) {
		len = g->rows.len - at < PIECE ? g->rows.len - at : PIECE;
		rpc_part(g->ask.ask, g->rows.data + at, len);
	}
	daemon_say(g->d, g->ask.ask, json_incref(g->answer));
	reporting_free(g);
}

static void sum_up(struct reporting *g)
{
	g->task = (struct thread_task){ .work = report_work_all,
		                        .done = report_done };
	thread_do(g->d->history, &g->task);
}

/* --- groups of users --------------------------------------------------- */

static bool is_by_group(const struct report *r)
{
	for (size_t i = 0; i < r->nby; i++)
		if (r->by[i] == REPORT_GROUP)
			return true;
	return false;
}

static void find_groups(struct thread_task *task)
{
	struct reporting *g = (struct reporting *)(void *)task;

	report_set_groups(&g->report, user_groups_find, &g->groups);
}

/* Sum up now that the groups are known; drop the request if its sender has
 * disconnected. */
static void groups_found(struct thread_task *task)
{
	struct reporting *g = (struct reporting *)(void *)task;

	if (!daemon_is_open(g->d, &g->ask)) {
		reporting_free(g);
		return;
	}
	sum_up(g);
}

/* --- the request ------------------------------------------------------- */

static int take_keys(struct report *r, const json_t *by, struct err *err)
{
	const json_t *item;
	bool timed = false;
	size_t i;

	json_array_foreach(by, i, item) {
		const char *name = json_string_value(item);
		int key = 0;

		while (key < REPORT_NKEYS &&
		       strcmp(name, report_key_name((enum report_key)key)) != 0)
			key++;
		if (key == REPORT_NKEYS)
			return err_set(err, EINVAL, "no report is by '%s'",
			               name);
		if (report_key_is_time((enum report_key)key) && timed)
			return err_set(err, EINVAL,
			               "a report is by one of hour, day, week "
			               "and month");
		timed |= report_key_is_time((enum report_key)key);
		for (size_t k = 0; k < r->nby; k++)
			if ((int)r->by[k] == key)
				return err_set(err, EINVAL,
				               "'%s' is given twice", name);
		r->by[r->nby++] = (enum report_key)key;
	}
	return 0;
}

static enum report_part is_wanted(const struct rollup *rollup, void *arg)
{
	const struct reporting *g = arg;
	enum capacity_part part;

	if (rollup_is_capacity(rollup, &part) && !g->of_pools)
		return REPORT_NOT;
	if (g->of_pools)
		return filter_has(&g->part[PART_POOL], rollup->part[PART_POOL])
		           ? REPORT_ROW
		           : REPORT_NOT;
	for (int i = 0; i < PARTS; i++)
		if (!filter_has(&g->part[i], rollup->part[i]))
			return REPORT_NOT;
	return veil_shows(&g->veil, rollup->part[PART_USER],
	                  rollup->part[PART_QUEUE])
	           ? REPORT_ROW
	           : REPORT_TOTAL;
}

static void take_filters(struct reporting *g)
{
	static const char *const lists[PARTS] = {
		[PART_USER] = "users",   [PART_ACCOUNT] = "accounts",
		[PART_QUEUE] = "queues", [PART_CLASS] = "classes",
		[PART_POOL] = "pools",   [PART_GPU] = "gpu_types",
	};

	for (int i = 0; i < PARTS; i++)
		filter_init(&g->part[i], json_object_get(g->body, lists[i]));
}

/*
 * If the report is by pool, also divide it by class: each part of a pool's
 * capacity is stored under a class of its own, and so gets its own row beside
 * the rows of jobs. Fails if the request combines this with other divisions or
 * filters.
 */
static int take_pools(struct reporting *g, struct err *err)
{
	struct report *r = &g->report;

	for (size_t i = 0; i < r->nby; i++)
		g->of_pools |= r->by[i] == REPORT_POOL;
	if (!g->of_pools)
		return 0;
	if (r->nby > 1)
		return err_set(err, EINVAL,
		               "a report by pool is by nothing "
		               "else");
	for (int i = 0; i < PARTS; i++)
		if (i != PART_POOL && !g->part[i].all)
			return err_set(err, EINVAL,
			               "a report by pool is of all that "
			               "happened there: it takes no filter "
			               "but pools");
	r->by[r->nby++] = REPORT_CLASS;
	return 0;
}

/* Begin the report. If it is by group, first have the users' groups looked up,
 * on the thread that asks the name service, as this may be slow. */
static void begin(struct reporting *g)
{
	if (is_by_group(&g->report)) {
		g->task = (struct thread_task){ .work = find_groups,
			                        .done = groups_found };
		thread_do(cron_names(g->d), &g->task);
		return;
	}
	sum_up(g);
}

int op_report(struct daemon *d, struct ask *ask, const struct request_in *in,
              struct err *err)
{
	struct reporting *g = xcalloc(1, sizeof(*g));
	int64_t now_ms = clock_wall_us() / 1000;
	json_int_t since, until = now_ms / 1000;
	int64_t month[2];

	g->d = d;
	g->ask = daemon_keep(d, ask);
	g->body = json_incref(in->body);
	g->currency = xstrdup(d->conf->accounting.currency);
	period_of(state_zone(d->state), PERIOD_MONTH, until, month);
	since = month[0];
	json_unpack(in->body, "{s?I, s?I}", "since", &since, "until", &until);
	g->since = since;
	g->until = until;
	g->report.since = since;
	g->report.until = until;
	g->report.most = ROWS;
	g->report.zone = state_zone(d->state);
	take_filters(g);
	veil_init(&g->veil, d, in->peer, "usage");
	if (since < 0 || until < since || until > REPORT_LAST)
		err_set(err, EINVAL, "the report ends before it begins");
	else if (take_keys(&g->report, json_object_get(in->body, "by"), err) ==
	             0 &&
	         take_pools(g, err) == 0 &&
	         report_begin(&g->report, d->state, store_path(d->store),
	                      now_ms, is_wanted, g, err) == 0) {
		begin(g);
		return 0;
	}
	reporting_free(g);
	return -1;
}
