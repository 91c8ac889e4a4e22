/*
 * own.h - the open store and its SQL statements, for the files of store/
 */
#ifndef AISCHEDD_STORE_OWN_H
#define AISCHEDD_STORE_OWN_H

#include <sha2.h>
#include <sys/types.h>

#include "aischedd/state/cluster/ledger.h"
#include "aischedd/store/audit.h"
#include "aischedd/store/checkpoint.h"
#include "aischedd/store/db.h"
#include "aischedd/store/store.h"
#include "libcommon/log.h"
#include "libcommon/map.h"

/* Indexes of the store's prepared statements; store.c has their SQL. */
enum sql {
	BEGIN,
	COMMIT,
	PUT_JOB,
	DEL_JOB,
	LOAD_JOBS,
	LOST_JOBS,
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
	DROP_EXPECTED,
	DROP_NODE,
	LOAD_NODES,
	PUT_QUEUE,
	LOAD_QUEUES,
	PUT_HOLDER,
	FIND_HOLDER,
	PUT_ATTEMPT,
	COUNT_OLD,
	NOTE_PURGE,
	LAST_HOUR,
	NOTE_HOURS,
	PURGE_HOURS,
	PURGE_HOUR_WAITS,
	PURGE_ATTEMPTS,
	PUT_ROLLUP_KEY,
	PUT_ROLLUP,
	PUT_ROLLUP_WAIT,
	LOAD_ROLLUPS,
	PUT_AUDIT,
	PURGE_AUDIT,
	PUT_STEPS,
	GET_STEPS,
	PURGE_STEPS,
	ADD_TOTAL,
	LOAD_TOTALS,
	PUT_USAGE,
	LOAD_USAGE,
	DEL_RESERVATIONS,
	PUT_RESERVATION,
	LOAD_RESERVATIONS,
	PUT_CRON,
	DEL_CRON,
	LOAD_CRON,
	PUT_CRON_FILE,
	DEL_CRON_FILE,
	LOAD_CRON_FILES,
	PUT_LETTER,
	COUNT_LETTERS,
	COUNT_USER_LETTERS,
	DUE_LETTERS,
	WHEN_LETTERS,
	GET_LETTERS,
	HOLD_LETTERS,
	RETRY_LETTERS,
	DEL_LETTERS,
	PAST_JOB,
	PAST_TASK,
	PAST_ARRAY,
	ENDED_JOB,
	ENDED_PARTS,
	ENDED_TASKS,
	HAS_JOB,
	OTHERS_FAILED,
	LIST_OLD,
	PURGE_JOBS,
	OLD_BLOBS,
	PURGE_BLOB,
	SWEEP_END,
	SWEEP_BLOBS,
	NSQL
};

/* Scripts, environments and tokens of submissions that the next
 * commit writes. */
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

/* The record of an attempt's steps that the next commit writes. */
struct new_steps {
	uint64_t job;
	uint32_t attempt;
	struct buf text;
};

/* The texts of a row of table `holder`, which says who held something in which
 * queue and pool; "" where there is none. */
enum {
	HOLDER_USER,
	HOLDER_QUEUE,
	HOLDER_ACCOUNT,
	HOLDER_CLASS,
	HOLDER_POOL,
	HOLDER_GPU,
	HOLDER_TEXTS
};
struct attempt_holder {
	int64_t id;
	uint32_t uid;
	char *text[HOLDER_TEXTS]; /* each NULL: nothing is known */
};

struct store {
	struct db db;
	struct store_clock clock;
	int64_t commits;   /* number of the last commit, see loss.h */
	int commits_fd;    /* the open file state_dir/commits */
	uint64_t last_ran; /* job ids up to this one are never given out */
	char *path, *id;
	/* the opened database and its -wal file, see store_check_files() */
	struct file_id {
		dev_t dev;
		ino_t ino;
	} file[2];
	const char *sql[NSQL];
	char *put_job, *load_jobs;
	int64_t next_blob;
	struct new_blob *blob;
	size_t nblobs, blob_cap;
	/* ids of stored blobs that store_blob() returned for jobs that no
	 * commit has written yet: purges must not delete these blobs */
	struct map lent;
	struct audit_row *audit;
	size_t naudits, audit_cap;
	struct log_limit audits_lost;
	struct new_steps *steps;
	size_t nsteps, steps_cap;
	struct new_token *token;
	size_t ntokens, token_cap;
	struct attempt_holder holder; /* that of the attempt written last */
	bool opened;                  /* the database says that it is open */
	bool suspect;          /* the database may be damaged, see damage.h */
	bool outbox_known;     /* `letters` is the present count */
	bool outbox_news;      /* letters were added since outbox_has_news() */
	int64_t letters;       /* number of letters in the outbox */
	uint64_t letters_lost; /* letters dropped because the outbox was full */
	struct store_stats stats;
	struct checkpoints *checkpoints;
};

/* ended.c: delete blobs that nothing names. Purges delete those of the jobs
 * that they remove; others may be left, as those of deleted cron entries. Looks
 * at a bounded number of blobs, from where the last call ended. If the disk is
 * full, they stay until a later start. */
void ended_sweep_blobs(struct store *store);

/* attempt.c: write an ended attempt, and add what it held to the totals of its
 * user and queue. */
int attempt_put(struct store *store, const struct state *state,
                const struct attempt_row *row, struct err *err);
void attempt_forget_holder(struct store *store);

/* steps.c: write the records of steps that store_steps() kept; free them after
 * the commit. */
int steps_put_new(struct store *store, struct err *err);
void steps_forget_new(struct store *store);
/* rollup.c: add the amounts of a rollup that were not written yet (r->due and
 * r->wait) to its rows of hours, days and months. */
int rollup_put(struct store *store, const struct state *state,
               const struct rollup *r, struct err *err);
/* Write the long spans of time that are not booked yet (struct rollup_lag), as
 * one text in table `meta`. */
int rollup_put_lags(struct store *store, const struct changes *changes,
                    struct err *err);
/* Load what rollup_put_lags() wrote; call it after all rollups are loaded.
 * Fails with EINVAL if the text is not valid. */
int rollup_load_lags(struct store *store, struct state *state, struct err *err);

#endif
