/*
 * store.h - the daemon's database: everything that must survive a restart
 *
 * One SQLite database, written in one transaction in each turn of the daemon's
 * loop. It uses a write-ahead log (WAL) with synchronous=FULL: what
 * store_commit() wrote is on disk when it returns. All functions are called on
 * the loop's thread, except store_history() and store_attempts(), which open a
 * connection of their own. A thread of the store makes checkpoints.
 *
 * Tables: job (one row for each record, active or ended), array, blob (scripts
 * and environments by content), token (submissions by their client's token),
 * node, queue, usage, reservation, meta and others, see README.md. migrate.c
 * has the schema as numbered steps.
 */
#ifndef AISCHEDD_STORE_STORE_H
#define AISCHEDD_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/state/state.h"
#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/histogram.h"

struct store;

/*
 * Open or create state_dir/aisched.db, bring it to this version's schema and
 * check it. accept_loss: also open a database that lacks commits that it
 * once had.
 * Returns NULL and sets *err: EINVAL if the file is not a database of
 * aischedd, is corrupt, is newer than this program, or lacks commits; EIO,
 * EACCES or ENOSPC.
 */
struct store *store_open(const char *state_dir, bool accept_loss,
                         struct err *err);
void store_close(struct store *store); /* NULL is allowed */

/* Returns the random id that this database got when it was created; copies of
 * the file have the same id. Valid while the store is open. */
const char *store_id(const struct store *store);

/* Load into the state all jobs and arrays that have not ended, and nodes,
 * queues, usage, reservations, cron entries and rollups. */
int store_load(struct store *store, struct state *state, int64_t now,
               struct err *err);

/* --- commits ----------------------------------------------------------- */

/*
 * Write in one transaction everything that changed in the state, and what other
 * calls kept for this commit (such as store_blob(), store_audit(),
 * store_steps()); then call state_committed(). On failure nothing is written,
 * and all of it is kept for the next call. After ENOSPC a later call may
 * succeed, and after ESTALE (see store_check_files()); after any other failure,
 * later calls would fail, too.
 */
int store_commit(struct store *store, struct state *state, struct err *err);

/* Fails with ESTALE if the opened database or its -wal file is not found at its
 * path, because somebody has removed, moved or replaced it: the next start of
 * the daemon would not find what is committed. The files stay open, so commits
 * may go on if they are moved back. */
int store_check_files(const struct store *store, struct err *err);

/* The clocks of the machine, from which the next start of the daemon sees
 * whether the wall clock was set in between. */
struct store_clock {
	int64_t boot; /* differs for each boot of the machine; 0: not known */
	int64_t ahead_ms; /* wall clock less the clock since boot */
	int64_t wall_ms;
};

/* Write these clocks with the next commit, if there is one. */
void store_set_clock(struct store *store, const struct store_clock *clock);

/* --- queries ----------------------------------------------------------- */

/* Get the clocks that the last commit wrote; all are 0 if none were written. */
int store_last_clock(struct store *store, struct store_clock *ret,
                     struct err *err);

/* Whether the database has an ended job with this id, or an array with this id
 * of which a task has ended. */
bool store_has(struct store *store, uint64_t id);

/* A job as the database has it; usually an ended one. */
struct past_job {
	struct job job;       /* strings are borrowed for the call */
	struct job_runs runs; /* job.runs points to it */
	const char *user, *queue;
	/* where the job ran, in the format of state_placement_format(),
	 * or NULL */
	const char *place;
};

struct history_query {
	bool ended_only;   /* list only ended jobs; false: active ones, too */
	bool newest_first; /* in descending order of end and id */
	bool unordered;    /* list rows in any order, without sorting */
	/* bounds of the job's end, both included; NO_TIME: no bound */
	int64_t since, until;
	uint64_t id;   /* only this job, or all tasks of this array; 0: any */
	uint32_t task; /* with id: only this task, or NO_TASK */
	uint64_t cron; /* only the runs of this cron entry; 0: any job */
	/* continue after the row with this end time and after_id; NO_TIME: from
	 * the first row. Seconds for jobs, milliseconds for attempts. */
	int64_t after;
	uint64_t after_id;
	int64_t after_attempt; /* for attempts: number of the last one seen */
	size_t limit;
	/* Called after the last row, unless NULL. If it returns true, the query
	 * is run again over the same connection, for the `id` and `task` that
	 * it has set. It may not begin or cease to set a task, or `after`. */
	bool (*next)(void *arg);
};

typedef void past_job_fn(const struct past_job *past, void *arg);

/*
 * Call fn for each job that the query selects, in order of end time, then id,
 * or in the reverse order. Thread safe: reads with a connection of its own.
 */
int store_history(const char *path, const struct history_query *query,
                  past_job_fn *fn, void *arg, struct err *err);

/* An attempt that has ended. Texts are borrowed for the call, or NULL; numbers
 * that are not known are SPEC_UNSET. state: the job's state after the attempt;
 * JOB_PENDING if the job was requeued. */
struct past_attempt {
	uint64_t job, array;
	uint32_t array_task; /* NO_TASK: not of an array */
	int64_t attempt, uid;
	const char *user, *queue, *account, *pool, *class, *gpu_type, *nodes;
	int64_t tasks, began_ms, ended_ms, ran_ms;
	int64_t state, why, evict, evict_by, exit_code, signal;
	int64_t held[RES_N]; /* as in struct ledger_sum */
	int64_t cpu_ms, peak_kib;
	int64_t cost;       /* millionths of the currency */
	struct gpu_use gpu; /* 0 where nothing is known */
};

typedef void past_attempt_fn(const struct past_attempt *past, void *arg);

/* Call fn for each ended attempt that the query selects, in order of end
 * time, then job and attempt number. Thread safe: reads with a connection of
 * its own. */
int store_attempts(const char *path, const struct history_query *query,
                   past_attempt_fn *fn, void *arg, struct err *err);

const char *store_path(const struct store *store);

struct store_stats {
	uint64_t commits;
	int64_t bytes, wal_bytes;
	int64_t archived; /* when ended jobs were last archived; 0: never */
	double commit_ms_last, commit_ms_max, commit_ms_sum;
	struct histogram commit_s; /* durations; bounds: histogram_steps */
};
void store_stats(const struct store *store, struct store_stats *ret);

#endif
