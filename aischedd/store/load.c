/* load.c - what has not ended, when the daemon starts */
#include "aischedd/store/own.h"

#include <string.h>

#include "aischedd/state/reserve.h"
#include "aischedd/store/row.h"
#include "libcommon/mem.h"

static int load_meta(struct store *store, struct state *state, struct err *err)
{
	struct stmt s = db_use(&store->db, GET_META);
	int more;

	db_text(&s, 1, "next_id");
	more = db_step(&store->db, &s, err);
	if (more > 0)
		state_load_next_id(state, (uint64_t)db_col_i64(&s, 0, 1));
	return more < 0 ? -1 : 0;
}

static int load_nodes(struct store *store, struct state *state, struct err *err)
{
	struct stmt s = db_use(&store->db, LOAD_NODES);
	int more;

	while ((more = db_step(&store->db, &s, err)) > 0)
		state_load_node(state, db_col_text(&s, 0), db_col_text(&s, 1),
		                db_col_i64(&s, 2, 0) != 0, db_col_text(&s, 3));
	return more;
}

static int load_queues(struct store *store, struct state *state,
                       struct err *err)
{
	struct stmt s = db_use(&store->db, LOAD_QUEUES);
	int more;

	while ((more = db_step(&store->db, &s, err)) > 0)
		state_load_queue(state, db_col_text(&s, 0),
		                 db_col_i64(&s, 1, 1) != 0,
		                 db_col_i64(&s, 2, 1) != 0);
	return more;
}

static int load_usage(struct store *store, struct state *state, struct err *err)
{
	struct stmt s = db_use(&store->db, LOAD_USAGE);
	int more;

	while ((more = db_step(&store->db, &s, err)) > 0)
		state_load_usage(state, db_col_text(&s, 0),
		                 (uint32_t)db_col_i64(&s, 1, 0),
		                 db_col_text(&s, 2), db_col_i64(&s, 3, 0),
		                 db_col_i64(&s, 4, 0));
	return more;
}

static int load_reservation(struct state *state, const struct stmt *s,
                            struct err *err)
{
	int64_t repeat = db_col_i64(s, 3, -1);
	struct reserve_ask ask = {
		.name = db_col_text(s, 0),
		.start = db_col_i64(s, 1, 0),
		.end = db_col_i64(s, 2, 0),
		.repeat = (enum repeat)repeat,
		.nodes = db_col_text(s, 4),
		.users = db_col_text(s, 5),
	};

	if (repeat < REPEAT_NEVER || repeat > REPEAT_WEEKLY || ask.start < 0 ||
	    ask.end <= ask.start || !ask.nodes || !ask.users ||
	    !db_col_text(s, 6))
		return err_set(err, EINVAL, "bad reservation '%s'", ask.name);
	return state_load_reservation(state, &ask, db_col_text(s, 6), err);
}

static int load_reservations(struct store *store, struct state *state,
                             struct err *err)
{
	struct stmt s = db_use(&store->db, LOAD_RESERVATIONS);
	int more;

	while ((more = db_step(&store->db, &s, err)) > 0)
		if (load_reservation(state, &s, err) < 0) {
			sqlite3_reset(s.s);
			return -1;
		}
	return more;
}

static int load_arrays(struct store *store, struct state *state,
                       struct err *err)
{
	struct stmt s = db_use(&store->db, LOAD_ARRAYS);
	int more;

	while ((more = db_step(&store->db, &s, err)) > 0) {
		struct array array = {
			.id = (uint64_t)db_col_i64(&s, 0, 0),
			.limit = (uint32_t)db_col_i64(&s, 1, 0),
			.count = (uint32_t)db_col_i64(&s, 2, 0),
			.min = (uint32_t)db_col_i64(&s, 3, 0),
			.max = (uint32_t)db_col_i64(&s, 4, 0),
			.step = (uint32_t)db_col_i64(&s, 5, 1),
			.unfinished = (uint32_t)db_col_i64(&s, 6, 0),
			.failed = (uint32_t)db_col_i64(&s, 7, 0),
			.started = db_col_i64(&s, 8, NO_TIME),
		};

		state_load_array(state, &array);
	}
	return more;
}

static int load_job(struct state *state, const struct stmt *s, struct err *err)
{
	struct past_job past;
	struct job_texts texts;
	struct job *job;
	size_t size;
	int queue;

	if (row_read(s, &past, err) < 0)
		return -1;
	job = xmalloc(sizeof(*job));
	*job = past.job;
	job->text = job->text ? xstrdup(job->text) : NULL;
	size = spec_packed_size(job->packed);
	job->packed = memcpy(xmalloc(size), past.job.packed, size);
	queue = conf_queue_find(state_conf(state), past.queue);
	if (queue < 0) {
		err_set(err, EINVAL,
		        "job %llu is in queue '%s', which the configuration "
		        "no longer has: put it back, or cancel the job first",
		        (unsigned long long)job->id, past.queue);
		job_free(job);
		return -1;
	}
	job->queue = (uint32_t)queue;
	job->user = state_intern_user(state, job->uid, past.user);
	if (row_tasks(s) &&
	    idset_parse(&job->tasks, NULL, row_tasks(s), err) < 0) {
		job_free(job);
		return -1;
	}
	texts = row_texts(s);
	return state_load_job(state, &job, &texts, err);
}

static int load_jobs(struct store *store, struct state *state, struct err *err)
{
	struct stmt s = db_use(&store->db, LOAD_JOBS);
	int more;

	while ((more = db_step(&store->db, &s, err)) > 0)
		if (load_job(state, &s, err) < 0) {
			sqlite3_reset(s.s);
			return -1;
		}
	return more;
}

int store_load(struct store *store, struct state *state, int64_t now,
               struct err *err)
{
	if (load_meta(store, state, err) < 0 ||
	    load_nodes(store, state, err) < 0 ||
	    load_queues(store, state, err) < 0 ||
	    load_usage(store, state, err) < 0 ||
	    load_reservations(store, state, err) < 0 ||
	    load_arrays(store, state, err) < 0 ||
	    load_jobs(store, state, err) < 0)
		return err_wrap(err, "database '%s'", store->path);
	state_loaded(state, now);
	return 0;
}
