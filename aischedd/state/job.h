/*
 * job.h - the record of one job, as the daemon has it in memory
 *
 * A record is one of three: a job that is not an array, one task of an array,
 * or all tasks of an array that have not started (then `tasks` is not empty).
 * An unstarted task gets a record of its own when it starts, or when it is
 * held, changed or cancelled alone. The request is stored packed, with only the
 * fields that the user gave, because a million jobs may wait.
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
	CAUSE_IDLE,    /* its GPUs were idle for longer than its queue allows */
	CAUSE_RECALL   /* requeued by an operator, not by the job's user */
};

/* Where the tasks of a job run and what they hold; allocated as one block. */
struct placement {
	uint32_t ntasks;
	/* ntasks elements and one more, whose cpu_first is the end of the last
	 * task's CPUs. The node of a task is its index in the state. */
	struct snap_task *task;
	struct snap_cpu_use *cpu_use;
	/* [ntasks] The particular devices other than GPUs that each task has:
	 * bit i is device i of the node (struct node_devices). NULL: none. */
	uint64_t *devs;
};

static inline uint64_t placement_devs(const struct placement *place, uint32_t i)
{
	return place->devs ? place->devs[i] : 0;
}

/* A claim: nodes held for a job, one for each of its tasks, until the jobs that
 * are evicted there have ended. */
struct held {
	/* serial number of the last plan that kept the claim */
	uint64_t serial;
	uint32_t n;
	uint32_t node[]; /* indexes in the state */
};

/* The times of the job's last evictions, the latest at the end. */
struct evictions {
	uint32_t n;
	int64_t at[];
};

struct ledger;
struct row;
struct placed_key;

/* The part of a job's record that differs from job_runs_none only after the job
 * got nodes or ended. So a job that waits for the first time need not have one
 * of its own. */
struct job_runs {
	uint32_t restarts, preemptions, start_fails;
	/* number of failed tasks of this attempt that were started again */
	uint32_t replaced;
	/* mails already made for this attempt, as bits of enum mail_type; only
	 * types of which an attempt gets at most one mail */
	uint32_t mailed;
	/* counts how often some of its tasks were evicted */
	uint32_t resize;
	uint32_t placed_at; /* index plus one in state->placed, 0: none */
	/* exit_code -1: it is not known, or the job has not ended; signal
	 * 0: none */
	int32_t exit_code, signal;
	int64_t cpu_ms, peak_mem_kib;
	/* id of the job for which it was last evicted; 0: none */
	uint64_t evict_by;
	/* start: when this attempt began to run; before that, when it got its
	 * nodes. end: when the job ended. */
	int64_t start, end;
	/* when it started or was last resumed; NO_TIME: it is not running */
	int64_t resumed;
	int64_t ran;    /* seconds that this attempt ran before `resumed` */
	int64_t served; /* seconds that it ran in attempts that were evicted */
	/* charge for what the job holds, which usage->rate includes: usage.h */
	int64_t charge;
	/* after a failure: do not start it again before this time */
	int64_t retry_at;
	/* namespace of its attempt, while it holds nodes; NULL: its pool has
	 * none, or it was started by a version that did not store it */
	char *space;
	/* those of its tasks that are being evicted, or NULL */
	struct placement *leaving;
	/* time by which the tasks in `leaving`, or the whole evicted job,
	 * should have ended; NO_TIME: none */
	int64_t leave_by;
	struct evictions *evictions; /* its last evictions, or NULL */
	/* its row key while it holds nodes; placed_key() makes it on demand */
	struct placed_key *key;
	char *last_place; /* for an ended job: where it ran, as text */
};

/* The runs of a job that never had nodes. */
extern const struct job_runs job_runs_none;

struct job {
	uint64_t id;
	uint64_t array; /* id of the array, 0: none */
	/* numbers of the unstarted tasks; empty: one job or one task */
	struct idset tasks;
	/* Start of the job's waiting time. After a requeue it is moved later by
	 * the time for which the job held nodes. NO_TIME: the job is held by
	 * its user, or waits for its begin time or a dependency. */
	int64_t eligible;
	uint32_t task; /* its number in the array, or NO_TASK */
	/* number of the attempt, from 1; 0: it never started */
	uint32_t attempt;
	struct job *all_next; /* list of all jobs, in order of ids */

	struct job *all_prev;
	struct row *row; /* the row it is in, if it is pending and eligible */
	/* links in its row, or in the list of jobs that hold nodes */
	struct job *row_prev, *row_next;

	uint32_t user, queue; /* indexes in the state */
	uint32_t uid, gid;
	/* enum job_state, enum hold, enum cause; why: enum reason, why the job
	 * ended */
	uint8_t state, hold, cause, why;
	/* dirty: it is to be written; is_new: the store does not have it yet;
	 * wants_resume: it is suspended and waits to be resumed; signalled: it
	 * has got the signal of --signal */
	bool dirty, is_new, wants_resume, signalled;
	/* its GPUs have been idle for longer than its queue allows */
	bool gpus_idle;
	bool came_back;    /* it was requeued after its end had been stored */
	bool reserved : 1; /* its request names a reservation */
	bool claims : 1;   /* it mounts volume claims */
	bool affine : 1;   /* it names jobs with --near or --apart */
	bool ports : 1;    /* it names ports with --port */
	bool aligned : 1;  /* pool_aligns() depends on what it asks for */
	/* it was made as a Job in its cluster, not by aisub */
	bool adopted : 1;
	bool preemptible; /* it may be evicted, as its class says */
	/* enum preempt_how: how to evict it, as its queue says */
	uint8_t on_preempt;
	uint8_t evict; /* enum evict: why it was last evicted */
	uint8_t aside; /* enum reason: why a pending job is in no row */
	/* id of the cron entry of which it is a run; 0: none */
	uint64_t cron;
	int64_t priority;   /* --priority or that of its class, minus --nice */
	int64_t time_limit; /* seconds or TIME_UNLIMITED */
	int64_t grace;      /* seconds */
	int64_t submit, begin, deadline; /* unix seconds; NO_TIME: none */
	int64_t mem_default; /* MiB for each CPU, if it asked for no memory */
	int64_t script, env; /* ids of blobs in the store */

	struct ledger *ledger; /* NULL: it never had nodes */
	/* what users did to it last: acts.h; NULL: nothing */
	char *acts;
	char *text; /* remark for its user, or NULL */

	char *packed; /* the request, from spec_pack() */
	struct placement *place;
	/* never NULL; to change it: job_runs() */
	const struct job_runs *runs;
	struct held *claim; /* nodes held for it, or NULL */
	struct deps *deps;

	/* links in the list of its array's records */
	struct job *array_prev, *array_next;
	/* links in the list of jobs with the same user and name */
	struct job *name_prev, *name_next;
	uint64_t name_key; /* hash of its user and name */
};

/* Pack the fields of the request that are set into one block of memory. The
 * caller frees it with free(). */
char *spec_pack(const struct spec *spec);

/* For the store: returns the size of a packed request in bytes. */
size_t spec_packed_size(const char *packed);
/* For the store: whether these bytes are a valid packed request. */
bool spec_packed_check(const void *data, size_t size);

/* Unpack a request; the strings of *ret point into `packed`. */
void spec_unpack(struct spec *ret, const char *packed);

/* Returns job->runs to be changed; gives the job its own first. */
struct job_runs *job_runs(struct job *job);

/* Give the job the numbers of another one's runs, but none of its memory. */
void job_runs_copy(struct job *to, const struct job *from);

/* Returns the number of tasks if the record is the unstarted part of an array;
 * else 1. */
uint32_t job_count(const struct job *job);

/* The id of a job as users write it. */
struct job_id_text {
	char text[40];
};

/* Returns the id for texts: 5 for a job and for unstarted tasks of array 5,
 * 5_3 for a task that has its own record. */
struct job_id_text job_id_text(const struct job *job);

/* Whether the job holds nodes. */
bool job_is_placed(const struct job *job);

/* Returns the time at which the time limit of a job with nodes ends;
 * plans assume that the job ends then. NO_TIME if the job has no limit
 * or is suspended. */
int64_t job_due(const struct job *job);

/* Returns the time at which the daemon stops a running job for its time limit;
 * NO_TIME if the job has no limit or is not running. */
int64_t job_limit_at(const struct job *job);

/* Returns the latest time at which a pending job can start and still run for
 * its whole time limit before its deadline; the deadline itself if the job is
 * not pending or has no time limit; NO_TIME if it has no deadline. */
int64_t job_latest_at(const struct job *job);

/* Returns for how many seconds this attempt has run, not
 * counting suspensions. */
int64_t job_elapsed(const struct job *job, int64_t now);

/* The next six functions return a new placement, which the caller frees
 * with free(). */

/* Copy ntasks tasks. task[] has one more element, whose cpu_first is the end of
 * the last task's CPUs. devs: the particular devices of each task, or NULL. */
struct placement *placement_new(uint32_t ntasks, const struct snap_task *task,
                                const struct snap_cpu_use *cpu_use,
                                const uint64_t *devs);
struct placement *placement_copy(const struct placement *place);
/* Copy ntasks tasks of the plan, from `first` on. */
struct placement *placement_of_plan(const struct plan *plan, uint32_t first,
                                    uint32_t ntasks);
/* Copy a placement, with an array of devices even if its tasks have none. */
struct placement *placement_named(const struct placement *place);
/* Copy the tasks of both; either may be NULL. */
struct placement *placement_join(const struct placement *a,
                                 const struct placement *b);
/* Copy the n tasks with these indexes, which are in ascending order; others:
 * copy all tasks except these. */
struct placement *placement_part(const struct placement *place,
                                 const uint32_t *task, uint32_t n, bool others);
/* Copy all tasks but the first n. */
struct placement *placement_rest(const struct placement *place, uint32_t n);
void job_free(struct job *job); /* NULL is allowed */

/* Append the job's id as users see it: "12", "12_3" or "12_[0-9%2]". limit: how
 * many tasks of its array may run at once; 0: no limit. */
void job_display_id(const struct job *job, uint32_t limit, struct buf *out);

#endif
