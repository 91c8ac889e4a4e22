/*
 * job.h - one job, as the daemon remembers it
 *
 * A record is one job: a plain one, one task of an array, or the part of an
 * array that has not started (tasks not empty), whatever its size. Tasks of
 * that part become new records when they start or are treated separately. The
 * request is kept packed, with the given fields only, because a million jobs
 * may wait.
 */
#ifndef AISCHEDD_STATE_JOB_H
#define AISCHEDD_STATE_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "aischedd/run/runner.h"
#include "aischedd/sched/plan.h"
#include "libcommon/dependency.h"
#include "libcommon/idset.h"
#include "libcommon/jobid.h"
#include "libcommon/names.h"
#include "libcommon/parse.h"
#include "libcommon/spec/spec.h"

enum hold { HOLD_NONE, HOLD_USER, HOLD_ADMIN };

/* Why a COMPLETING job was stopped; this decides what comes next. */
enum cause {
	CAUSE_NONE,
	CAUSE_CANCEL,
	CAUSE_TIME_LIMIT,
	CAUSE_REQUEUE,
	CAUSE_PREEMPT,
	CAUSE_DEADLINE,
	CAUSE_FAILURE, /* the job or its node failed; requeue the job */
	CAUSE_IDLE     /* its GPUs were idle for too long */
};

/* Where the tasks of a job run and what they hold; all in one block of the
 * heap. */
struct placement {
	uint32_t ntasks;
	struct snap_task *task; /* [ntasks + 1]; node: index in the state */
	struct snap_cpu_use *cpu_use;
};

/* Nodes held for a job, one a task, until evicted jobs have ended there. */
struct held {
	uint64_t serial; /* of the last plan that named the claim */
	uint32_t n;
	uint32_t node[]; /* indices in the state */
};

/* The times of the job's last evictions, the latest at the end. */
struct evictions {
	uint32_t n;
	int64_t at[];
};

struct ledger;
struct row;
struct placed_key;

struct job {
	uint64_t id;
	uint64_t array;     /* id of the array, 0: none */
	struct idset tasks; /* the unstarted part of an array; empty: one job */
	/* start of its waiting time, moved later by the time that the job ran;
	 * NO_TIME: not eligible yet, or held by its user */
	int64_t eligible;
	uint32_t task;        /* its index in the array, or NO_TASK */
	struct job *all_next; /* in order of ids */

	struct job *all_prev;
	struct row *row; /* the row it is in, if eligible and pending */
	struct job *row_prev,
	    *row_next; /* list of the row, or of all placed jobs */

	uint32_t user, queue; /* indices in the state */
	uint32_t uid, gid;
	uint8_t state, hold, cause,
	    why; /* enums; why: the reason of an ended job */
	bool dirty, is_new, wants_resume, signalled;
	bool gpus_idle;     /* 1: for longer than its queue allows */
	bool came_back;     /* 1: requeued after the store had its end */
	bool reserved;      /* 1: it names a reservation */
	bool claims;        /* 1: it mounts volume claims */
	bool adopted;       /* 1: others made it as a Job in its cluster */
	bool preemptible;   /* as its class says */
	uint8_t on_preempt; /* enum preempt_how: as its queue says */
	uint8_t evict;      /* enum evict: why it was last evicted */
	uint8_t aside;      /* enum reason: why it is in no row */
	uint64_t cron;      /* its entry of recurring work, 0: none */
	uint64_t evict_by;  /* the job it was last evicted for, 0: none */

	uint32_t attempt; /* counts from 1; 0: never started */
	uint32_t restarts, preemptions, start_fails;
	uint32_t replaced; /* its failed tasks that were started again */
	/* mail types already sent for this attempt, one bit each; only types
	 * that are sent once an attempt */
	uint32_t mailed;
	int64_t priority;   /* of its class or as asked, less nice */
	int64_t time_limit; /* seconds or TIME_UNLIMITED */
	int64_t grace;      /* seconds */
	int64_t submit, begin, deadline; /* NO_TIME: none */
	int64_t start, end; /* of this attempt; planned or actual */
	int64_t resumed;    /* start or last resumption; NO_TIME: the job is not
	                       running */
	int64_t ran;        /* seconds it ran before `resumed` */
	int64_t served;     /* seconds in attempts that ended by eviction */
	int64_t charge;     /* rate of charge for what it holds: usage.h */
	int64_t mem_default; /* MiB a CPU, for a job that asked for no memory */
	int64_t retry_at;    /* not before this time, after a failed start */
	int64_t script, env; /* ids of blobs in the store */

	int32_t exit_code, signal; /* -1: not known or not ended */
	int64_t cpu_ms, peak_mem_kib;
	struct ledger *ledger; /* NULL: it never had nodes */
	char *acts;            /* the last acts on it: acts.h; NULL: none */
	char *text;            /* remark for its user, or NULL */

	char *packed; /* spec_pack() */
	struct placement *place;
	struct placement *leaving; /* tasks that are being evicted */
	int64_t leave_by;   /* when `leaving`, or the job, should be gone */
	uint32_t resize;    /* counts the times that tasks were told to end */
	struct held *claim; /* NULL: none */
	struct evictions *evictions; /* NULL: none */
	/* its row key while placed; made on demand: row.c */
	struct placed_key *key;
	char *last_place; /* placement of an ended job, as text */
	struct deps *deps;

	struct job *array_prev,
	    *array_next; /* list of the records of its array */
	struct job *name_prev,
	    *name_next; /* list of jobs of the same user and name */
	uint64_t name_key;
};

/* Pack the given fields into one block of the heap; texts end with a zero byte.
 */
char *spec_pack(const struct spec *spec);

/* For the store: the number of the packed bytes; whether given bytes are valid.
 */
size_t spec_packed_size(const char *packed);
bool spec_packed_check(const void *data, size_t size);

/* Unpack; strings point into the block. */
void spec_unpack(struct spec *ret, const char *packed);

/* How many jobs the record stands for. */
uint32_t job_count(const struct job *job);

/* Whether the job holds nodes. */
bool job_is_placed(const struct job *job);

/* When its time limit ends, for plans, or NO_TIME. */
int64_t job_due(const struct job *job);

/* When this attempt is stopped for its time limit, or NO_TIME. */
int64_t job_limit_at(const struct job *job);

/* Returns the latest time at which a pending job can start and still run for
 * its whole time limit before its deadline; the deadline itself if the job is
 * not pending or has no time limit; NO_TIME if it has no deadline. */
int64_t job_latest_at(const struct job *job);

/* Seconds it ran up to now or its end, without suspension. */
int64_t job_elapsed(const struct job *job, int64_t now);

/* Copy both arrays into one block. */
struct placement *placement_new(uint32_t ntasks, const struct snap_task *task,
                                const struct snap_cpu_use *cpu_use);
/* Join the tasks of both; either may be NULL. */
struct placement *placement_join(const struct placement *a,
                                 const struct placement *b);
/* Copy the tasks with these ascending indices; others: copy all but these. */
struct placement *placement_part(const struct placement *place,
                                 const uint32_t *task, uint32_t n, bool others);
/* Copy all tasks but the first n. */
struct placement *placement_rest(const struct placement *place, uint32_t n);
void job_free(struct job *job); /* NULL is allowed */

/* Format "12", "12_3" or "12_[0-9%2]"; limit is the array's, 0: none. */
void job_display_id(const struct job *job, uint32_t limit, struct buf *out);

#endif
