/* ended.c - queries about ended jobs, and their removal */
#include "aischedd/store/ended.h"

#include <stdlib.h>

#include "aischedd/store/own.h"
#include "libcommon/idset.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"

enum {
	/* store_purge() removes up to `limit` jobs, and up to this many times
	 * `limit` audit rows */
	AUDIT_PURGED = 10,
	BLOBS_SWEPT = 20000, /* blobs that ended_sweep_blobs() looks at */
	TASKS_AT_ONCE = 5000 /* tasks of an array that one query reads */
};

/* Whether a row found by SQL_OF_TASK is about this task. tasks: the row's set
 * of tasks that never started; NULL: it is the row of the task itself. */
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

/* Returns the exit status as a shell shows it; the highest is the worst. */
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
	struct idset set = { 0 };
	bool meets;

	if (!tasks->n)
		return true;
	if (!text)
		return idset_has(tasks, (uint32_t)db_col_i64(s, 3, 0));
	meets = idset_parse(&set, NULL, text, NULL) == 0 &&
	        idset_meets(&set, tasks);
	idset_free(&set);
	return meets;
}

static void add_ended(struct ended *ended, const struct stmt *s)
{
	struct ended e = *ended;

	e.found = true;
	e.state = (enum job_state)db_col_i64(s, 0, 0);
	e.exit_code = (int)db_col_i64(s, 1, -1);
	e.signal = (int)db_col_i64(s, 2, 0);
	if (!ended->found || status_of(&e) > status_of(ended))
		*ended = e;
}

/* Step through the rows of a query: add those of the wanted tasks to *e, and
 * set e->from to the task after the last row's. Returns the number of rows. */
static int add_all(struct store *store, struct stmt *s,
                   const struct idset *tasks, struct ended *e)
{
	int n = 0;

	for (; db_step(&store->db, s, NULL) > 0; n++) {
		e->from = (uint32_t)db_col_i64(s, 3, -1) + 1;
		if (meant(s, tasks))
			add_ended(e, s);
	}
	return n;
}

/* Whether the id is that of an ended job that is not an array; if so, fill *e.
 */
static bool is_one_job(struct store *store, uint64_t job, struct ended *e)
{
	struct stmt s = db_use(&store->db, ENDED_JOB);
	bool is = false;

	db_i64(&s, 1, (int64_t)job);
	if (db_step(&store->db, &s, NULL) > 0) {
		is = db_col_i64(&s, 5, 0) != (int64_t)job;
		if (is)
			add_ended(e, &s);
		sqlite3_reset(s.s);
	}
	return is;
}

bool store_ended(struct store *store, uint64_t job, const struct idset *tasks,
                 struct ended *e)
{
	uint32_t last = tasks->n ? idset_max(tasks) : LIMIT_ARRAY - 1;
	struct stmt s;

	if (!e->from) {
		if (!tasks->n && is_one_job(store, job, e))
			return true;
		s = db_use(&store->db, ENDED_PARTS);
		db_i64(&s, 1, (int64_t)job);
		add_all(store, &s, tasks, e);
		e->from = tasks->n ? idset_min(tasks) : 0;
	}
	s = db_use(&store->db, ENDED_TASKS);
	db_i64(&s, 1, (int64_t)job);
	db_i64(&s, 2, e->from);
	db_i64(&s, 3, last);
	db_i64(&s, 4, TASKS_AT_ONCE);
	return add_all(store, &s, tasks, e) < TASKS_AT_ONCE;
}

bool store_has(struct store *store, uint64_t id)
{
	struct stmt s = db_use(&store->db, HAS_JOB);
	bool has;

	db_i64(&s, 1, (int64_t)id);
	has = db_step(&store->db, &s, NULL) > 0;
	if (has)
		sqlite3_reset(s.s);
	return has;
}

bool store_others_failed(struct store *store, uint64_t array, uint64_t job)
{
	struct stmt s = db_use(&store->db, OTHERS_FAILED);
	bool any;

	db_i64(&s, 1, (int64_t)array);
	db_i64(&s, 2, (int64_t)job);
	any = db_step(&store->db, &s, NULL) > 0;
	if (any)
		sqlite3_reset(s.s);
	return any;
}

int store_totals(struct store *store, const char *after_user,
                 const char *after_queue, size_t limit,
                 void (*fn)(const struct total *total, void *arg), void *arg,
                 struct err *err)
{
	struct stmt s = db_use(&store->db, LOAD_TOTALS);
	int more;

	db_text(&s, 1, after_user ? after_user : "");
	db_text(&s, 2, after_queue ? after_queue : "");
	db_i64(&s, 3, (int64_t)limit);
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

int store_old(struct store *store, int64_t before, size_t limit,
              void (*fn)(uint64_t job, void *arg), void *arg, struct err *err)
{
	struct stmt s = db_use(&store->db, LIST_OLD);
	int more;

	db_i64(&s, 1, before);
	db_i64(&s, 2, (int64_t)limit);
	while ((more = db_step(&store->db, &s, err)) > 0)
		fn((uint64_t)sqlite3_column_int64(s.s, 0), arg);
	return more;
}

int store_count_old(struct store *store, int64_t before, int64_t *ret,
                    struct err *err)
{
	struct stmt s = db_use(&store->db, COUNT_OLD);

	db_i64(&s, 1, before);
	if (db_step(&store->db, &s, err) < 1)
		return -1;
	*ret = db_col_i64(&s, 0, 0);
	sqlite3_reset(s.s);
	return 0;
}

static int purge_rows(struct store *store, enum sql which, int64_t before,
                      int64_t limit, struct err *err)
{
	struct stmt s = db_use(&store->db, which);

	db_i64(&s, 1, before);
	if (limit >= 0)
		db_i64(&s, 2, limit);
	return db_run(&store->db, &s, err);
}

/* The scripts and environments of the jobs that a purge removes. */
struct old_blobs {
	int64_t *id;
	size_t n, cap;
};

/* Find those that may be deleted if no other job uses them. */
static int find_blobs(struct store *store, int64_t before, int64_t limit,
                      struct old_blobs *ret, struct err *err)
{
	struct stmt s = db_use(&store->db, OLD_BLOBS);
	int more;

	db_i64(&s, 1, before);
	db_i64(&s, 2, limit);
	while ((more = db_step(&store->db, &s, err)) > 0) {
		int64_t id = db_col_i64(&s, 0, 0);

		if (map_find(&store->lent, (uint64_t)id))
			continue;
		ret->id = GROW(ret->id, ret->n, &ret->cap);
		ret->id[ret->n++] = id;
	}
	return more;
}

static int purge_blobs(struct store *store, const struct old_blobs *blobs,
                       struct err *err)
{
	for (size_t i = 0; i < blobs->n; i++) {
		struct stmt s = db_use(&store->db, PURGE_BLOB);

		db_i64(&s, 1, blobs->id[i]);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

void ended_sweep_blobs(struct store *store)
{
	/* the key in table meta of the last blob that a start looked at */
	static const char key[] = "swept";
	struct stmt s = db_use(&store->db, GET_META);
	int64_t from = 0, to, n;

	db_text(&s, 1, key);
	if (db_step(&store->db, &s, NULL) > 0)
		from = db_col_i64(&s, 0, 0);
	sqlite3_reset(s.s);
	s = db_use(&store->db, SWEEP_END);
	db_i64(&s, 1, from);
	db_i64(&s, 2, BLOBS_SWEPT);
	if (db_step(&store->db, &s, NULL) < 1)
		return;
	to = db_col_i64(&s, 0, from);
	n = db_col_i64(&s, 1, 0);
	sqlite3_reset(s.s);
	s = db_use(&store->db, SWEEP_BLOBS);
	db_i64(&s, 1, from);
	db_i64(&s, 2, to);
	if (db_run(&store->db, &s, NULL) < 0)
		return;
	s = db_use(&store->db, PUT_META);
	db_text(&s, 1, key);
	db_i64(&s, 2, n < BLOBS_SWEPT ? 0 : to);
	db_run(&store->db, &s, NULL);
}

static int purge_all(struct store *store, int64_t before, int64_t limit,
                     size_t *ret_gone, struct old_blobs *blobs, struct err *err)
{
	static const enum sql purges[] = { NOTE_PURGE, PURGE_STEPS,
		                           PURGE_ATTEMPTS, PURGE_JOBS };

	if (find_blobs(store, before, limit, blobs, err) < 0)
		return -1;

	for (size_t i = 0; i < ARRAY_SIZE(purges); i++)
		if (purge_rows(store, purges[i], before, limit, err) < 0)
			return -1;
	*ret_gone = (size_t)sqlite3_changes64(store->db.sql);
	if (purge_rows(store, PURGE_AUDIT, before * 1000, AUDIT_PURGED * limit,
	               err) < 0 ||
	    purge_rows(store, PURGE_TOKENS, before, -1, err) < 0)
		return -1;
	return purge_blobs(store, blobs, err);
}

int store_purge(struct store *store, int64_t before, size_t limit,
                size_t *ret_gone, struct err *err)
{
	struct old_blobs blobs = { 0 };
	int result;

	if (db_exec(&store->db, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	result =
	    purge_all(store, before, (int64_t)limit, ret_gone, &blobs, err);
	free(blobs.id);
	if (result == 0 && db_exec(&store->db, "COMMIT", err) == 0)
		return 0;
	if (!sqlite3_get_autocommit(store->db.sql))
		db_exec(&store->db, "ROLLBACK", NULL);
	*ret_gone = 0;
	return -1;
}

/* --- archives ----------------------------------------------------------- */

/* The key in table meta of the time at which ended jobs were last archived. */
static const char archived_key[] = "archived";

int store_note_archive(struct store *store, int64_t now, struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_META);

	db_text(&s, 1, archived_key);
	db_i64(&s, 2, now);
	if (db_run(&store->db, &s, err) < 0)
		return -1;
	store->stats.archived = now;
	return 0;
}

int store_load_archive(struct store *store, struct err *err)
{
	struct stmt s = db_use(&store->db, GET_META);
	int found, result = 0;

	db_text(&s, 1, archived_key);
	found = db_step(&store->db, &s, err);
	if (found <= 0)
		return found;
	if (db_int(&s, 0, 0, INT64_MAX, &store->stats.archived, err) < 0)
		result = err_wrap(err, "meta '%s'", archived_key);
	sqlite3_reset(s.s);
	return result;
}
