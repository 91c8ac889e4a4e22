/* load.c - load jobs and the rest of the state when the daemon starts */
#include "aischedd/state/load.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/store/own.h"

#include <string.h>

#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/rollup.h"
#include "aischedd/store/cron.h"
#include "aischedd/store/row.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

/* The largest count, sum or time that a row may have. */
#define MOST ((int64_t)1 << 60)

/* A function that loads one row into the state. If it fails, load_rows() names
 * the row in the error and stops. */
typedef int row_fn(struct state *state, const struct stmt *s, struct err *err);

static int load_rows(struct store *store, enum sql which, const char *what,
                     row_fn *fn, struct state *state, struct err *err)
{
	struct stmt s = db_use(&store->db, which);
	int more;

	while ((more = db_step(&store->db, &s, err)) > 0)
		if (fn(state, &s, err) < 0) {
			const char *name = db_col_text(&s, 0);

			err_wrap(err, "%s %s", what, name ? name : "null");
			sqlite3_reset(s.s);
			return -1;
		}
	return more;
}

/* Load the next id for a job or cron entry. It is above all ids in use, even if
 * table meta says otherwise, as no id may be given out twice. */
static int load_meta(struct store *store, struct state *state, struct err *err)
{
	struct stmt s = db_use(&store->db, GET_META);
	int64_t next = 1, last;
	int more, result = 0;

	db_text(&s, 1, "next_id");
	more = db_step(&store->db, &s, err);
	if (more > 0) {
		result = db_int(&s, 0, 1, MOST, &next, err);
		if (result < 0)
			err_wrap(err, "meta 'next_id'");
		sqlite3_reset(s.s);
	}
	if (more < 0 || result < 0 ||
	    db_get_i64(&store->db,
	               "SELECT coalesce(max(id), 0) FROM (SELECT max(id) AS id"
	               " FROM job UNION ALL SELECT max(id) FROM cron)",
	               &last, err) < 0)
		return -1;
	if (last < (int64_t)store->last_ran)
		last = (int64_t)store->last_ran;
	state_load_next_id(state, (uint64_t)(next > last ? next : last + 1));
	return 0;
}

int store_last_clock(struct store *store, struct store_clock *ret,
                     struct err *err)
{
	static const char clock[] = "SELECT coalesce(max(value), 0) FROM meta"
				    " WHERE key = 'clock_";
	const struct {
		const char *key;
		int64_t *value;
	} rows[] = {
		{ "boot", &ret->boot },
		{ "ahead_ms", &ret->ahead_ms },
		{ "wall_ms", &ret->wall_ms },
	};
	int result = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && result == 0; i++) {
		char *sql = xasprintf("%s%s'", clock, rows[i].key);

		result = db_get_i64(&store->db, sql, rows[i].value, err);
		free(sql);
	}
	return result;
}

static int load_node(struct state *state, const struct stmt *s, struct err *err)
{
	const char *name, *pool;
	int64_t drained, want, at;

	if (db_text_of(s, 0, &name, err) < 0 ||
	    db_text_of(s, 1, &pool, err) < 0 ||
	    db_int(s, 2, 0, 1, &drained, err) < 0 ||
	    db_int(s, 4, 0, WANT_REMOVED, &want, err) < 0 ||
	    db_int(s, 5, 0, INT64_MAX, &at, err) < 0)
		return -1;
	state_load_node(state, name, pool, drained, db_col_text(s, 3));
	if (want != WANT_NOTHING)
		state_load_want(state, name, pool, (enum node_want)want, at);
	return 0;
}

static int load_queue(struct state *state, const struct stmt *s,
                      struct err *err)
{
	int64_t open, configured;
	const char *name;

	if (db_text_of(s, 0, &name, err) < 0 ||
	    db_int(s, 1, 0, 1, &open, err) < 0 ||
	    db_int(s, 2, 0, 1, &configured, err) < 0)
		return -1;
	state_load_queue(state, name, open, configured);
	return 0;
}

static int load_usage(struct state *state, const struct stmt *s,
                      struct err *err)
{
	const char *queue, *user;
	int64_t uid, amount, time;

	if (db_text_of(s, 0, &queue, err) < 0 ||
	    db_int(s, 1, 0, UINT32_MAX, &uid, err) < 0 ||
	    db_text_of(s, 2, &user, err) < 0 ||
	    db_int(s, 3, 0, INT64_MAX, &amount, err) < 0 ||
	    db_int(s, 4, 0, MOST, &time, err) < 0)
		return -1;
	state_load_usage(state, queue, (uint32_t)uid, user, amount, time);
	return 0;
}

static int load_reservation(struct state *state, const struct stmt *s,
                            struct err *err)
{
	struct reserve_ask ask = { 0 };
	const char *guests;
	int64_t repeat;

	if (db_text_of(s, 0, &ask.name, err) < 0 ||
	    db_int(s, 1, 0, MOST, &ask.start, err) < 0 ||
	    db_int(s, 2, ask.start + 1, MOST, &ask.end, err) < 0 ||
	    db_int(s, 3, REPEAT_NEVER, REPEAT_WEEKLY, &repeat, err) < 0 ||
	    db_text_of(s, 4, &ask.nodes, err) < 0 ||
	    db_text_of(s, 5, &ask.users, err) < 0 ||
	    db_text_of(s, 6, &guests, err) < 0)
		return -1;
	ask.repeat = (enum repeat)repeat;
	return state_load_reservation(state, &ask, guests, err);
}

static int load_rollup(struct state *state, const struct stmt *s,
                       struct err *err)
{
	const char *part[PARTS];
	int64_t id, booked_ms;

	if (db_int(s, 0, 1, MOST, &id, err) < 0 ||
	    db_int(s, 1 + PARTS, 0, MOST, &booked_ms, err) < 0)
		return -1;
	for (int i = 0; i < PARTS; i++)
		if (db_text_of(s, 1 + i, &part[i], err) < 0)
			return -1;
	state_load_rollup(state, id, part, booked_ms);
	return 0;
}

static int load_array(struct state *state, const struct stmt *s,
                      struct err *err)
{
	static const struct {
		int64_t least, most;
	} bounds[] = {
		{ 1, MOST },
		{ 0, LIMIT_ARRAY },
		{ 1, LIMIT_ARRAY },
		{ 0, LIMIT_ARRAY - 1 },
		{ 0, LIMIT_ARRAY - 1 },
		{ 1, LIMIT_ARRAY },
		{ 1, LIMIT_ARRAY },
		{ 0, LIMIT_ARRAY },
		{ NO_TIME, MOST },
		{ -1, INT32_MAX },
		{ -1, INT32_MAX },
	};
	int64_t v[ARRAY_SIZE(bounds)];
	struct array array;

	for (int i = 0; i < (int)ARRAY_SIZE(bounds); i++)
		if (db_int(s, i, bounds[i].least, bounds[i].most, &v[i], err) <
		    0)
			return -1;
	array = (struct array){
		.id = (uint64_t)v[0],
		.limit = (uint32_t)v[1],
		.count = (uint32_t)v[2],
		.min = (uint32_t)v[3],
		.max = (uint32_t)v[4],
		.step = (uint32_t)v[5],
		.unfinished = (uint32_t)v[6],
		.failed = (uint32_t)v[7],
		.started = v[8],
		.exit_low = (int32_t)v[9],
		.exit_high = (int32_t)v[10],
	};
	state_load_array(state, &array);
	return 0;
}

/* Check that a job's columns do not contradict each other. */
static int check_job(const struct job *job, const struct stmt *s,
                     struct err *err)
{
	struct job_texts texts = row_texts(s);

	if (!job->array != (job->task == NO_TASK && !row_tasks(s)))
		return err_set(err, EINVAL,
		               "columns 'array_id', 'array_task' and 'tasks' "
		               "do not go together");
	if (job->state == JOB_PENDING)
		return 0;
	if (row_tasks(s) || !texts.place || job->runs->start == NO_TIME)
		return err_set(err, EINVAL,
		               "column 'state' is %s, which does not go with "
		               "columns 'tasks', 'place' and 'start_time'",
		               job_state_name((enum job_state)job->state));
	return 0;
}

/* Make a job from a row, without what row_texts() and row_tasks() return. The
 * caller owns *ret. */
static int make_job(struct state *state, const struct stmt *s, struct job **ret,
                    struct err *err)
{
	struct past_job past;
	struct job *job;
	size_t size;
	int queue;

	if (row_read(s, &past, err) < 0 || check_job(&past.job, s, err) < 0)
		return -1;
	queue = conf_queue_find(state_conf(state), past.queue);
	if (queue < 0)
		return err_set(err, EINVAL,
		               "its queue '%s' is no longer in the "
		               "configuration: put it back, or cancel the job "
		               "first",
		               past.queue);
	*ret = job = xmalloc(sizeof(*job));
	*job = past.job;
	job->runs = &job_runs_none;
	if (memcmp(&past.runs, &job_runs_none, sizeof(past.runs)))
		*job_runs(job) = past.runs;
	job->text = job->text ? xstrdup(job->text) : NULL;
	job->acts = job->acts ? xstrdup(job->acts) : NULL;
	size = spec_packed_size(job->packed);
	job->packed = memcpy(xmalloc(size), past.job.packed, size);
	job->queue = (uint32_t)queue;
	job->user = state_intern_user(state, job->uid, past.user);
	return 0;
}

static int load_job(struct state *state, const struct stmt *s, struct err *err)
{
	struct job_texts texts;
	struct job *job;

	if (make_job(state, s, &job, err) < 0)
		return -1;
	if (row_tasks(s) &&
	    idset_parse(&job->tasks, NULL, row_tasks(s), err) < 0) {
		job_free(job);
		return -1;
	}
	texts = row_texts(s);
	return state_load_job(state, &job, &texts, err);
}

/* Fail if a job's state is null or out of range: queries select jobs by state,
 * and would never return such a row. This reads all jobs, so that of a large
 * database they are read only if it may be damaged. */
static int find_lost_rows(struct store *store, struct err *err)
{
	struct stmt s;
	int64_t state;
	int more;

	if (!store->suspect)
		return 0;
	s = db_use(&store->db, LOST_JOBS);
	more = db_step(&store->db, &s, err);
	if (more > 0) {
		db_int(&s, 1, 0, JOB_NSTATES - 1, &state, err);
		err_wrap(err, "job %lld",
		         (long long)sqlite3_column_int64(s.s, 0));
		sqlite3_reset(s.s);
	}
	return more ? -1 : 0;
}

int store_load(struct store *store, struct state *state, int64_t now,
               struct err *err)
{
	static const struct {
		enum sql sql;
		const char *what;
		row_fn *fn;
	} tables[] = {
		{ LOAD_NODES, "node", load_node },
		{ LOAD_QUEUES, "queue", load_queue },
		{ LOAD_USAGE, "usage of queue", load_usage },
		{ LOAD_RESERVATIONS, "reservation", load_reservation },
		{ LOAD_CRON, "cron entry", cron_load },
		{ LOAD_CRON_FILES, "cron file of uid", cron_load_file },
		{ LOAD_ROLLUPS, "rollup", load_rollup },
		{ LOAD_ARRAYS, "array", load_array },
		{ LOAD_JOBS, "job", load_job },
	};
	int result = load_meta(store, state, err);

	for (size_t i = 0; i < ARRAY_SIZE(tables) && result == 0; i++)
		result = load_rows(store, tables[i].sql, tables[i].what,
		                   tables[i].fn, state, err);
	if (result < 0 || rollup_load_lags(store, state, err) < 0 ||
	    find_lost_rows(store, err) < 0)
		return err_wrap(err, "database '%s'", store->path);
	ended_sweep_blobs(store);
	state_loaded(state, now);
	return 0;
}
