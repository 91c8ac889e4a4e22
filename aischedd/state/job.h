/*
 * job.h - one job, as the daemon remembers it
 *
 * A record is one of three: a job that is no array, one task of an array, or
 * all tasks of an array that have not started (then `tasks` is not empty). A
 * task of such a part gets a record of its own when it starts or when it is
 * treated separately. The request is stored packed, with only the fields that
 * the user gave, because a million jobs may wait.
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

/* Why a COMPLETING job was stopped. This decides whether the job ends, and in
 * which state, or is requeued: see life_settle(). */
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

/* Where the tasks of a job run and what they hold; one block of the heap. */
struct placement {
	uint32_t ntasks;
	/* ntasks, and one more that ends the last task's cpu_use; the node of a
	 * task is an index in the state */
	struct snap_task *task;
	struct snap_cpu_use *cpu_use;
};

/* A claim: nodes held for a job, one for each of its tasks, until the jobs that
 * are evicted there have ended. */
struct held {
	uint64_t serial; /* of the last plan that kept the claim */
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
	/* start of the job's waiting time; a requeued job's is moved later by
	 * the time that it held nodes. NO_TIME: the job is held by its user, or
	 * waits for its begin time or for a dependency */
	int64_t eligible;
	uint32_t task;        /* its index in the array, or NO_TASK */
	struct job *all_next; /* in order of ids */

	struct job *all_prev;
	struct row *row; /* the row it is in, if eligible and pending */
	struct job *row_prev,
	    *row_next; /* links of its row, or of the list of placed jobs */

	uint32_t user, queue; /* indices in the state */
	uint32_t uid, gid;
	uint8_t state, hold, cause,
	    why; /* enums; why: the reason why the job ended */
	/* dirty: to be written; is_new: not in the store yet; wants_resume: it
	 * is suspended and to be resumed; signalled: the signal of --signal has
	 * been sent */
	bool dirty, is_new, wants_resume, signalled;
	bool gpus_idle;     /* 1: idle for longer than its queue allows */
	bool came_back;     /* 1: requeued after its end had been stored */
	bool reserved;      /* 1: it names a reservation */
	bool claims;        /* 1: it mounts volume claims */
	bool adopted;       /* 1: made as a Job in its cluster, not by aisub */
	bool preemptible;   /* as its class says */
	uint8_t on_preempt; /* enum preempt_how: as its queue says */
	uint8_t evict;      /* enum evict: why it was last evicted */
	uint8_t aside;      /* enum reason: why a pending job is in no row */
	uint64_t cron;      /* the cron entry it is a run of, 0: none */
	uint64_t evict_by;  /* the job it was last evicted for, 0: none */

	uint32_t attempt; /* counts from 1; 0: never started */
	uint32_t restarts, preemptions, start_fails;
	uint32_t replaced; /* failed tasks of this attempt started again */
	/* mail types already sent for this attempt, one bit each; only types
	 * that are sent once an attempt */
	uint32_t mailed;
	int64_t priority;   /* --priority or its class's, minus --nice */
	int64_t time_limit; /* seconds or TIME_UNLIMITED */
	int64_t grace;      /* seconds */
	int64_t submit, begin, deadline; /* NO_TIME: none */
	/* of this attempt; start: when the job began to run, or before that
	 * when it got its nodes */
	int64_t start, end;
	int64_t resumed; /* start or last resumption; NO_TIME: the job is not
	                    running */
	int64_t ran;     /* seconds it ran before `resumed` */
	int64_t served;  /* seconds it ran in attempts that were evicted */
	int64_t charge;  /* rate of charge for what it holds: usage.h */
	int64_t mem_default; /* MiB a CPU, for a job that asked for no memory */
	int64_t retry_at;    /* after a failed start: do not start before it */
	int64_t script, env; /* ids of blobs in the store */

	/* exit_code -1: not known or not ended; signal 0: none */
	int32_t exit_code, signal;
	int64_t cpu_ms, peak_mem_kib;
	struct ledger *ledger; /* NULL: it never had nodes */
	char *acts;            /* the last acts on it: acts.h; NULL: none */
	char *text;            /* remark for its user, or NULL */

	char *packed; /* spec_pack() */
	struct placement *place;
	struct placement *leaving; /* tasks that are being evicted */
	int64_t leave_by;   /* time by which the tasks in `leaving`, or the
	                       evicted job, should have ended; or NO_TIME */
	uint32_t resize;    /* counts the evictions of some of its tasks */
	struct held *claim; /* NULL: none */
	struct evictions *evictions; /* NULL: none */
	/* its row key while the job is placed; row.c makes it on demand */
	struct placed_key *key;
	char *last_place; /* placement of an ended job, as text */
	struct deps *deps;

	struct job *array_prev,
	    *array_next; /* list of the records of its array */
	struct job *name_prev,
	    *name_next;    /* list of jobs of the same user and name */
	uint64_t name_key; /* the same for all jobs of its user and name */
};

/* Pack the fields that are set into one block. Owns: the caller, free(). */
char *spec_pack(const struct spec *spec);

/* For the store: returns the size of a packed request in bytes. */
size_t spec_packed_size(const char *packed);
/* For the store: whether these bytes are a packed request. */
bool spec_packed_check(const void *data, size_t size);

/* Unpack a request; its strings point into the block. */
void spec_unpack(struct spec *ret, const char *packed);

/* Returns the number of tasks of an unstarted part of an array; else 1. */
uint32_t job_count(const struct job *job);

/* Whether the job holds nodes. */
bool job_is_placed(const struct job *job);

/* Returns the time at which the time limit of a placed job ends, as plans
 * assume; NO_TIME if it has no limit or is suspended. */
int64_t job_due(const struct job *job);

/* Returns the time at which the daemon stops a running job for its time limit;
 * NO_TIME if it has no limit or is not running. */
int64_t job_limit_at(const struct job *job);

/* Returns the latest time at which a pending job can start and still run for
 * its whole time limit before its deadline; the deadline itself if the job is
 * not pending or has no time limit; NO_TIME if it has no deadline. */
int64_t job_latest_at(const struct job *job);

/* Returns for how many seconds this attempt has run, without suspensions. */
int64_t job_elapsed(const struct job *job, int64_t now);

/* The next four return a new placement; owns: the caller, free(). */

/* Copy these tasks, and one more that ends the last task's cpu_use. */
struct placement *placement_new(uint32_t ntasks, const struct snap_task *task,
                                const struct snap_cpu_use *cpu_use);
/* Copy the tasks of both; either may be NULL. */
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
