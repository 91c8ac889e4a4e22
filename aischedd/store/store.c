/* store.c - the SQL statements of the store; opening and closing its database
 */
#include "aischedd/store/own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aischedd/state/cluster/rollup.h"
#include "aischedd/store/blob.h"
#include "aischedd/store/damage.h"
#include "aischedd/store/ended.h"
#include "aischedd/store/loss.h"
#include "aischedd/store/migrate.h"
#include "aischedd/store/row.h"
#include "aischedd/store/space.h"
#include "libcommon/mem.h"

#define CRON_COLUMNS                                                      \
	"id, uid, gid, user, asked, script, env, schedule, zone, policy," \
	" make_up, late, jitter, until_time, created_time, looked_time,"  \
	" last_time, last_job, runs, skipped, missed, refused, paused,"   \
	" imported, reason"
#define COLUMN(name) ", " #name
#define MARK(name)   ",?"
/* Adds to a column, and keeps the sum within the bounds of int64_t: in SQLite
 * an integer sum that overflows becomes a float. */
#define SUM(name)                                              \
	"," #name " = max(min(" #name " + excluded." #name "," \
	" 9223372036854775807), -9223372036854775807)"

/* Remove rows of hours before ?1, the oldest hours first and each as a whole,
 * until ?2 rows are removed. The two upper bounds of `start` are combined by
 * min(), because SQLite uses the index for only one. */
#define PURGE_LEVEL_0(table, columns)                                         \
	"DELETE FROM " table " WHERE level = 0 AND start < min(?1, coalesce(" \
	"(SELECT start + 1 FROM " table " WHERE level = 0"                    \
	" ORDER BY " columns " LIMIT 1 OFFSET ?2 - 1), ?1))"

#define BLOBS_OF_CRON                                        \
	"SELECT script FROM cron UNION SELECT env FROM cron" \
	" UNION SELECT text FROM cron_file"
#define NO_JOB_USES(blob)                                    \
	"NOT EXISTS (SELECT 1 FROM job WHERE script = " blob \
	") AND NOT EXISTS (SELECT 1 FROM job WHERE env = " blob ")"

static const char *const fixed_sql[NSQL] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[DEL_JOB] = "DELETE FROM job WHERE id = ?",
	/* 13 is JOB_BOOT_FAIL, the last job state. */
	[LOST_JOBS] = "SELECT id, state FROM job WHERE state IS NULL OR"
		      " typeof(state) != 'integer' OR state NOT BETWEEN 0 AND"
		      " 13 LIMIT 1",
	[PUT_ARRAY] = "INSERT OR REPLACE INTO array (id, max_running, count,"
		      " min, max, step, unfinished, failed, last_start,"
		      " exit_low, exit_high) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
	[DEL_ARRAY] = "DELETE FROM array WHERE id = ?",
	[LOAD_ARRAYS] = "SELECT id, max_running, count, min, max, step,"
			" unfinished, failed, last_start, exit_low, exit_high"
			" FROM array",
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
		     " reason, want, want_time) VALUES (?,?,?,?,?,?)",
	[DROP_EXPECTED] = "DELETE FROM node WHERE name = ? AND pool = ''",
	[DROP_NODE] = "DELETE FROM node WHERE name = ? AND pool = ?",
	[LOAD_NODES] = "SELECT name, pool, drained, reason, want,"
		       " want_time FROM node",
	[PUT_QUEUE] = "INSERT OR REPLACE INTO queue (name, open, configured)"
		      " VALUES (?,?,?)",
	[LOAD_QUEUES] = "SELECT name, open, configured FROM queue",
	[PUT_HOLDER] =
	    "INSERT OR IGNORE INTO holder (uid, user, queue, account,"
	    " class, pool, gpu_type) VALUES (?,?,?,?,?,?,?)",
	[FIND_HOLDER] =
	    "SELECT id FROM holder WHERE uid = ? AND user = ? AND queue = ?"
	    " AND account = ? AND class = ? AND pool = ? AND gpu_type = ?",
	[PUT_ATTEMPT] =
	    "INSERT OR REPLACE INTO attempt (job, attempt, holder, tasks,"
	    " nodes, ended_ms, held_ms, idle_ms, state, reason, cause, evict,"
	    " evict_by, exit_code, signal, held_cpu_ms, held_mem_mib_s,"
	    " held_gpu_ms, cpu_ms, peak_mem_kib, gpu_busy_ms, gpu_known_ms,"
	    " gpu_mem_mib, gpu_mem_total_mib, wait_ms, pieces)"
	    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,"
	    "?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[COUNT_OLD] = "SELECT count(*) FROM job WHERE state >= 5"
		      " AND end_time < ?",
	/* Remember when the last purged attempt ended: sums of use are only
	 * checked from then on (rollup_check.c). */
	[NOTE_PURGE] =
	    "INSERT INTO meta (key, value)"
	    " SELECT 'accounting_from', coalesce(max(ended_ms), 0) FROM attempt"
	    " WHERE job IN (SELECT id FROM job WHERE state >= 5"
	    " AND end_time < ? ORDER BY end_time, id LIMIT ?)"
	    " ON CONFLICT (key) DO UPDATE SET"
	    " value = max(value, excluded.value)",
	[LAST_HOUR] =
	    "SELECT max(start) FROM rollup WHERE level = 0 AND start < ?",
	[NOTE_HOURS] = "INSERT INTO meta (key, value) VALUES ('hours_from', ?)"
		       " ON CONFLICT (key) DO UPDATE SET"
		       " value = max(value, excluded.value)",
	[PURGE_HOURS] = PURGE_LEVEL_0("rollup", "start, key"),
	[PURGE_HOUR_WAITS] = PURGE_LEVEL_0("rollup_wait", "start, key, bucket"),
	[PURGE_ATTEMPTS] =
	    "DELETE FROM attempt WHERE job IN (SELECT id FROM job"
	    " WHERE state >= 5 AND end_time < ? ORDER BY end_time, id LIMIT ?)",
	[PUT_ROLLUP_KEY] = "INSERT OR REPLACE INTO rollup_key (id, user,"
			   " account, queue, class, pool, gpu_type, booked_ms)"
			   " VALUES (?,?,?,?,?,?,?,?)",
	[PUT_ROLLUP] = "INSERT INTO rollup (level, start, key, wait_max_ms" ROLLUP_SUMS(
	    COLUMN) ") VALUES (?,?,?,?" ROLLUP_SUMS(MARK) ") ON CONFLICT DO UPDATE SET wait_max_ms = max(wait_max_ms,"
							  " excluded.wait_max_ms)" ROLLUP_SUMS(
							      SUM),
	[PUT_ROLLUP_WAIT] = "INSERT INTO rollup_wait (level, start, key,"
			    " bucket, n) VALUES (?1,?2,?3,?4,?5)"
			    " ON CONFLICT DO UPDATE SET n = n + ?5",
	[LOAD_ROLLUPS] = "SELECT id, user, account, queue, class, pool,"
			 " gpu_type, booked_ms FROM rollup_key ORDER BY id",
	[PUT_AUDIT] = "INSERT INTO audit (time_ms, uid, user, act, job, target,"
		      " owner, text) VALUES (?,?,?,?,?,?,?,?)",
	[PURGE_AUDIT] = "DELETE FROM audit WHERE id IN (SELECT id FROM audit"
			" WHERE time_ms < ? ORDER BY time_ms LIMIT ?)",
	[PUT_STEPS] = "INSERT OR REPLACE INTO step (job, attempt, record)"
		      " VALUES (?,?,?)",
	[GET_STEPS] = "SELECT record FROM step JOIN job ON job.id = step.job"
		      " AND job.attempt = step.attempt WHERE step.job = ?",
	[PURGE_STEPS] =
	    "DELETE FROM step WHERE job IN (SELECT id FROM job"
	    " WHERE state >= 5 AND end_time < ? ORDER BY end_time, id LIMIT ?)",
	[ADD_TOTAL] = "INSERT INTO usage (user, queue, cpu_ms, gpu_ms, jobs)"
		      " VALUES (?1,?2,?3,?4,?5) ON CONFLICT DO UPDATE SET"
		      " cpu_ms = cpu_ms + ?3, gpu_ms = gpu_ms + ?4,"
		      " jobs = jobs + ?5",
	[LOAD_TOTALS] = "SELECT user, queue, cpu_ms, gpu_ms, jobs FROM usage"
			" WHERE (user, queue) > (?1, ?2)"
			" ORDER BY user, queue LIMIT ?3",
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
	[PUT_CRON] = "INSERT OR REPLACE INTO cron (" CRON_COLUMNS ") VALUES ("
		     "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[DEL_CRON] = "DELETE FROM cron WHERE id = ?",
	[LOAD_CRON] = "SELECT " CRON_COLUMNS " FROM cron ORDER BY id",
	[PUT_CRON_FILE] = "INSERT OR REPLACE INTO cron_file (uid, text)"
			  " VALUES (?,?)",
	[DEL_CRON_FILE] = "DELETE FROM cron_file WHERE uid = ?",
	[LOAD_CRON_FILES] = "SELECT uid, text FROM cron_file",
	[PAST_JOB] = "SELECT state, uid, start_time FROM job"
		     " WHERE id = ? AND state >= 5 AND tasks IS NULL",
	[PAST_TASK] = "SELECT state, uid, start_time, tasks FROM job"
		      " WHERE " SQL_OF_TASK " AND state >= 5",
	/* For an array: its worst final state (the higher, the worse; 5 is
	 * COMPLETED), its uid and the last start of its tasks. The index
	 * job_array_end has the last start for each state; without likelihood()
	 * SQLite would read all rows with a state from 5 on. */
	[PAST_ARRAY] =
	    "WITH RECURSIVE s (n) AS (VALUES (5) UNION ALL SELECT n + 1 FROM s"
	    " WHERE n < (SELECT max(state) FROM job WHERE " SQL_OF_ARRAY
	    " AND state >= 5))"
	    " SELECT (SELECT max(state) FROM job WHERE " SQL_OF_ARRAY
	    " AND state >= 5),"
	    " (SELECT uid FROM job WHERE " SQL_OF_ARRAY
	    " AND state >= 5 LIMIT 1),"
	    " max((SELECT max(start_time) FROM job WHERE " SQL_OF_ARRAY
	    " AND state >= 5 AND likelihood(state = n, 0.001)))"
	    " FROM s",
	[ENDED_JOB] = "SELECT state, exit_code, signal, array_task, tasks,"
		      " array_id FROM job WHERE id = ? AND state >= 5",
	/* The + keeps SQLite from using the index job_array_end. */
	[ENDED_PARTS] = "SELECT state, exit_code, signal, array_task, tasks"
			" FROM job WHERE " SQL_OF_ARRAY
			" AND array_task IS NULL AND +state >= 5",
	[ENDED_TASKS] = "SELECT state, exit_code, signal, array_task, tasks"
			" FROM job WHERE " SQL_OF_ARRAY
			" AND array_task BETWEEN ?2 AND ?3 AND state >= 5"
			" ORDER BY array_task LIMIT ?4",
	[HAS_JOB] =
	    "SELECT 1 FROM job WHERE " SQL_OF_JOB " AND state >= 5 LIMIT 1",
	[OTHERS_FAILED] =
	    "SELECT 1 FROM (SELECT state FROM job WHERE " SQL_OF_ARRAY
	    " AND state >= 5 AND id <> ?2 ORDER BY state DESC LIMIT 1)"
	    " WHERE state > 5",
	[PUT_LETTER] = "INSERT INTO outbox (made, due, tries, held, uid,"
		       " recipient, event, subject, body)"
		       " VALUES (?1,?1,0,0,?2,?3,?4,?5,?6)",
	[COUNT_LETTERS] = "SELECT count(*) FROM outbox",
	[COUNT_USER_LETTERS] = "SELECT count(*) FROM outbox WHERE uid = ?",
	/* A mail that is due more than two hours from now counts as due,
	 * because the clock must have been set back. */
	[DUE_LETTERS] = "SELECT id, made, tries, held, uid, recipient, event,"
			" subject, body FROM outbox"
			" WHERE (due <= ?1 OR due > ?1 + 7200)"
			" AND recipient NOT IN (?2, ?3)"
			" ORDER BY due, id LIMIT 1",
	[WHEN_LETTERS] = "SELECT min(due) FROM outbox",
	[GET_LETTERS] = "SELECT id, made, subject FROM outbox WHERE uid = ?1"
			" AND recipient = ?2 AND held ORDER BY id LIMIT ?3",
	[HOLD_LETTERS] = "UPDATE outbox SET held = 1, due = ?2 WHERE uid = ?1"
			 " AND due < ?2",
	[RETRY_LETTERS] = "UPDATE outbox SET tries = tries + 1, due = ?5"
			  " WHERE uid = ?1 AND recipient = ?2 AND id <= ?3"
			  " AND (id = ?3 OR (?4 AND held))",
	[DEL_LETTERS] = "DELETE FROM outbox WHERE uid = ?1 AND recipient = ?2"
			" AND id <= ?3 AND (id = ?3 OR (?4 AND held))",
	[LIST_OLD] = "SELECT id FROM job WHERE state >= 5 AND end_time < ?"
		     " ORDER BY end_time, id LIMIT ?",
	[PURGE_JOBS] = "DELETE FROM job WHERE id IN (SELECT id FROM job"
		       " WHERE state >= 5 AND end_time < ?"
		       " ORDER BY end_time, id LIMIT ?)",
	[OLD_BLOBS] =
	    "WITH old AS (SELECT script, env FROM job WHERE state >= 5"
	    " AND end_time < ? ORDER BY end_time, id LIMIT ?)"
	    " SELECT script FROM old UNION SELECT env FROM old"
	    " EXCEPT SELECT * FROM (" BLOBS_OF_CRON ")",
	[SWEEP_END] = "SELECT max(id), count(*) FROM (SELECT id FROM blob"
		      " WHERE id > ? ORDER BY id LIMIT ?)",
	[SWEEP_BLOBS] =
	    "DELETE FROM blob WHERE id > ? AND id <= ?"
	    " AND " NO_JOB_USES("blob.id") " AND id NOT IN (" BLOBS_OF_CRON ")",
	[PURGE_BLOB] = "DELETE FROM blob WHERE id = ?1 AND " NO_JOB_USES("?1"),
};

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
 * Packed requests name fields by their indexes in spec_fields. Check that the
 * indexes are still valid: the list of fields that the database has must be the
 * beginning of the present list. Then store the present list.
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
	was = was ? was : "";
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

/* Load the id of the database, after giving it a random one if it has none. */
static int load_id(struct store *store, struct err *err)
{
	const char *id = NULL;
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
	if (found > 0 && db_text_of(&s, 0, &id, err) == 0)
		store->id = xstrdup(id);
	else if (found > 0)
		err_wrap(err, "meta 'id'");
	sqlite3_reset(s.s);
	return store->id ? 0 : -1;
}

static int64_t size_of(const char *path, const char *suffix)
{
	char *name = xasprintf("%s%s", path, suffix);
	struct stat st;
	int64_t size = stat(name, &st) == 0 ? (int64_t)st.st_size : 0;

	free(name);
	return size;
}

/* The key in table meta of where the database is open; "" once it is closed. */
static const char opened_key[] = "opened";

static int put_opened(struct store *store, const char *boot, struct err *err)
{
	struct stmt s = db_use(&store->db, PUT_META);

	db_text(&s, 1, opened_key);
	db_text(&s, 2, boot);
	return db_run(&store->db, &s, err);
}

/* Look for damage if there may be some, and note that the database is open. */
static int check_damage(struct store *store, struct err *err)
{
	struct stmt s = db_use(&store->db, GET_META);
	const char *opened = NULL;
	char boot[BOOT_ID];

	damage_boot(boot);
	db_text(&s, 1, opened_key);
	if (db_step(&store->db, &s, NULL) > 0)
		opened = db_col_text(&s, 0);
	store->suspect =
	    damage_is_possible(size_of(store->path, ""), opened, boot);
	sqlite3_reset(s.s);
	if (store->suspect && check(&store->db, err) < 0)
		return -1;
	if (put_opened(store, boot, err) < 0)
		return -1;
	store->opened = true;
	return 0;
}

static int prepare(struct store *store, struct err *err)
{
	static const char *const pragmas =
	    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
	    "PRAGMA wal_autocheckpoint = 0; PRAGMA temp_store = MEMORY;"
	    "PRAGMA cache_size = -16384;";

	if (store_migrate(&store->db, err) < 0 ||
	    db_exec(&store->db, pragmas, err) < 0 ||
	    check_damage(store, err) < 0 || check_fields(store, err) < 0 ||
	    load_id(store, err) < 0 || store_load_archive(store, err) < 0)
		return -1;
	return db_get_i64(&store->db,
	                  "SELECT coalesce(max(id), 0) + 1 FROM blob",
	                  &store->next_blob, err);
}

/* Let only the owner read the files of the database: a restored copy may be
 * readable by all. SQLite creates missing ones with the mode of the first. If a
 * mode cannot be changed, the database is another user's, and opening it
 * fails. */
static void close_to_others(const struct store *store)
{
	static const char *const end[] = { "", "-wal", "-shm" };

	for (size_t i = 0; i < ARRAY_SIZE(end); i++) {
		char *path = xasprintf("%s%s", store->path, end[i]);

		(void)chmod(path, 0600);
		free(path);
	}
}

/* Open and prepare the database. The file contains scripts and environments, so
 * only its owner may read it. */
static int open_db(struct store *store, struct err *err)
{
	mode_t was = umask(077);
	int result;

	close_to_others(store);
	result = db_open(&store->db, store->path, false, store->sql, NSQL, err);
	if (result == 0)
		result = prepare(store, err);
	umask(was);
	return result;
}

static const char *const file_end[] = { "", "-wal" };

/* Returns the file at the path with this end; all is 0 if there is none. */
static struct file_id file_at(const struct store *store, const char *end)
{
	char *path = xasprintf("%s%s", store->path, end);
	struct file_id id = { 0 };
	struct stat st;

	if (stat(path, &st) == 0)
		id = (struct file_id){ st.st_dev, st.st_ino };
	free(path);
	return id;
}

int store_check_files(const struct store *store, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(file_end); i++) {
		struct file_id id = file_at(store, file_end[i]);

		if (id.dev != store->file[i].dev ||
		    id.ino != store->file[i].ino)
			return err_set(err, ESTALE,
			               "'%s%s' was removed or replaced while "
			               "the daemon has it open",
			               store->path, file_end[i]);
	}
	return 0;
}

struct store *store_open(const char *state_dir, bool accept_loss,
                         struct err *err)
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
	store->commits_fd = -1;
	if (open_db(store, err) < 0 ||
	    loss_check(store, state_dir, accept_loss, err) < 0) {
		err_wrap(err, "database '%s'", store->path);
		store_close(store);
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(file_end); i++)
		store->file[i] = file_at(store, file_end[i]);
	space_in_chunks(store->db.sql, store->path);
	space_reserve(store);
	store->checkpoints = checkpoints_start(store->db.sql, store->path);
	return store;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	checkpoints_stop(store->checkpoints);
	if (store->opened)
		put_opened(store, "", NULL);
	if (store->db.sql)
		db_close(&store->db);
	if (store->commits_fd >= 0)
		close(store->commits_fd);
	blob_forget_new(store);
	free(store->blob);
	attempt_forget_holder(store);
	audit_forget_new(store);
	free(store->audit);
	steps_forget_new(store);
	free(store->steps);
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

void store_stats(const struct store *store, struct store_stats *ret)
{
	*ret = store->stats;
	ret->bytes = size_of(store->path, "");
	ret->wal_bytes = size_of(store->path, "-wal");
}
