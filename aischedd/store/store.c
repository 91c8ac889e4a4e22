/* store.c - what must survive: one SQLite database, one transaction a turn */
#include "aischedd/store/store.h"

#include <pthread.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "aischedd/state/reserve.h"
#include "aischedd/store/db.h"
#include "aischedd/store/migrate.h"
#include "aischedd/store/row.h"
#include "libcommon/mem.h"

enum { WAL_PAGES = 1000 }; /* a checkpoint is due beyond these */

enum sql {
	PUT_JOB,
	DEL_JOB,
	LOAD_JOBS,
	PUT_ARRAY,
	DEL_ARRAY,
	LOAD_ARRAYS,
	FIND_BLOB,
	PUT_BLOB,
	GET_BLOB,
	FIND_TOKEN,
	PUT_TOKEN,
	PURGE_TOKENS,
	PUT_META,
	GET_META,
	PUT_NODE,
	LOAD_NODES,
	PUT_QUEUE,
	LOAD_QUEUES,
	ADD_TOTAL,
	LOAD_TOTALS,
	PUT_USAGE,
	LOAD_USAGE,
	DEL_RESERVATIONS,
	PUT_RESERVATION,
	LOAD_RESERVATIONS,
	PAST_JOB,
	PAST_TASK,
	PAST_ARRAY,
	ENDED_JOB,
	ENDED_TASKS,
	PURGE_JOBS,
	PURGE_BLOBS,
	NSQL
};

/* A blob or token that waits for the commit. */
struct new_blob {
	int64_t id;
	unsigned char hash[SHA256_DIGEST_LENGTH];
	void *data;
	size_t len;
};

struct new_token {
	char token[64];
	uint32_t uid, count;
	uint64_t first_id;
	int64_t time;
};

struct store {
	struct db db;
	char *path, *id;
	const char *sql[NSQL];
	char *put_job, *load_jobs;
	int64_t next_blob;
	struct new_blob *blob;
	size_t nblobs, blob_cap;
	bool blob_lent; /* an old one, to a job that is not yet written */
	struct new_token *token;
	size_t ntokens, token_cap;
	struct store_stats stats;

	/* Checkpoints have a thread and a connection of their own. */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool due, quit, running;
};

static const char *const fixed_sql[NSQL] = {
	[DEL_JOB] = "DELETE FROM job WHERE id = ?",
	[PUT_ARRAY] = "INSERT OR REPLACE INTO array (id, max_running, count,"
		      " min, max, step, unfinished, failed, last_start)"
		      " VALUES (?,?,?,?,?,?,?,?,?)",
	[DEL_ARRAY] = "DELETE FROM array WHERE id = ?",
	[LOAD_ARRAYS] = "SELECT id, max_running, count, min, max, step,"
			" unfinished, failed, last_start FROM array",
	[FIND_BLOB] = "SELECT id FROM blob WHERE hash = ?",
	[PUT_BLOB] = "INSERT INTO blob (id, hash, data) VALUES (?,?,?)",
	[GET_BLOB] = "SELECT data FROM blob WHERE id = ?",
	[FIND_TOKEN] = "SELECT uid, first_id, count FROM token"
		       " WHERE token = ?",
	[PUT_TOKEN] = "INSERT OR REPLACE INTO token (token, uid, first_id,"
		      " count, time) VALUES (?,?,?,?,?)",
	[PURGE_TOKENS] = "DELETE FROM token WHERE time < ?",
	[PUT_META] = "INSERT OR REPLACE INTO meta (key, value) VALUES (?,?)",
	[GET_META] = "SELECT value FROM meta WHERE key = ?",
	[PUT_NODE] = "INSERT OR REPLACE INTO node (name, pool, drained,"
		     " reason) VALUES (?,?,?,?)",
	[LOAD_NODES] = "SELECT name, pool, drained, reason FROM node",
	[PUT_QUEUE] = "INSERT OR REPLACE INTO queue (name, open, configured)"
		      " VALUES (?,?,?)",
	[LOAD_QUEUES] = "SELECT name, open, configured FROM queue",
	[ADD_TOTAL] = "INSERT INTO usage (user, queue, cpu_ms, gpu_ms, jobs)"
		      " VALUES (?1,?2,?3,?4,?5) ON CONFLICT DO UPDATE SET"
		      " cpu_ms = cpu_ms + ?3, gpu_ms = gpu_ms + ?4,"
		      " jobs = jobs + ?5",
	[LOAD_TOTALS] = "SELECT user, queue, cpu_ms, gpu_ms, jobs FROM usage",
	[PUT_USAGE] = "INSERT INTO usage (user, queue, cpu_ms, gpu_ms, jobs,"
		      " uid, amount, time) VALUES (?1,?2,0,0,0,?3,?4,?5)"
		      " ON CONFLICT DO UPDATE SET uid = ?3, amount = ?4,"
		      " time = ?5",
	[LOAD_USAGE] = "SELECT queue, uid, user, amount, time FROM usage"
		       " WHERE time > 0",
	[DEL_RESERVATIONS] = "DELETE FROM reservation",
	[PUT_RESERVATION] = "INSERT INTO reservation (name, start_time,"
			    " end_time, repeat, nodes, users, guests)"
			    " VALUES (?,?,?,?,?,?,?)",
	[LOAD_RESERVATIONS] = "SELECT name, start_time, end_time, repeat,"
			      " nodes, users, guests FROM reservation",
	[PAST_JOB] = "SELECT state, uid, start_time FROM job"
		     " WHERE id = ? AND state >= 5 AND tasks IS NULL",
	[PAST_TASK] = "SELECT state, uid, start_time, tasks FROM job"
		      " WHERE array_id = ? AND state >= 5"
		      " AND (array_task = ? OR tasks IS NOT NULL)",
	/* Other than COMPLETED (5) is worse. */
	[PAST_ARRAY] = "SELECT max(state), max(uid), max(start_time) FROM job"
		       " WHERE array_id = ? AND state >= 5",
	[ENDED_JOB] = "SELECT state, exit_code, signal FROM job"
		      " WHERE (id = ?1 OR array_id = ?1) AND state >= 5"
		      " ORDER BY CASE WHEN signal > 0 THEN 128 + signal"
		      " WHEN exit_code > 0 THEN exit_code"
		      " WHEN state > 5 THEN 1 ELSE 0 END DESC, state DESC"
		      " LIMIT 1",
	[ENDED_TASKS] = "SELECT state, exit_code, signal, array_task, tasks"
			" FROM job WHERE array_id = ? AND state >= 5",
	[PURGE_JOBS] = "DELETE FROM job WHERE id IN (SELECT id FROM job"
		       " WHERE state >= 5 AND end_time < ?"
		       " ORDER BY end_time, id LIMIT ?)",
	[PURGE_BLOBS] = "DELETE FROM blob WHERE id NOT IN"
			" (SELECT script FROM job UNION SELECT env FROM job)",
};

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* --- checkpoints ------------------------------------------------------- */

static void *checkpoints(void *arg)
{
	struct store *store = arg;
	struct db db;

	if (db_open(&db, store->path, false, NULL, 0, NULL) < 0)
		return NULL;
	db_exec(&db, "PRAGMA synchronous = FULL", NULL);
	pthread_mutex_lock(&store->lock);
	while (!store->quit) {
		if (!store->due) {
			pthread_cond_wait(&store->wake, &store->lock);
			continue;
		}
		store->due = false;
		pthread_mutex_unlock(&store->lock);
		/* What stands in its way now is tried again next time. */
		sqlite3_wal_checkpoint_v2(
		    db.sql, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
		pthread_mutex_lock(&store->lock);
	}
	pthread_mutex_unlock(&store->lock);
	db_close(&db);
	return NULL;
}

static int wal_grew(void *arg, sqlite3 *sql, const char *name, int pages)
{
	struct store *store = arg;

	(void)sql;
	(void)name;
	if (pages < WAL_PAGES)
		return SQLITE_OK;
	pthread_mutex_lock(&store->lock);
	store->due = true;
	pthread_cond_signal(&store->wake);
	pthread_mutex_unlock(&store->lock);
	return SQLITE_OK;
}

/* --- open and close ---------------------------------------------------- */

static int check(struct db *db, struct err *err)
{
	sqlite3_stmt *s = NULL;
	const char *said = "";
	int result = 0;

	if (sqlite3_prepare_v2(db->sql, "PRAGMA quick_check(1)", -1, &s,
	                       NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		result = db_fail(db, "check", err);
	else
		said = (const char *)sqlite3_column_text(s, 0);
	if (result == 0 && strcmp(said, "ok"))
		result = db_corrupt(said, err);
	sqlite3_finalize(s);
	return result;
}

/*
 * Packed requests number their fields as spec_fields did when they were
 * written: new ones are only added at the end of it.
 */
static int check_fields(struct store *store, struct err *err)
{
	struct stmt s = db_use(&store->db, GET_META);
	struct buf ours = { 0 };
	const char *was;
	int result;

	for (size_t i = 0; i < spec_nfields; i++)
		buf_printf(&ours, "%s,", spec_fields[i].name);
	db_text(&s, 1, "fields");
	result = db_step(&store->db, &s, err);
	was = result > 0 ? db_col_text(&s, 0) : "";
	if (result >= 0 && strncmp(ours.data, was, strlen(was)))
		result = err_set(err, EINVAL,
		                 "has requests with other fields than this "
		                 "program knows: it was written by another "
		                 "version");
	sqlite3_reset(s.s);
	if (result >= 0) {
		s = db_use(&store->db, PUT_META);
		db_text(&s, 1, "fields");
		db_text(&s, 2, ours.data);
		result = db_run(&store->db, &s, err);
	}
	buf_free(&ours);
	return result;
}

/* Made when a database is first opened; copies are the same. */
static int load_id(struct store *store, struct err *err)
{
	struct stmt s;
	int found;

	if (db_exec(&store->db,
	            "INSERT OR IGNORE INTO meta (key, value)"
	            " VALUES ('id', lower(hex(randomblob(16))))",
	            err) < 0)
		return -1;
	s = db_use(&store->db, GET_META);
	db_text(&s, 1, "id");
	found = db_step(&store->db, &s, err);
	if (found > 0)
		store->id = xstrdup(db_col_text(&s, 0));
	sqlite3_reset(s.s);
	return found < 0 ? -1 : 0;
}

static int prepare(struct store *store, struct err *err)
{
	static const char *const pragmas =
	    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
	    "PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY;"
	    "PRAGMA cache_size = -16384;";

	if (store_migrate(&store->db, err) < 0 ||
	    db_exec(&store->db, pragmas, err) < 0 ||
	    check(&store->db, err) < 0 || check_fields(store, err) < 0 ||
	    load_id(store, err) < 0)
		return -1;
	return db_get_i64(&store->db,
	                  "SELECT coalesce(max(id), 0) + 1 FROM blob",
	                  &store->next_blob, err);
}

/* Scripts and environments are in it: nobody else may read the file. */
static int open_db(struct store *store, struct err *err)
{
	mode_t was = umask(077);
	int result =
	    db_open(&store->db, store->path, false, store->sql, NSQL, err);

	if (result == 0)
		result = prepare(store, err);
	umask(was);
	return result;
}

struct store *store_open(const char *state_dir, struct err *err)
{
	struct store *store = xcalloc(1, sizeof(*store));

	memcpy(store->sql, fixed_sql, sizeof(fixed_sql));
	store->put_job =
	    xasprintf("INSERT OR REPLACE INTO job (%s) VALUES (%s)",
	              row_columns(), row_marks());
	store->load_jobs = xasprintf("SELECT %s FROM job WHERE state < 5"
	                             " ORDER BY id",
	                             row_columns());
	store->sql[PUT_JOB] = store->put_job;
	store->sql[LOAD_JOBS] = store->load_jobs;
	store->path = xasprintf("%s/aisched.db", state_dir);
	pthread_mutex_init(&store->lock, NULL);
	pthread_cond_init(&store->wake, NULL);
	if (open_db(store, err) < 0) {
		err_wrap(err, "database '%s'", store->path);
		store_close(store);
		return NULL;
	}
	sqlite3_wal_hook(store->db.sql, wal_grew, store);
	store->running =
	    pthread_create(&store->thread, NULL, checkpoints, store) == 0;
	return store;
}

static void forget_new(struct store *store)
{
	for (size_t i = 0; i < store->nblobs; i++)
		free(store->blob[i].data);
	store->nblobs = store->ntokens = 0;
	store->blob_lent = false;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	if (store->running) {
		pthread_mutex_lock(&store->lock);
		store->quit = true;
		pthread_cond_signal(&store->wake);
		pthread_mutex_unlock(&store->lock);
		pthread_join(store->thread, NULL);
	}
	if (store->db.sql)
		db_close(&store->db);
	pthread_mutex_destroy(&store->lock);
	pthread_cond_destroy(&store->wake);
	forget_new(store);
	free(store->blob);
	free(store->token);
	free(store->put_job);
	free(store->load_jobs);
	free(store->path);
	free(store->id);
	free(store);
}

const char *store_id(const struct store *store)
{
	return store->id;
}

const char *store_path(const struct store *store)
{
	return store->path;
}

/* --- load -------------------------------------------------------------- */

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

/* --- blobs and tokens -------------------------------------------------- */

int64_t store_blob(struct store *store, const void *data, size_t len,
                   struct err *err)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	struct new_blob *blob;
	SHA2_CTX sha;
	struct stmt s;
	int more;

	SHA256Init(&sha);
	SHA256Update(&sha, data, len);
	SHA256Final(hash, &sha);
	for (size_t i = 0; i < store->nblobs; i++)
		if (!memcmp(store->blob[i].hash, hash, sizeof(hash)))
			return store->blob[i].id;
	s = db_use(&store->db, FIND_BLOB);
	db_blob(&s, 1, hash, sizeof(hash));
	more = db_step(&store->db, &s, err);
	if (more < 0)
		return -1;
	if (more > 0) {
		int64_t id = db_col_i64(&s, 0, 0);

		sqlite3_reset(s.s);
		store->blob_lent = true;
		return id;
	}
	store->blob = GROW(store->blob, store->nblobs, &store->blob_cap);
	blob = &store->blob[store->nblobs++];
	blob->id = store->next_blob++;
	memcpy(blob->hash, hash, sizeof(hash));
	blob->data = xmalloc(len ? len : 1);
	memcpy(blob->data, data, len);
	blob->len = len;
	return blob->id;
}

int store_blob_get(struct store *store, int64_t id, struct buf *ret,
                   struct err *err)
{
	struct stmt s = db_use(&store->db, GET_BLOB);
	int more;

	db_i64(&s, 1, id);
	more = db_step(&store->db, &s, err);
	if (more == 0)
		return err_set(err, ENOENT, "there is no blob %lld",
		               (long long)id);
	if (more < 0)
		return -1;
	buf_add(ret, sqlite3_column_blob(s.s, 0),
	        (size_t)sqlite3_column_bytes(s.s, 0));
	sqlite3_reset(s.s);
	return 0;
}

void store_token(struct store *store, const char *token, uint32_t uid,
                 uint64_t first_id, uint32_t count, int64_t now)
{
	struct new_token *t;

	store->token = GROW(store->token, store->ntokens, &store->token_cap);
	t = &store->token[store->ntokens++];
	*t = (struct new_token){
		.uid = uid, .count = count, .first_id = first_id, .time = now
	};
	snprintf(t->token, sizeof(t->token), "%s", token);
}

bool store_token_find(struct store *store, const char *token, uint32_t uid,
                      uint64_t *ret_first, uint32_t *ret_count)
{
	struct stmt s;
	bool found = false;

	for (size_t i = 0; i < store->ntokens; i++) {
		const struct new_token *t = &store->token[i];

		if (t->uid != uid || strcmp(t->token, token))
			continue;
		*ret_first = t->first_id;
		*ret_count = t->count;
		return true;
	}
	s = db_use(&store->db, FIND_TOKEN);
	db_text(&s, 1, token);
	if (db_step(&store->db, &s, NULL) > 0) {
		found = db_col_i64(&s, 0, -1) == uid;
		*ret_first = (uint64_t)db_col_i64(&s, 1, 0);
		*ret_count = (uint32_t)db_col_i64(&s, 2, 0);
		sqlite3_reset(s.s);
	}
	return found;
}

/* --- commit ------------------------------------------------------------ */

static int put_blobs(struct store *store, struct err *err)
{
	for (size_t i = 0; i < store->nblobs; i++) {
		const struct new_blob *blob = &store->blob[i];
		struct stmt s = db_use(&store->db, PUT_BLOB);

		db_i64(&s, 1, blob->id);
		db_blob(&s, 2, blob->hash, sizeof(blob->hash));
		db_blob(&s, 3, blob->data, blob->len);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < store->ntokens; i++) {
		const struct new_token *t = &store->token[i];
		struct stmt s = db_use(&store->db, PUT_TOKEN);

		db_text(&s, 1, t->token);
		db_i64(&s, 2, t->uid);
		db_i64(&s, 3, (int64_t)t->first_id);
		db_i64(&s, 4, t->count);
		db_i64(&s, 5, t->time);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

/* What it was given, for as long as it had it; once, when it ends. */
static int add_total(struct store *store, const struct state *state,
                     const struct job *job, struct err *err)
{
	struct stmt s = db_use(&store->db, ADD_TOTAL);
	struct request req = { 0 };
	struct spec spec;

	spec_unpack(&spec, job->packed);
	spec_request(&spec, job->mem_default, &req);
	db_text(&s, 1, state_user(state, job->user)->name);
	db_text(&s, 2, state_conf(state)->queues[job->queue].name);
	db_i64(&s, 3, job->ran * req.tasks * req.cpus_milli);
	db_i64(&s, 4, job->ran * req.tasks * req.gpus_milli);
	db_i64(&s, 5, job_count(job));
	return db_run(&store->db, &s, err);
}

static int put_jobs(struct store *store, const struct state *state,
                    const struct changes *changes, struct err *err)
{
	struct buf scratch = { 0 };
	int result = 0;

	for (size_t i = 0; i < changes->ngone && result == 0; i++) {
		struct stmt s = db_use(&store->db, DEL_JOB);

		db_i64(&s, 1, (int64_t)changes->gone[i]);
		result = db_run(&store->db, &s, err);
	}
	for (size_t i = 0; i < changes->njobs && result == 0; i++) {
		struct stmt s = db_use(&store->db, PUT_JOB);

		row_bind(&s, state, changes->job[i], &scratch);
		result = db_run(&store->db, &s, err);
		if (result == 0 && job_state_is_final(changes->job[i]->state))
			result = add_total(store, state, changes->job[i], err);
	}
	buf_free(&scratch);
	return result;
}

static int put_arrays(struct store *store, const struct changes *changes,
                      struct err *err)
{
	for (size_t i = 0; i < changes->narrays; i++) {
		const struct array *a = changes->array[i];
		struct stmt s =
		    db_use(&store->db, a->unfinished ? PUT_ARRAY : DEL_ARRAY);

		db_i64(&s, 1, (int64_t)a->id);
		if (a->unfinished) {
			db_i64(&s, 2, a->limit);
			db_i64(&s, 3, a->count);
			db_i64(&s, 4, a->min);
			db_i64(&s, 5, a->max);
			db_i64(&s, 6, a->step);
			db_i64(&s, 7, a->unfinished);
			db_i64(&s, 8, a->failed);
			db_i64(&s, 9, a->started);
		}
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

static int put_nodes(struct store *store, const struct state *state,
                     struct err *err)
{
	for (uint32_t i = 0; i < state_nnodes(state); i++) {
		const struct node *node = state_node(state, i);
		struct stmt s;

		if (!node->dirty)
			continue;
		s = db_use(&store->db, PUT_NODE);
		db_text(&s, 1, node->name);
		db_text(&s, 2, state_conf(state)->pools[node->pool].name);
		db_i64(&s, 3, node->drained);
		db_text(&s, 4, node->reason);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

static int put_queues(struct store *store, const struct state *state,
                      struct err *err)
{
	const struct conf *conf = state_conf(state);

	for (uint32_t i = 0; i < conf->nqueues; i++) {
		struct stmt s = db_use(&store->db, PUT_QUEUE);

		db_text(&s, 1, conf->queues[i].name);
		db_i64(&s, 2, state_queue_open(state, i));
		db_i64(&s, 3, !conf->queues[i].closed);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

static int put_usage(struct store *store, const struct state *state,
                     struct err *err)
{
	for (size_t i = 0; i < state_nusages(state); i++) {
		const struct usage *u = state_usage(state, i);
		const struct user *user = state_user(state, u->user);
		struct stmt s;

		if (!u->dirty)
			continue;
		s = db_use(&store->db, PUT_USAGE);
		db_text(&s, 1, user->name);
		db_text(&s, 2, state_conf(state)->queues[u->queue].name);
		db_i64(&s, 3, user->uid);
		db_i64(&s, 4, u->amount);
		db_i64(&s, 5, u->at);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

static int put_reservation(struct store *store, const struct state *state,
                           const struct reservation *r, struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_RESERVATION);
	struct buf nodes = { 0 };
	int result;

	state_reservation_nodes(state, r, &nodes);
	db_text(&s, 1, r->name);
	db_i64(&s, 2, r->start);
	db_i64(&s, 3, r->end);
	db_i64(&s, 4, r->repeat);
	db_text(&s, 5, nodes.data);
	db_text(&s, 6, r->users);
	db_text(&s, 7, r->guests);
	result = db_run(&store->db, &s, err);
	buf_free(&nodes);
	return result;
}

/* They are few: all of them, in place of what there was. */
static int put_reservations(struct store *store, const struct state *state,
                            struct err *err)
{
	struct stmt s = db_use(&store->db, DEL_RESERVATIONS);

	if (db_run(&store->db, &s, err) < 0)
		return -1;
	for (size_t i = 0; i < state_nreservations(state); i++)
		if (put_reservation(store, state, state_reservation(state, i),
		                    err) < 0)
			return -1;
	return 0;
}

static int put_meta(struct store *store, const struct changes *changes,
                    struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_META);

	db_text(&s, 1, "next_id");
	db_i64(&s, 2, (int64_t)changes->next_id);
	return db_run(&store->db, &s, err);
}

static int put_all(struct store *store, const struct state *state,
                   struct err *err)
{
	struct changes changes;

	state_changes(state, &changes);
	if (put_blobs(store, err) < 0 ||
	    put_jobs(store, state, &changes, err) < 0 ||
	    put_arrays(store, &changes, err) < 0 ||
	    put_meta(store, &changes, err) < 0)
		return -1;
	if (changes.nodes && put_nodes(store, state, err) < 0)
		return -1;
	if (changes.queues && put_queues(store, state, err) < 0)
		return -1;
	if (changes.usages && put_usage(store, state, err) < 0)
		return -1;
	if (changes.reservations && put_reservations(store, state, err) < 0)
		return -1;
	return 0;
}

int store_commit(struct store *store, struct state *state, struct err *err)
{
	double began = now_ms(), took;

	if (!state_is_dirty(state) && !store->nblobs && !store->ntokens)
		return 0;
	if (db_exec(&store->db, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	if (put_all(store, state, err) < 0 ||
	    db_exec(&store->db, "COMMIT", err) < 0) {
		/* SQLite may have rolled back by itself. */
		if (!sqlite3_get_autocommit(store->db.sql))
			db_exec(&store->db, "ROLLBACK", NULL);
		return err_wrap(err, "database '%s'", store->path);
	}
	forget_new(store);
	state_committed(state);
	took = now_ms() - began;
	store->stats.commits++;
	store->stats.commit_ms_last = took;
	store->stats.commit_ms_sum += took;
	if (took > store->stats.commit_ms_max)
		store->stats.commit_ms_max = took;
	return 0;
}

/* --- questions --------------------------------------------------------- */

/* A row of one task is that task; a part that never started is its set. */
static bool row_has_task(const char *tasks, uint32_t task)
{
	struct idset set = { 0 };
	bool has;

	if (!tasks)
		return true;
	has =
	    idset_parse(&set, NULL, tasks, NULL) == 0 && idset_has(&set, task);
	idset_free(&set);
	return has;
}

static int past_of(struct store *store, enum sql which, uint64_t job,
                   uint32_t task, struct past *ret)
{
	struct stmt s = db_use(&store->db, which);
	int result = -1;

	db_i64(&s, 1, (int64_t)job);
	if (which == PAST_TASK)
		db_i64(&s, 2, task);
	while (result < 0 && db_step(&store->db, &s, NULL) > 0) {
		if (sqlite3_column_type(s.s, 0) == SQLITE_NULL ||
		    (which == PAST_TASK &&
		     !row_has_task(db_col_text(&s, 3), task)))
			continue;
		ret->state = (enum job_state)db_col_i64(&s, 0, 0);
		ret->uid = (uint32_t)db_col_i64(&s, 1, 0);
		ret->start = db_col_i64(&s, 2, NO_TIME);
		result = 0;
	}
	if (result == 0)
		sqlite3_reset(s.s);
	return result;
}

int store_past(uint64_t job, uint32_t task, struct past *ret, void *arg)
{
	if (task != NO_TASK)
		return past_of(arg, PAST_TASK, job, task, ret);
	if (past_of(arg, PAST_JOB, job, task, ret) == 0)
		return 0;
	return past_of(arg, PAST_ARRAY, job, task, ret);
}

/* What a shell would make of it: to tell which is worse. */
static int status_of(const struct ended *e)
{
	return e->signal > 0              ? 128 + e->signal
	       : e->exit_code > 0         ? e->exit_code
	       : e->state > JOB_COMPLETED ? 1
	                                  : 0;
}

static bool meant(const struct stmt *s, const struct idset *tasks)
{
	const char *text = db_col_text(s, 4);

	for (int64_t t = -1; text && (t = idset_next(tasks, t)) >= 0;)
		if (row_has_task(text, (uint32_t)t))
			return true;
	return !text && idset_has(tasks, (uint32_t)db_col_i64(s, 3, 0));
}

int store_ended(struct store *store, uint64_t job, const struct idset *tasks,
                struct ended *ret)
{
	struct stmt s = db_use(&store->db, tasks->n ? ENDED_TASKS : ENDED_JOB);
	int result = -1;

	db_i64(&s, 1, (int64_t)job);
	while (db_step(&store->db, &s, NULL) > 0) {
		struct ended e = {
			.state = (enum job_state)db_col_i64(&s, 0, 0),
			.exit_code = (int)db_col_i64(&s, 1, -1),
			.signal = (int)db_col_i64(&s, 2, 0),
		};

		if (tasks->n && !meant(&s, tasks))
			continue;
		if (result < 0 || status_of(&e) > status_of(ret))
			*ret = e;
		result = 0;
	}
	return result;
}

int store_totals(struct store *store,
                 void (*fn)(const struct total *total, void *arg), void *arg,
                 struct err *err)
{
	struct stmt s = db_use(&store->db, LOAD_TOTALS);
	int more;

	while ((more = db_step(&store->db, &s, err)) > 0) {
		struct total total = {
			.user = db_col_text(&s, 0),
			.queue = db_col_text(&s, 1),
			.cpu_ms = db_col_i64(&s, 2, 0),
			.gpu_ms = db_col_i64(&s, 3, 0),
			.jobs = db_col_i64(&s, 4, 0),
		};

		fn(&total, arg);
	}
	return more;
}

int store_purge(struct store *store, int64_t before, size_t limit,
                size_t *ret_gone, struct err *err)
{
	struct stmt s = db_use(&store->db, PURGE_JOBS);

	db_i64(&s, 1, before);
	db_i64(&s, 2, (int64_t)limit);
	if (db_run(&store->db, &s, err) < 0)
		return -1;
	*ret_gone = (size_t)sqlite3_changes64(store->db.sql);
	s = db_use(&store->db, PURGE_TOKENS);
	db_i64(&s, 1, before);
	if (db_run(&store->db, &s, err) < 0)
		return -1;
	if (!*ret_gone || *ret_gone == limit || store->blob_lent)
		return 0;
	/* The last of them went: what they alone used goes too. */
	s = db_use(&store->db, PURGE_BLOBS);
	return db_run(&store->db, &s, err);
}

static int64_t size_of(const char *path, const char *suffix)
{
	char *name = xasprintf("%s%s", path, suffix);
	struct stat st;
	int64_t size = stat(name, &st) == 0 ? (int64_t)st.st_size : 0;

	free(name);
	return size;
}

void store_stats(const struct store *store, struct store_stats *ret)
{
	*ret = store->stats;
	ret->bytes = size_of(store->path, "");
	ret->wal_bytes = size_of(store->path, "-wal");
}
