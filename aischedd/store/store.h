/*
 * store.h - what must survive: one SQLite database, one transaction a turn
 *
 * WAL, synchronous=FULL: what store_commit() wrote is on disk when it returns.
 * Used by the loop's thread, except for store_history(), which opens a
 * connection of its own, and for checkpoints, which a thread of the store
 * makes.
 *
 * Tables: job (one row a record, active or ended), array, blob (scripts and
 * environments by content), token (submissions by their client's token), node,
 * queue, usage, reservation, meta. Migrations are numbered (migrate.c).
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
 * Open or make state_dir/aisched.db, bring it to this version's schema and
 * check it. accept_loss: also open a database that lacks something that was
 * once committed. Fails with EINVAL if it is not our database, corrupt, newer
 * than this program, or older than its last state; EIO, EACCES or ENOSPC.
 */
struct store *store_open(const char *state_dir, bool accept_loss,
                         struct err *err);
void store_close(struct store *store); /* NULL is allowed */

/* Returns the id of this database, which no other has; valid while the store is
 * open. */
const char *store_id(const struct store *store);

/* Load everything that has not ended, and the rest of the state. */
int store_load(struct store *store, struct state *state, int64_t now,
               struct err *err);

/* --- during a turn: kept for store_commit() ----------------------------- */

/*
 * Write what the calls above kept and what changed in the state, and tell the
 * state (state_committed()). On failure nothing is written and everything is
 * kept for the next call. Fails with ENOSPC; after any other failure the next
 * call would fail, too.
 */
int store_commit(struct store *store, struct state *state, struct err *err);

/* The clocks of the machine. */
struct store_clock {
	int64_t boot;     /* stands for the boot of the machine; 0: not known */
	int64_t ahead_ms; /* wall clock less the clock since boot */
	int64_t wall_ms;
};

/* Write these clocks with the next commit, if there is one. */
void store_set_clock(struct store *store, const struct store_clock *clock);

/* --- queries ----------------------------------------------------------- */

/* Get the clocks as of the last commit; all 0: none are known. */
int store_last_clock(struct store *store, struct store_clock *ret,
                     struct err *err);

/* Whether there is an ended job, or an array with an ended task, of this id. */
bool store_has(struct store *store, uint64_t id);

/* An ended job from the store. */
struct past_job {
	struct job job; /* strings are borrowed for the call */
	const char *user, *queue;
	const char *place; /* where it ran, in the format of
	                      state_placement_format(), or NULL */
};

struct history_query {
	bool ended_only;      /* false: also active jobs */
	bool newest_first;    /* by end and id, downwards */
	bool unordered;       /* rows come as they are found: no sorting */
	int64_t since, until; /* bounds of the end; NO_TIME: none */
	uint64_t id;          /* this job, or all of this array; 0: any */
	uint32_t task;        /* with id: only this task, or NO_TASK */
	uint64_t cron;        /* runs of this recurring work; 0: any job */
	int64_t after;        /* continue after this end and after_id */
	uint64_t after_id;
	int64_t after_attempt; /* of attempts: after is in milliseconds */
	size_t limit;
};

typedef void past_job_fn(const struct past_job *past, void *arg);

/*
 * List rows in order of their end, then id, or the other way round. Thread
 * safe: reads with a connection of its own.
 */
int store_history(const char *path, const struct history_query *query,
                  past_job_fn *fn, void *arg, struct err *err);

/* An attempt that is over. Texts are borrowed for the call, or NULL; what is
 * not known is SPEC_UNSET. state: of the job after it, see ledger.h. */
struct past_attempt {
	uint64_t job, array;
	uint32_t array_task; /* NO_TASK: not of an array */
	int64_t attempt, uid;
	const char *user, *queue, *account, *pool, *class, *gpu_type, *nodes;
	int64_t tasks, began_ms, ended_ms, ran_ms;
	int64_t state, why, evict, evict_by, exit_code, signal;
	int64_t held[RES_N]; /* struct ledger_sum */
	int64_t cpu_ms, peak_kib;
	int64_t cost;       /* millionths of the currency */
	struct gpu_use gpu; /* 0 where it is not known */
};

typedef void past_attempt_fn(const struct past_attempt *past, void *arg);

/* List attempts likewise, in order of their end, then job and number. */
int store_attempts(const char *path, const struct history_query *query,
                   past_attempt_fn *fn, void *arg, struct err *err);

const char *store_path(const struct store *store);

struct store_stats {
	uint64_t commits;
	int64_t bytes, wal_bytes;
	int64_t archived; /* when history was last archived; 0: never */
	double commit_ms_last, commit_ms_max, commit_ms_sum;
	struct histogram commit_s; /* histogram_steps */
};
void store_stats(const struct store *store, struct store_stats *ret);

#endif
