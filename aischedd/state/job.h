/*
 * job.h - one job, as the daemon remembers it
 *
 * A record is one job: a plain one, one task of an array, or that part of an
 * array which has not started (tasks not empty), whatever its size.  A part
 * gives up the tasks that start, or that are treated apart, to new records.
 *
 * What the user asked for is kept packed, only the fields that were given,
 * because a million jobs may wait.
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
#include "libcommon/spec.h"

enum hold { HOLD_NONE, HOLD_USER, HOLD_ADMIN };

/* Why a job that is COMPLETING was stopped; it decides what comes next. */
enum cause {
	CAUSE_NONE,
	CAUSE_CANCEL,
	CAUSE_TIME_LIMIT,
	CAUSE_REQUEUE,
	CAUSE_PREEMPT,
	CAUSE_DEADLINE,
	CAUSE_FAILURE /* of it or its node, and it is run again */
};

/* Where the tasks of a job run and what they hold; one allocation. */
struct placement {
	uint32_t ntasks;
	struct snap_task *task; /* [ntasks + 1]; node: index in the state */
	struct snap_cpu_use *cpu_use;
};

/* Nodes that are held for a job, one a task, while others leave them. */
struct held {
	uint64_t serial; /* of the last plan that wanted it so */
	uint32_t n;
	uint32_t node[]; /* indices in the state */
};

/* When it was evicted: the last times, the latest at the end. */
struct evictions {
	uint32_t n;
	int64_t at[];
};

struct ledger;
struct row;
struct placed_key;

struct job {
	/* First what each pass asks of each job that waits: there may be a
	 * million, and each line of memory counts. */
	uint64_t id;
	uint64_t array;       /* id of the array, 0: none */
	struct idset tasks;   /* the unstarted part; empty: one job */
	int64_t eligible;     /* since then; NO_TIME: it is not */
	uint32_t slot;        /* of its row; 0: it is in none */
	uint32_t task;        /* its number in the array, or NO_TASK */
	struct job *all_next; /* in order of ids */

	struct job *all_prev;
	struct row *row;                 /* eligible and pending: in this row */
	struct job *row_prev, *row_next; /* of the row, or of all that run */

	uint32_t user, queue; /* indices in the state */
	uint32_t uid, gid;
	uint8_t state, hold, cause, why; /* enums; why: an ended job's reason */
	bool dirty, is_new, wants_resume, signalled;
	bool reserved;      /* it names a reservation */
	bool adopted;       /* it is a Job that others made in its cluster */
	bool preemptible;   /* its class says */
	uint8_t on_preempt; /* enum preempt_how: its queue says */
	uint8_t evict;      /* enum evict: for others, the last time */
	uint64_t evict_by;  /* the job it was for, 0: none */

	uint32_t attempt; /* 0: never started */
	uint32_t restarts, preemptions, start_fails;
	uint32_t
	    replaced;     /* tasks of this attempt that failed, and run again */
	int64_t priority; /* class or asked, less nice */
	int64_t time_limit;              /* seconds or TIME_UNLIMITED */
	int64_t grace;                   /* seconds */
	int64_t submit, begin, deadline; /* NO_TIME: none */
	int64_t start, end;              /* of this attempt */
	int64_t resumed;     /* since when it runs without a break */
	int64_t ran;         /* seconds before that */
	int64_t served;      /* seconds in attempts that made room for others */
	int64_t charge;      /* of what it holds: usage.h */
	int64_t mem_default; /* MiB a CPU, for a job that asked for no memory */
	int64_t retry_at;    /* a start failed: not before this time */
	int64_t script, env; /* blobs of the store */

	int32_t exit_code, signal; /* -1: not ended */
	int64_t cpu_ms, peak_mem_kib;
	struct ledger *ledger; /* NULL: it never had nodes */
	char *acts;            /* who did what to it: acts.h; NULL: nobody */
	char *text;            /* what a person should know, or NULL */

	char *packed; /* spec_pack() */
	struct placement *place;
	struct placement *leaving;   /* tasks that were told to leave */
	int64_t leave_by;            /* they, or it, should be gone by then */
	uint32_t resize;             /* grows when some are told */
	struct held *claim;          /* NULL: none */
	struct evictions *evictions; /* NULL: none */
	struct placed_key *key;      /* with a place, once asked for: row.c */
	char *last_place;            /* of an ended job, as text */
	struct deps *deps;

	struct job *array_prev, *array_next; /* of the same array, likewise */
	struct job *name_prev, *name_next;   /* same user and name */
	uint64_t name_key;
};

/* The fields that are given, in one heap block; strings end with a zero. */
char *spec_pack(const struct spec *spec);

/* What the store keeps of it: the bytes, and whether bytes are one. */
size_t spec_packed_size(const char *packed);
bool spec_packed_check(const void *data, size_t size);

/* Strings point into the block. */
void spec_unpack(struct spec *ret, const char *packed);

/* How many jobs the record stands for. */
uint32_t job_count(const struct job *job);

/* Whether it holds nodes. */
bool job_is_placed(const struct job *job);

/* When its time limit is over, as plans have it, or NO_TIME. */
int64_t job_due(const struct job *job);

/* When its time limit ends this attempt, or NO_TIME. */
int64_t job_limit_at(const struct job *job);

/* The last moment at which it can still meet its deadline, or NO_TIME: a
 * waiting job needs its time limit before that. */
int64_t job_latest_at(const struct job *job);

/* Seconds it ran up to now or its end, without breaks. */
int64_t job_elapsed(const struct job *job, int64_t now);

/* A copy of both arrays in one block. */
struct placement *placement_new(uint32_t ntasks, const struct snap_task *task,
                                const struct snap_cpu_use *cpu_use);
/* The tasks of both; either may be NULL. */
struct placement *placement_join(const struct placement *a,
                                 const struct placement *b);
/* The tasks with these numbers, which ascend; or the others. */
struct placement *placement_part(const struct placement *place,
                                 const uint32_t *task, uint32_t n, bool others);
/* All but the first n. */
struct placement *placement_rest(const struct placement *place, uint32_t n);
void job_free(struct job *job); /* NULL is fine */

/* "12", "12_3", "12_[0-9%2]"; limit is the array's, 0: none. */
void job_display_id(const struct job *job, uint32_t limit, struct buf *out);

#endif
