/*
 * test_sums.c - sums of use against a second, naive integration
 *
 * A test draws a history: jobs are submitted, started, suspended, resized,
 * evicted and ended, prices change, the clock is set, the daemon restarts or is
 * killed. Meanwhile it adds up, between any two events, what each job with
 * nodes holds, from what the job asked for. Rollups and attempts must say the
 * same to the millisecond.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/cluster/reconf.h"
#include "aischedd/state/cluster/rollup.h"
#include "aischedd/state/job.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/load.h"
#include "aischedd/state/placement.h"
#include "aischedd/store/db.h"
#include "aischedd/store/ended.h"
#include "aischedd/store/rollup_check.h"
#include "aischedd/store/store.h"
#include "libcommon/cron/zone.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/dice.h"
#include "tests/unit/state/world.h"

enum {
	HISTORIES = 8,
	STEPS = 220,
	JOBS = 200,
	HOURS = 24 * 14, /* from BEGIN on */
	USERS = 2,
	QUEUES = 2,
	PRICES = 3,
	HOUR_MS = 3600000
};

/* Thousandths of CPUs and GPUs, MiB, and the price for an hour */
enum { CPU, MEM, GPU, COST, AMOUNTS };

/* In Berlin, the clock goes ahead on the second day, and a month begins on the
 * sixth. */
static const char zone_name[] = "Europe/Berlin";
#define BEGIN  INT64_C(1806105600) /* 2027-03-27 00:00 UTC */
#define CHANGE INT64_C(1806195600) /* 2027-03-28 01:00 UTC */

static const int64_t price[PRICES][COST] = {
	{ 10000, 2000, 1200000 },
	{ 3600000, 0, 900000 },
	{ 0, 36000, 5000000 },
};

static const char *const user_name[USERS] = { "ada", "bob" };
static const char *const queue_name[QUEUES] = { "a", "b" };

struct asked {
	int user, queue;
	uint64_t least;      /* tasks */
	int64_t of[AMOUNTS]; /* of a task */
};

/* Sums of amounts times milliseconds, in the naive integration. */
struct model {
	int64_t at_ms; /* up to this time of the clock */
	int price;     /* index into price[] of what is in force */
	/* [job] a clock that was set back counts nothing up to this time */
	int64_t counted_ms[JOBS];
	int64_t of_job[JOBS][AMOUNTS];
	int64_t of_hour[HOURS][USERS][QUEUES][AMOUNTS];
};

struct history {
	char dir[64];
	struct store *store;
	struct world w;
	struct zone *zone;
	struct asked job[JOBS]; /* at index id */
	/* the model now, and when the last commit was made */
	struct model *model, *kept;
	bool set;        /* the clock was set since the last commit */
	int64_t ms;      /* the clock */
	int64_t most_ms; /* the latest time that it has shown */
	uint64_t seed;
	struct err err;
};

/* --- random numbers ---------------------------------------------------- */

static uint64_t draw(struct history *h, uint64_t n)
{
	h->seed = h->seed * 6364136223846793005u + 1442695040888963407u;
	return (h->seed >> 33) % n;
}

/* --- the naive integration --------------------------------------------- */

static int64_t price_for(const struct history *h, const int64_t of[COST])
{
	const int64_t *p = price[h->model->price];

	return of[CPU] * p[CPU] / 1000 + of[MEM] * p[MEM] / 1024 +
	       of[GPU] * p[GPU] / 1000;
}

/* Find what the tasks of a job hold: without CPUs while it is suspended. */
static void holds(const struct history *h, const struct job *job,
                  int64_t ret[AMOUNTS])
{
	for (int i = 0; i < COST; i++)
		ret[i] = h->job[job->id].of[i] * job->place->ntasks;
	if (job->state == JOB_SUSPENDED)
		ret[CPU] = 0;
	ret[COST] = price_for(h, ret);
}

static void add(struct history *h, uint64_t id, const int64_t of[AMOUNTS],
                int64_t from, int64_t to)
{
	const struct asked *job = &h->job[id];
	struct model *m = h->model;

	while (from < to) {
		int64_t hour = (from / 1000 - BEGIN) / 3600;
		int64_t end = (BEGIN + (hour + 1) * 3600) * 1000;
		int64_t ms = (end < to ? end : to) - from;

		ck_assert(hour >= 0 && hour < HOURS);
		for (int i = 0; i < AMOUNTS; i++) {
			m->of_job[id][i] += of[i] * ms;
			m->of_hour[hour][job->user][job->queue][i] +=
			    of[i] * ms;
		}
		from += ms;
	}
}

/* Add what all jobs have held since the last call. Call it before anything
 * changes. */
static void integrate(struct history *h)
{
	struct model *m = h->model;

	for (struct job *job = state_first_job(h->w.state); job;
	     job = job->all_next) {
		int64_t *counted = &m->counted_ms[job->id], of[AMOUNTS];

		if (!job->place)
			continue;
		if (*counted < m->at_ms)
			*counted = m->at_ms;
		if (*counted >= h->ms)
			continue;
		holds(h, job, of);
		add(h, job->id, of, *counted, h->ms);
		*counted = h->ms;
	}
	m->at_ms = h->ms;
}

/* A new attempt is not kept back by what an earlier one was counted for. */
static void forget_counted(struct history *h)
{
	for (struct job *job = state_first_job(h->w.state); job;
	     job = job->all_next)
		if (!job->place)
			h->model->counted_ms[job->id] = 0;
}

/* --- the daemon -------------------------------------------------------- */

/* Returns the text of a configuration with these prices. */
static char *conf_of(int n)
{
	return xasprintf(
	    "pool here { runner = local }\nqueue a { }\nqueue b { }\n"
	    "price { cpu = %.6f memory = %.6f gpu = %.6f }\n",
	    (double)price[n][CPU] / 1e6, (double)price[n][MEM] / 1e6,
	    (double)price[n][GPU] / 1e6);
}

static void set_clock(struct history *h, int64_t ms)
{
	h->ms = ms;
	if (h->most_ms < ms)
		h->most_ms = ms;
	h->w.now = ms / 1000;
	state_clock(h->w.state, ms);
}

static void start(struct history *h)
{
	char *conf = conf_of(h->model->price);

	h->store = store_open(h->dir, false, &h->err);
	ck_assert_msg(h->store, "%s", h->err.text);
	world_init_past(&h->w, conf, store_past, h->store);
	h->w.who.operator_ = true;
	state_set_zone(h->w.state, h->zone);
	set_clock(h, h->ms);
	free(conf);
}

static void see_nodes(struct history *h)
{
	world_node(&h->w, "n0", 8, 65536, 4);
	world_node(&h->w, "n1", 6, 32768, 2);
}

static void stop(struct history *h)
{
	world_fini(&h->w);
	store_close(h->store);
}

static void commit(struct history *h)
{
	ck_assert_msg(store_commit(h->store, h->w.state, &h->err) == 0, "%s",
	              h->err.text);
	memcpy(h->kept, h->model, sizeof(*h->kept));
	h->set = false;
}

/* Kill the daemon and start it again, perhaps with other prices: what happened
 * since the last commit is lost, and jobs have gone on as they were. */
static void kill_daemon(struct history *h)
{
	if (h->set || !draw(h, 3))
		commit(h);
	memcpy(h->model, h->kept, sizeof(*h->model));
	stop(h);
	start(h);
	ck_assert_msg(store_load(h->store, h->w.state, h->w.now, &h->err) == 0,
	              "%s", h->err.text);
	see_nodes(h);
	integrate(h);
}

/* --- events ------------------------------------------------------------ */

static void change_price(struct history *h)
{
	char *conf;

	h->model->price = (int)draw(h, PRICES);
	conf = conf_of(h->model->price);
	conf_free(h->w.old_conf);
	h->w.old_conf = h->w.conf;
	h->w.conf = world_conf(conf);
	free(conf);
	ck_assert_int_eq(state_reconf(h->w.state, h->w.conf, h->w.now, &h->err),
	                 0);
}

/* Set the clock up to 3 hours ahead or back. */
static void turn_clock(struct history *h)
{
	int64_t by = (int64_t)draw(h, 6 * HOUR_MS) - 3 * HOUR_MS;

	if ((h->ms + by) / 1000 < BEGIN)
		return;
	set_clock(h, h->ms + by);
	state_clock_set(h->w.state, by, h->ms);
	h->model->at_ms = h->ms;
	h->set = true;
}

static void submit(struct history *h)
{
	static const int64_t gpus[] = { 0, 500, 1000, 2000 };
	int user = (int)draw(h, USERS), queue = (int)draw(h, QUEUES);
	struct asked job = { .user = user, .queue = queue };
	uint64_t tasks = 1 + draw(h, 3), id;
	char *text;

	job.least = 1 + draw(h, tasks);

	job.of[CPU] = 500 * (1 + (int64_t)draw(h, 6));
	job.of[MEM] = 1024 * (1 + (int64_t)draw(h, 8));
	job.of[GPU] = gpus[draw(h, ARRAY_SIZE(gpus))];
	text = xasprintf("queue=%s tasks=%d min-tasks=%d cpus-per-task=%.1f "
	                 "mem-per-task=%lldM gpus-per-task=%.1f",
	                 queue_name[job.queue], (int)tasks, (int)job.least,
	                 (double)job.of[CPU] / 1000, (long long)job.of[MEM],
	                 (double)job.of[GPU] / 1000);
	h->w.who.user = user_name[job.user];
	h->w.who.uid = 1000 + (uint32_t)job.user;
	id = world_submit(&h->w, text);
	ck_assert_msg(id && id < JOBS, "%s: %s", text, h->w.err.text);
	h->job[id] = job;
	free(text);
}

/* Returns any job in one of these states, or NULL. */
static struct job *any(struct history *h, uint32_t states)
{
	struct job *job = state_first_job(h->w.state), *found = NULL;
	uint64_t n = 0;

	for (; job; job = job->all_next)
		if (states >> job->state & 1 && !draw(h, ++n))
			found = job;
	return found;
}

#define IN(state) (1u << JOB_##state)
#define PLACED    (IN(CONFIGURING) | IN(RUNNING) | IN(SUSPENDED) | IN(COMPLETING))

static void happen(struct history *h, uint32_t states, enum event_kind kind)
{
	struct job *job = any(h, states);

	if (job)
		world_event(&h->w, job->id, kind); /* it may be refused */
}

static void end_any(struct history *h)
{
	const struct job *job = any(h, PLACED);

	if (job)
		world_end(&h->w, job->id, (int)draw(h, 2));
}

/* Evict a task of a job that may have fewer, or all of them. */
static void evict_any(struct history *h)
{
	const struct job *job = any(h, IN(RUNNING)), *by = any(h, IN(PENDING));
	char *text;

	if (!job || !by || job->runs->leaving)
		return;
	text = xasprintf(
	    "evict %llu %s reclaim %llu", (unsigned long long)job->id,
	    draw(h, 2) && job->place->ntasks > h->job[job->id].least ? "0"
								     : "all",
	    (unsigned long long)by->id);
	world_look(&h->w);
	world_decide(&h->w, text);
	free(text);
}

static void shrunk_all(struct history *h)
{
	for (struct job *job = state_first_job(h->w.state); job;
	     job = job->all_next)
		if (job->runs->leaving)
			world_event(&h->w, job->id, EV_shrunk);
}

static void one_event(struct history *h)
{
	uint64_t n = draw(h, 24);

	if (n < 5)
		submit(h);
	else if (n < 10)
		world_run(&h->w);
	else if (n < 11)
		world_plan(&h->w);
	else if (n < 13)
		happen(h, IN(RUNNING), EV_suspend);
	else if (n < 15)
		happen(h, IN(SUSPENDED), EV_resume);
	else if (n < 16)
		happen(h, IN(RUNNING) | IN(SUSPENDED), EV_requeue);
	else if (n < 17)
		happen(h, IN(PENDING) | PLACED, EV_cancel);
	else if (n < 19)
		end_any(h);
	else if (n < 21)
		evict_any(h);
	else if (n < 22)
		shrunk_all(h);
	else if (n < 23)
		change_price(h);
	else
		turn_clock(h);
}

/* Let some time pass: a moment, a minute or two, or an hour. */
static void pass(struct history *h)
{
	static const int64_t most[] = { 1000, 100000, HOUR_MS };
	int64_t ms = (int64_t)draw(h, (uint64_t)most[draw(h, 3)]);

	set_clock(h, h->ms + ms);
	integrate(h);
	world_tick(&h->w, 0);
	forget_counted(h);
}

/* --- comparison -------------------------------------------------------- */

/* Returns the day of a time in Berlin, from the day of BEGIN on. */
static int day_of(int64_t at)
{
	return (int)((at - BEGIN + (at < CHANGE ? 3600 : 7200)) / 86400);
}

/* Returns when the day begins. */
static int64_t begin_of(int day)
{
	return BEGIN + (int64_t)day * 86400 - (day < 2 ? 3600 : 7200);
}

/* Returns when the period of a level that has this hour begins. */
static int64_t period(int level, int hour)
{
	int64_t at = BEGIN + (int64_t)hour * 3600;
	int day = day_of(at);

	if (level == 0)
		return at;
	return level == 1 ? begin_of(day) : begin_of(day < 5 ? -26 : 5);
}

/* Returns what the model has for a period, a user and a queue. */
static int64_t expected(const struct history *h, int level, int64_t start,
                        int user, int queue, int i)
{
	int64_t sum = 0;

	for (int hour = 0; hour < HOURS; hour++)
		if (period(level, hour) == start)
			sum += h->model->of_hour[hour][user][queue][i];
	return sum;
}

static int index_of(const char *text, const char *const *names)
{
	int i = 0;

	while (strcmp(names[i], text))
		i++;
	return i;
}

enum { ROLLUPS, QUERIES };

static const char *const texts[QUERIES] = {
	[ROLLUPS] =
	    "SELECT level, start, user, queue, sum(held_cpu), sum(held_mem),"
	    " sum(held_gpu), sum(cost) * 3600000 + sum(cost_rest)"
	    " FROM rollup JOIN rollup_key ON id = key WHERE user <> ''"
	    " GROUP BY level, start, user, queue",
};

static void compare_rollups(struct history *h, struct db *db)
{
	int64_t left[3][AMOUNTS] = { 0 };
	struct stmt row = db_use(db, ROLLUPS);

	for (int hour = 0; hour < HOURS; hour++)
		for (int n = 0; n < USERS * QUEUES * AMOUNTS; n++)
			for (int level = 0; level < 3; level++)
				left[level][n % AMOUNTS] +=
				    (&h->model->of_hour[hour][0][0][0])[n];
	while (db_step(db, &row, &h->err) > 0) {
		int level = (int)db_col_i64(&row, 0, -1);
		int64_t at = db_col_i64(&row, 1, -1);
		int user = index_of(db_col_text(&row, 2), user_name);
		int queue = index_of(db_col_text(&row, 3), queue_name);

		for (int i = 0; i < AMOUNTS; i++) {
			int64_t is = db_col_i64(&row, 4 + i, -1);
			int64_t want = expected(h, level, at, user, queue, i);

			ck_assert_msg(is == want,
			              "level %d, %lld, %s, %s: amount %d is "
			              "%lld, not %lld",
			              level, (long long)at, user_name[user],
			              queue_name[queue], i, (long long)is,
			              (long long)want);
			left[level][i] -= want;
		}
	}
	for (int level = 0; level < 3; level++)
		for (int i = 0; i < AMOUNTS; i++)
			ck_assert_int_eq(left[level][i], 0);
}

static void add_attempt(const struct past_attempt *past, void *arg)
{
	int64_t(*sum)[AMOUNTS] = arg;

	for (int r = 0; r < RES_N; r++)
		sum[past->job][CPU + r] += past->held[r];
	sum[past->job][COST] += past->cost;
}

/* Compare attempts of jobs that have ended. Each span that is added to an
 * attempt is rounded down to a millisecond of a CPU or GPU, each attempt's cost
 * to a millionth; that much may be lacking. */
static void compare_attempts(struct history *h)
{
	static const int64_t unit[AMOUNTS] = { 1000, 1000, 1000, HOUR_MS };
	const struct history_query all = { .since = NO_TIME,
		                           .until = NO_TIME,
		                           .task = NO_TASK,
		                           .after = NO_TIME,
		                           .limit = JOBS * STEPS };
	const int64_t most = STEPS * (int64_t)3;
	int64_t sum[JOBS][AMOUNTS] = { { 0 } };

	ck_assert_int_eq(store_attempts(store_path(h->store), &all, add_attempt,
	                                sum, &h->err),
	                 0);
	for (int id = 0; id < JOBS; id++)
		for (int i = 0; i < AMOUNTS; i++) {
			int64_t want = h->model->of_job[id][i] / unit[i];

			ck_assert_msg(
			    sum[id][i] <= want && sum[id][i] >= want - most,
			    "job %d: amount %d is %lld, not %lld", id, i,
			    (long long)sum[id][i], (long long)want);
		}
}

static void say_wrong(const char *text, void *arg)
{
	(void)arg;
	printf("# %s\n", text);
}

static void check_all(struct history *h)
{
	struct rollup_check check = { .said = say_wrong };

	do {
		ck_assert_int_eq(store_rollup_check(store_path(h->store),
		                                    h->zone, &check, &h->err),
		                 0);
		ck_assert_uint_eq(check.wrong, 0);
		check.from = check.next;
	} while (check.next);
}

/* Book all use until now, and compare it. ended: all jobs have ended. If the
 * clock was set back, rollups have the use of running jobs until the time from
 * which it was set. */
static void compare(struct history *h, bool ended)
{
	struct db db;

	if (h->ms < h->most_ms && !ended)
		return;
	integrate(h);
	while (state_book_some(h->w.state, h->ms))
		commit(h);
	commit(h);
	ck_assert_int_eq(
	    db_open(&db, store_path(h->store), true, texts, QUERIES, &h->err),
	    0);
	compare_rollups(h, &db);
	if (ended)
		compare_attempts(h);
	db_close(&db);
	check_all(h);
}

/* --- a history --------------------------------------------------------- */

static void begin(struct history *h, uint64_t seed)
{
	*h = (struct history){ .seed = seed, .ms = (BEGIN + 43200) * 1000 };
	snprintf(h->dir, sizeof(h->dir), "%s/test_sums.XXXXXX",
	         access("/dev/shm", W_OK) == 0 ? "/dev/shm"
	         : getenv("TMPDIR")            ? getenv("TMPDIR")
	                                       : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(h->dir));
	h->zone = zone_load(zone_name, &h->err);
	ck_assert_msg(h->zone, "%s", h->err.text);
	h->model = xcalloc(1, sizeof(*h->model));
	h->kept = xcalloc(1, sizeof(*h->kept));
	h->model->at_ms = h->ms;
	start(h);
	see_nodes(h);
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static void end(struct history *h)
{
	stop(h);
	zone_free(h->zone);
	free(h->model);
	free(h->kept);
	nftw(h->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void end_all(struct history *h)
{
	struct job *job;

	while ((job = any(h, IN(PENDING) | PLACED))) {
		pass(h);
		world_event(&h->w, job->id, EV_cancel);
		if (job_state_is_final((enum job_state)job->state))
			continue;
		world_end(&h->w, job->id, 0);
	}
}

DICE_TEST(a_random_history_adds_up, seed)
{
	struct history h;

	begin(&h, seed);
	for (int i = 0; i < STEPS; i++) {
		pass(&h);
		one_event(&h);
		if (!draw(&h, 10))
			commit(&h);
		if (!draw(&h, 20))
			kill_daemon(&h);
		if (!draw(&h, 40))
			compare(&h, false);
	}
	end_all(&h);
	compare(&h, true);
	end(&h);
}

SUITE(sums)
{
	dice_add(tc, a_random_history_adds_up, HISTORIES);
}
