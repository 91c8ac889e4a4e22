/*
 * counts.h - counters of queues and pools since the daemon was started
 *
 * Metrics read these counters without looking at any job. The amounts that jobs
 * hold are counted as a rate, and as a sum of rate times time up to the last
 * change of the rate. Numbers that a pass of the scheduler finds stay the same
 * until the next pass. All counters begin at 0 when the daemon is started,
 * which Prometheus allows.
 */
#ifndef AISCHEDD_STATE_CLUSTER_COUNTS_H
#define AISCHEDD_STATE_CLUSTER_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "aischedd/sched/plan.h"
#include "aischedd/state/cluster/rollup.h"
#include "libcommon/histogram.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"
#include "libcommon/names.h"

struct conf;
struct job;
struct state;

enum { EVICT_KINDS = EVICT_NODE_DOWN + 1, FAULT_KINDS = FAULT_REFUSED + 1 };

enum { OVERDUE_PARTS = 60 };

/* Why a job that had started was requeued; evictions are counted separately. */
enum requeue_why {
	REQUEUE_USER,    /* a user requeued it */
	REQUEUE_FAILURE, /* it failed, and is run again */
	REQUEUE_NODE,    /* its node was lost */
	REQUEUE_KINDS
};

/* Numbers that a pass finds about the jobs of one queue that are in rows. */
struct queue_found {
	/* number of pending jobs, by their reason */
	uint64_t judged[WHY_NREASONS];
	/* sum of what pending jobs ask for, in the units of enum resource */
	int64_t pending[RES_N];
	/* eligible time of the pending job that has waited longest; NO_TIME: no
	 * job is pending */
	int64_t oldest;
	/* Pending jobs that wait for longer than most_s, the longest wait that
	 * the queue allows. n: their number at the time of the pass, `at`.
	 * The next most_s seconds are divided into OVERDUE_PARTS equal parts;
	 * later[i]: how many other jobs begin to exceed most_s in part i. */
	struct overdue {
		uint64_t n, later[OVERDUE_PARTS];
		int64_t most_s, at;
	} overdue;
};

/* Counters of one queue, without the queues below it. */
struct queue_counts {
	/* present jobs, by state; final states stay 0 */
	uint64_t jobs[JOB_NSTATES];
	/* present pending jobs that are in no row, by reason */
	uint64_t aside[WHY_NREASONS];
	/* present jobs whose GPUs have been idle for too long */
	uint64_t idle_gpus;
	struct queue_found found; /* found by the last pass */
	uint64_t submitted, started, backfilled, ended[JOB_NSTATES];
	uint64_t requeued[REQUEUE_KINDS], evicted[EVICT_KINDS];
	struct histogram wait, run; /* seconds; bounds: histogram_jobs */
};

/* Counters of the jobs of a queue in a pool, on nodes with one type of GPU. */
struct held_counts {
	/* queue COUNTS_GONE: the queue no longer exists */
	uint32_t queue, pool;
	char *gpu_type; /* NULL: jobs without GPUs */
	/* next counters of the same queue and pool, for another type */
	struct held_counts *next;
	int64_t rate[RATES]; /* what jobs hold now; units as in rollup.h */
	int64_t at_ms;       /* time up to which sum[] is complete */
	double sum[RATES];   /* rates times seconds */
	/* CPU time used by attempts that have ended */
	double cpu_used_s;
	/* time for which GPUs of ended attempts were busy */
	double gpu_busy_s;
	double gpu_known_s;   /* GPU time that was sampled */
	double gpu_evicted_s; /* of lost attempts, see rollup.h */
};
#define COUNTS_GONE UINT32_MAX

struct count_table {
	/* one for each queue of the configuration */
	struct queue_counts *queue;
	uint64_t start_failures[LIMIT_POOLS][FAULT_KINDS];
	struct histogram slip; /* seconds from promised to actual starts */
	struct map held_by_key;
	struct held_counts **held;
	size_t nheld, held_cap;
};

const struct queue_counts *state_queue_counts(const struct state *state,
                                              uint32_t queue);
const struct count_table *state_count_table(const struct state *state);

/* Returns how many pending jobs of the queue have waited for longer than the
 * queue allows. A job may be counted up to most_s / OVERDUE_PARTS too late. */
uint64_t counts_overdue(const struct queue_counts *counts, int64_t now);

/* Returns sum[r] as of now_ms: adds what was held since at_ms. */
double held_until(const struct held_counts *held, int r, int64_t now_ms);

/* --- for this folder ---------------------------------------------------- */

void counts_init(struct state *state);
void counts_free(struct state *state);

/* Renumber queues and pools for a new configuration, before the state uses it.
 * queue_to: the new number of each queue; -1: it no longer exists. */
void counts_reconf(struct state *state, const struct conf *conf,
                   const uint32_t *queue_to);

/* Add n to the number of jobs in this job's present state. To subtract, pass
 * the negative number, converted to unsigned. */
void counts_jobs(struct state *state, const struct job *job, uint64_t n);

/* Count a submission. */
void counts_submitted(struct state *state, const struct job *job);
/* Count a start, an end or a requeue: the job's state has changed from `from`
 * to the present one. */
void counts_became(struct state *state, const struct job *job,
                   enum job_state from);
/* Count an eviction of the job, or of some of its tasks. */
void counts_evicted(struct state *state, const struct job *job, enum evict why);
void counts_start_failed(struct state *state, const struct job *job,
                         enum start_fault fault);

/* counts_hold() counts, from now on, what the job holds according to its
 * ledger; counts_release() stops that, and must be called before the ledger's
 * rates change. */
void counts_hold(struct state *state, struct job *job, int64_t now_ms);
void counts_release(struct job *job, int64_t now_ms);

/* Count the use of an attempt that has ended. Call this before
 * counts_release(). */
void counts_attempt(const struct job *job, bool lost);

/* Returns the numbers that a plan gives for the jobs of each queue, allocated
 * in the arena; may run on any thread. */
const struct queue_found *counts_find(const struct snap *snap,
                                      const struct plan *plan,
                                      struct arena *arena);
/* Store what counts_find() returned, after the plan was applied. */
void counts_found(struct state *state, const struct queue_found *found);

/* Call it when the job starts. If the snapshot has a promised start of the job,
 * count by how many seconds the real one is later. */
void counts_slip(struct state *state, const struct snap *snap, uint64_t job,
                 int64_t now);

/* Count the start of the job as a backfill: it starts before a job that is
 * ahead of it and has a promised start. */
void counts_backfilled(struct state *state, const struct job *job);

#endif
