/* migrate.c - the schema of the database, as steps from version to version */
#include "aischedd/store/migrate.h"

#include <stdio.h>

#include "aischedd/state/cluster/ledger.h"
#include "libcommon/mem.h"

/* "aisc" in ASCII: marks a database file as one of aischedd. */
#define APPLICATION_ID 0x61697363

/*
 * Step i brings a database of version i to version i + 1. Never change a step
 * that was released: add another one. tests/unit/store/ has a database of each
 * old version, which the tests open.
 */
static const char *const steps[] = {
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE job ("
	" id INTEGER PRIMARY KEY, array_id INTEGER, array_task INTEGER,"
	" uid INTEGER, gid INTEGER, state INTEGER, hold INTEGER,"
	" cause INTEGER, reason INTEGER, wants_resume INTEGER,"
	" signalled INTEGER, attempt INTEGER, restarts INTEGER,"
	" preemptions INTEGER, start_fails INTEGER, priority INTEGER,"
	" time_limit INTEGER, grace INTEGER, mem_default INTEGER,"
	" submit_time INTEGER, eligible_time INTEGER, begin_time INTEGER,"
	" deadline INTEGER, start_time INTEGER, end_time INTEGER,"
	" resumed_time INTEGER, ran INTEGER, retry_time INTEGER,"
	" script INTEGER, env INTEGER, exit_code INTEGER, signal INTEGER,"
	" cpu_ms INTEGER, peak_mem_kib INTEGER,"
	" user TEXT, queue TEXT, tasks TEXT, text TEXT, place TEXT,"
	" depend TEXT,"
	" asked BLOB);"
	/* 5 is JOB_COMPLETED, the first final state. */
	"CREATE INDEX job_active ON job (id) WHERE state < 5;"
	"CREATE INDEX job_array ON job (array_id, array_task)"
	" WHERE array_id > 0;"
	"CREATE INDEX job_end ON job (end_time, id) WHERE state >= 5;"
	"CREATE TABLE array (id INTEGER PRIMARY KEY, max_running INTEGER,"
	" count INTEGER, min INTEGER, max INTEGER, step INTEGER,"
	" unfinished INTEGER, failed INTEGER, last_start INTEGER);"
	"CREATE TABLE blob (id INTEGER PRIMARY KEY, hash BLOB UNIQUE,"
	" data BLOB);"
	"CREATE TABLE token (token TEXT PRIMARY KEY, uid INTEGER,"
	" first_id INTEGER, count INTEGER, time INTEGER) WITHOUT ROWID;"
	"CREATE TABLE node (name TEXT PRIMARY KEY, pool TEXT,"
	" drained INTEGER, reason TEXT) WITHOUT ROWID;"
	"CREATE TABLE queue (name TEXT PRIMARY KEY, open INTEGER,"
	" configured INTEGER) WITHOUT ROWID;"
	"CREATE TABLE usage (user TEXT, queue TEXT, cpu_ms INTEGER,"
	" gpu_ms INTEGER, jobs INTEGER, PRIMARY KEY (user, queue))"
	" WITHOUT ROWID;",
	/* Decaying usage of queues: what each job is charged; for each user and
	 * queue the uid, the amount, and the time at which it was valid. */
	"ALTER TABLE job ADD COLUMN charge INTEGER DEFAULT 0;"
	"ALTER TABLE usage ADD COLUMN uid INTEGER;"
	"ALTER TABLE usage ADD COLUMN amount INTEGER DEFAULT 0;"
	"ALTER TABLE usage ADD COLUMN time INTEGER DEFAULT 0;",
	/* Evictions: why and for whom a job is evicted, which of its tasks end,
	 * the nodes held for a claimant, and the evictions of the last hour. */
	"ALTER TABLE job ADD COLUMN evict INTEGER DEFAULT 0;"
	"ALTER TABLE job ADD COLUMN evict_by INTEGER DEFAULT 0;"
	"ALTER TABLE job ADD COLUMN leaving TEXT;"
	"ALTER TABLE job ADD COLUMN claim TEXT;"
	"ALTER TABLE job ADD COLUMN evictions TEXT;",
	/* Reservations: nodes kept for some users, or for nobody. */
	"CREATE TABLE reservation (name TEXT PRIMARY KEY, start_time INTEGER,"
	" end_time INTEGER, repeat INTEGER, nodes TEXT, users TEXT,"
	" guests TEXT) WITHOUT ROWID;",
	/* Number of failed tasks of a job that were started again. */
	"ALTER TABLE job ADD COLUMN replaced INTEGER DEFAULT 0;",
	/* How long a job ran in attempts that were evicted. */
	"ALTER TABLE job ADD COLUMN served INTEGER DEFAULT 0;",
	/* Attempts: each job that has ended so far gets one, without the
	 * amounts it held, which were not recorded. Audit: acts on jobs,
	 * nodes, queues. */
	"CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT UNIQUE);"
	"CREATE TABLE attempt (job INTEGER, attempt INTEGER,"
	" array_id INTEGER, array_task INTEGER, uid INTEGER, user INTEGER,"
	" queue INTEGER, account INTEGER, pool INTEGER, class INTEGER,"
	" gpu_type INTEGER, nodes TEXT, tasks INTEGER, began_ms INTEGER,"
	" ended_ms INTEGER, ran_ms INTEGER, state INTEGER, reason INTEGER,"
	" cause INTEGER, evict INTEGER, evict_by INTEGER, exit_code INTEGER,"
	" signal INTEGER, held_cpu_ms INTEGER, held_mem_mib_s INTEGER,"
	" held_gpu_ms INTEGER, cpu_ms INTEGER, peak_mem_kib INTEGER,"
	" PRIMARY KEY (job, attempt)) WITHOUT ROWID;"
	"CREATE INDEX attempt_end ON attempt (ended_ms);"
	"INSERT OR IGNORE INTO name (text) SELECT DISTINCT user FROM job;"
	"INSERT OR IGNORE INTO name (text) SELECT DISTINCT queue FROM job;"
	"INSERT INTO attempt (job, attempt, array_id, array_task, uid, user,"
	" queue, began_ms, ended_ms, ran_ms, state, reason, cause, evict,"
	" exit_code, signal, cpu_ms, peak_mem_kib)"
	" SELECT job.id, attempt, nullif(array_id, 0), array_task, uid, u.id,"
	" q.id, start_time * 1000, end_time * 1000, ran * 1000, state, reason,"
	" cause, evict, exit_code, nullif(signal, 0), cpu_ms, peak_mem_kib"
	" FROM job JOIN name u ON u.text = user JOIN name q ON q.text = queue"
	" WHERE state >= 5 AND attempt > 0;"
	"ALTER TABLE job ADD COLUMN ledger TEXT;"
	"ALTER TABLE job ADD COLUMN acts TEXT;"
	"CREATE TABLE audit (id INTEGER PRIMARY KEY, time_ms INTEGER,"
	" uid INTEGER, user TEXT, act TEXT, job INTEGER, target TEXT,"
	" owner TEXT, text TEXT);"
	"CREATE INDEX audit_time ON audit (time_ms);"
	"CREATE INDEX audit_job ON audit (job) WHERE job IS NOT NULL;",
	/* The key of a node includes its pool: several pools may have a node of
	 * the same name. */
	"CREATE TABLE pool_node (name TEXT, pool TEXT, drained INTEGER,"
	" reason TEXT, PRIMARY KEY (pool, name)) WITHOUT ROWID;"
	"INSERT INTO pool_node SELECT name, pool, drained, reason FROM node"
	" WHERE pool IS NOT NULL;"
	"DROP TABLE node;"
	"ALTER TABLE pool_node RENAME TO node;",
	/* Recurring work: its entries, the files from which users imported some
	 * of them, and for each job the entry that started it. */
	"CREATE TABLE cron (id INTEGER PRIMARY KEY, uid INTEGER, gid INTEGER,"
	" user TEXT, asked BLOB, script INTEGER, env INTEGER, schedule TEXT,"
	" zone TEXT, policy INTEGER, make_up INTEGER, late INTEGER,"
	" jitter INTEGER, until_time INTEGER, created_time INTEGER,"
	" looked_time INTEGER, last_time INTEGER, last_job INTEGER,"
	" runs INTEGER, skipped INTEGER, missed INTEGER, refused INTEGER,"
	" paused INTEGER, imported INTEGER, reason TEXT);"
	"CREATE TABLE cron_file (uid INTEGER PRIMARY KEY, text INTEGER);"
	"ALTER TABLE job ADD COLUMN cron_id INTEGER DEFAULT 0;"
	"CREATE INDEX job_cron ON job (cron_id) WHERE cron_id > 0;",
	/* Job steps of ended attempts, as their shepherds recorded them. */
	("CREATE TABLE step (job INTEGER, attempt INTEGER, record BLOB,"
	 " PRIMARY KEY (job, attempt));"),
	/* Rollups: use by hour, day and month (levels 0 to 2). Attempts:
	 * `pieces` has the amounts held, each with its span of time; null for
	 * attempts that ended before this version. */
	"ALTER TABLE attempt ADD COLUMN cost INTEGER;"
	"ALTER TABLE attempt ADD COLUMN wait_ms INTEGER;"
	"ALTER TABLE attempt ADD COLUMN pieces TEXT;"
	"CREATE TABLE rollup_key (id INTEGER PRIMARY KEY, user TEXT,"
	" account TEXT, queue TEXT, class TEXT, pool TEXT, gpu_type TEXT,"
	" booked_ms INTEGER);"
	"CREATE TABLE rollup (level INTEGER, start INTEGER, key INTEGER,"
	" wait_max_ms INTEGER,"
	" held_cpu INTEGER, held_mem INTEGER, held_gpu INTEGER,"
	" cost INTEGER, cost_rest INTEGER, jobs INTEGER, waits INTEGER,"
	" wait_ms INTEGER, attempts INTEGER, completed INTEGER,"
	" failed INTEGER, cancelled INTEGER, timeout INTEGER,"
	" other INTEGER, evicted INTEGER, evicted_gpu_ms INTEGER,"
	" failed_gpu_ms INTEGER, cpu_used_ms INTEGER, cpu_known_ms INTEGER,"
	" mem_used_mib_s INTEGER, mem_known_mib_s INTEGER,"
	" PRIMARY KEY (level, start, key)) WITHOUT ROWID;"
	"CREATE TABLE rollup_wait (level INTEGER, start INTEGER, key INTEGER,"
	" bucket INTEGER, n INTEGER,"
	" PRIMARY KEY (level, start, key, bucket)) WITHOUT ROWID;",
	/* An index to find out how an array ended without reading each of
	 * its tasks. */
	("CREATE INDEX job_array_end ON job (array_id, state, start_time)"
	 " WHERE array_id > 0 AND state >= 5;"),
	/* Mails that have yet to be sent; which mails were written for a job's
	 * attempt; the lowest and highest exit status of an array's tasks. */
	"CREATE TABLE outbox (id INTEGER PRIMARY KEY, made INTEGER,"
	" due INTEGER, tries INTEGER, held INTEGER, uid INTEGER,"
	" recipient TEXT, event TEXT, subject TEXT, body TEXT);"
	"CREATE INDEX outbox_due ON outbox (due, id);"
	"CREATE INDEX outbox_uid ON outbox (uid, recipient);"
	"ALTER TABLE job ADD COLUMN mailed INTEGER DEFAULT 0;"
	"ALTER TABLE array ADD COLUMN exit_low INTEGER DEFAULT -1;"
	"ALTER TABLE array ADD COLUMN exit_high INTEGER DEFAULT -1;",
	/* Attempts: how long their GPUs were busy, and the GPU time for which
	 * that was measured. Rollups: sums of both. */
	"ALTER TABLE attempt ADD COLUMN gpu_busy_ms INTEGER;"
	"ALTER TABLE attempt ADD COLUMN gpu_known_ms INTEGER;"
	"ALTER TABLE attempt ADD COLUMN gpu_mem_mib INTEGER;"
	"ALTER TABLE attempt ADD COLUMN gpu_mem_total_mib INTEGER;"
	"ALTER TABLE rollup ADD COLUMN gpu_busy_ms INTEGER DEFAULT 0;"
	"ALTER TABLE rollup ADD COLUMN gpu_known_ms INTEGER DEFAULT 0;",
	/* Whether a node of a scale section is to be added or removed. */
	"ALTER TABLE node ADD COLUMN want INTEGER DEFAULT 0;"
	"ALTER TABLE node ADD COLUMN want_time INTEGER DEFAULT 0;",
	/* The namespace of a job's attempt in a cluster. Null until the runner
	 * has found an attempt that began before this version. */
	"ALTER TABLE job ADD COLUMN space TEXT;",
	/* Which jobs use a script or an environment: asked for those of each
	 * job that is purged. */
	"CREATE INDEX job_script ON job (script);"
	"CREATE INDEX job_env ON job (env);",
	/* Attempts in less space: one number says who held what where; pieces
	 * are packed; the cost follows from them, and the array from the job.
	 * How long the nodes were held, and how long of it the job did not
	 * run, are shorter numbers than when it began and how long it ran. */
	"CREATE TABLE holder (id INTEGER PRIMARY KEY, uid INTEGER, user TEXT,"
	" queue TEXT, account TEXT, class TEXT, pool TEXT, gpu_type TEXT,"
	" UNIQUE (uid, user, queue, account, class, pool, gpu_type));"
	"CREATE TEMP TABLE was AS SELECT row_number() OVER () AS id, *"
	" FROM (SELECT DISTINCT uid, user, queue, account, class, pool,"
	" gpu_type FROM attempt);"
	"CREATE INDEX temp.was_who ON was (uid, user, queue, account, class,"
	" pool, gpu_type);"
	"INSERT INTO holder SELECT was.id, uid, u.text, q.text,"
	" coalesce(a.text, ''), coalesce(c.text, ''), coalesce(p.text, ''),"
	" coalesce(g.text, '') FROM was LEFT JOIN name u ON u.id = user"
	" LEFT JOIN name q ON q.id = queue LEFT JOIN name a ON a.id = account"
	" LEFT JOIN name c ON c.id = class LEFT JOIN name p ON p.id = pool"
	" LEFT JOIN name g ON g.id = gpu_type;"
	"CREATE TABLE attempt_now (job INTEGER, attempt INTEGER,"
	" holder INTEGER, nodes TEXT, tasks INTEGER, ended_ms INTEGER,"
	" held_ms INTEGER, idle_ms INTEGER, state INTEGER, reason INTEGER,"
	" cause INTEGER, evict INTEGER,"
	" evict_by INTEGER, exit_code INTEGER, signal INTEGER,"
	" held_cpu_ms INTEGER, held_mem_mib_s INTEGER, held_gpu_ms INTEGER,"
	" cpu_ms INTEGER, peak_mem_kib INTEGER, gpu_busy_ms INTEGER,"
	" gpu_known_ms INTEGER, gpu_mem_mib INTEGER,"
	" gpu_mem_total_mib INTEGER, wait_ms INTEGER, pieces BLOB,"
	" PRIMARY KEY (job, attempt)) WITHOUT ROWID;"
	"INSERT INTO attempt_now SELECT job, attempt, was.id, nodes, tasks,"
	" ended_ms, ended_ms - began_ms, ended_ms - began_ms - ran_ms, state,"
	" reason, cause, evict, evict_by, exit_code, signal, held_cpu_ms,"
	" held_mem_mib_s, held_gpu_ms, cpu_ms, peak_mem_kib, gpu_busy_ms,"
	" gpu_known_ms, gpu_mem_mib, gpu_mem_total_mib, wait_ms,"
	" pack_pieces(pieces) FROM attempt a CROSS JOIN was ON"
	" (was.uid, was.user, was.queue, was.account, was.class, was.pool,"
	" was.gpu_type) IS"
	" (a.uid, a.user, a.queue, a.account, a.class, a.pool, a.gpu_type)"
	" ORDER BY job, attempt;"
	"DROP TABLE attempt; DROP TABLE name; DROP TABLE was;"
	"ALTER TABLE attempt_now RENAME TO attempt;"
	"CREATE INDEX attempt_end ON attempt (ended_ms);",
};

/* The SQL function pack_pieces(text) of a step: pieces as text, packed. */
static void pack_pieces(sqlite3_context *ctx, int n, sqlite3_value **value)
{
	const char *text = (const char *)sqlite3_value_text(value[0]);
	struct buf packed = { 0 };
	struct ledger_piece piece;

	(void)n;
	if (!text)
		return; /* null stays null */
	while (ledger_piece_parse(&text, &piece))
		ledger_piece_pack(&piece, &packed);
	sqlite3_result_blob(ctx, packed.len ? packed.data : "", (int)packed.len,
	                    SQLITE_TRANSIENT);
	buf_free(&packed);
}

/* Let steps call pack_pieces(). */
static int add_function(struct db *db, struct err *err)
{
	if (sqlite3_create_function(db->sql, "pack_pieces", 1, SQLITE_UTF8,
	                            NULL, pack_pieces, NULL, NULL) != SQLITE_OK)
		return db_fail(db, "cannot add a function", err);
	return 0;
}

static int one_step(struct db *db, int64_t version, struct err *err)
{
	char pragma[64];

	snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %lld",
	         (long long)version + 1);
	if (db_exec(db, "BEGIN IMMEDIATE", err) < 0)
		return -1;
	if (db_exec(db, steps[version], err) < 0 ||
	    db_exec(db, pragma, err) < 0 || db_exec(db, "COMMIT", err) < 0) {
		db_exec(db, "ROLLBACK", NULL);
		return -1;
	}
	return 0;
}

int store_migrate(struct db *db, struct err *err)
{
	const int64_t known = ARRAY_SIZE(steps);
	int64_t id, version, pages;
	char pragma[64];

	if (db_get_i64(db, "PRAGMA application_id", &id, err) < 0 ||
	    db_get_i64(db, "PRAGMA user_version", &version, err) < 0 ||
	    db_get_i64(db, "PRAGMA page_count", &pages, err) < 0)
		return -1;
	if (pages > 0 && id != APPLICATION_ID)
		return err_set(err, EINVAL,
		               "is a database, but not one of aischedd");
	if (version > known)
		return err_set(err, EINVAL,
		               "was written by a newer aischedd (schema %lld, "
		               "this one knows %lld): upgrade, or use another "
		               "state_dir",
		               (long long)version, (long long)known);
	if (add_function(db, err) < 0)
		return -1;
	if (pages == 0) {
		snprintf(pragma, sizeof(pragma), "PRAGMA application_id = %d",
		         APPLICATION_ID);
		if (db_exec(db, pragma, err) < 0)
			return -1;
	}
	for (; version < known; version++)
		if (one_step(db, version, err) < 0)
			return err_wrap(err, "to schema %lld",
			                (long long)version + 1);
	return 0;
}
