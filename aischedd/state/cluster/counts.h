/*
 * counts.h - counters of queues and pools since the daemon began
 *
 * Metrics read them without looking at any job. For an amount that jobs hold
 * there is a rate, and the sum up to its last change. Findings of a pass are
 * those of the last pass. Nothing is kept over a restart, which Prometheus
 * allows for counters.
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

enum { EVICT_KINDS = EVICT_NODE_DOWN + 1, FAULT_KINDS = FAULT_POOL + 1 };

enum { OVERDUE_PARTS = 60 };

/* Why a job that had started waits again; evictions are counted apart. */
enum requeue_why {
	REQUEUE_USER,    /* somebody asked for it */
	REQUEUE_FAILURE, /* it failed, and is run again */
	REQUEUE_NODE,    /* its node was lost */
	REQUEUE_KINDS
};

/* Findings of a pass about the jobs of one queue that are in rows. */
struct queue_found {
	uint64_t judged[WHY_NREASONS]; /* jobs */
	int64_t pending[RES_N]; /* asked for by pending jobs; units of enum
	                           resource */
	int64_t oldest; /* since when the first of the pending jobs has been
	                   eligible; NO_TIME: there is none */
	/* Pending jobs that had waited for longer than the queue allows
	 * (most_s) at the time of the pass (at); and those that reach that
	 * limit after it, by parts of most_s. */
	struct overdue {
		uint64_t n, later[OVERDUE_PARTS];
		int64_t most_s, at;
	} overdue;
};

/* Counters of one queue, without those below it. */
struct queue_counts {
	uint64_t jobs[JOB_NSTATES];   /* now: states that are not final */
	uint64_t aside[WHY_NREASONS]; /* now: pending, but in no row */
	uint64_t idle_gpus; /* now: jobs whose GPUs do nothing for too long */
	struct queue_found found; /* when the last pass ended */
	uint64_t submitted, started, backfilled, ended[JOB_NSTATES];
	uint64_t requeued[REQUEUE_KINDS], evicted[EVICT_KINDS];
	struct histogram wait, run; /* histogram_jobs */
};

/* Amounts that jobs of a queue hold of a pool, on nodes with GPUs of a type. */
struct held_counts {
	/* queue COUNTS_GONE: the queue no longer exists */
	uint32_t queue, pool;
	char *gpu_type;           /* NULL: none */
	struct held_counts *next; /* same queue and pool, another type */
	int64_t rate[RATES];      /* as of a rollup */
	int64_t at_ms;            /* the sums reach up to here */
	double sum[RATES];        /* rates times seconds */
	double cpu_used_s;        /* by attempts that are over */
	double gpu_busy_s;        /* likewise, of the time that is known */
	double gpu_known_s;       /* that time */
	double gpu_evicted_s;     /* held by attempts that were evicted */
};
#define COUNTS_GONE UINT32_MAX

struct count_table {
	struct queue_counts *queue; /* [conf->nqueues] */
	uint64_t start_failures[LIMIT_POOLS][FAULT_KINDS];
	struct histogram slip; /* s after the promised start */
	struct map held_by_key;
	struct held_counts **held;
	size_t nheld, held_cap;
};

const struct queue_counts *state_queue_counts(const struct state *state,
                                              uint32_t queue);
const struct count_table *state_count_table(const struct state *state);

/* Returns how many pending jobs of the queue have waited by now for longer than
 * it allows. A job may be counted up to most_s / OVERDUE_PARTS late. */
uint64_t counts_overdue(const struct queue_counts *counts, int64_t now);

/* Returns the sum of a rate up to now. */
double held_until(const struct held_counts *held, int r, int64_t now_ms);

/* --- for this folder ---------------------------------------------------- */

void counts_init(struct state *state);
void counts_free(struct state *state);

/* Renumber the queues just before another configuration is taken over: queue_to
 * as in usage_reconf(). Jobs are counted again afterwards. */
void counts_reconf(struct state *state, const struct conf *conf,
                   const uint32_t *queue_to);

/* Count n jobs that entered or left their present state. */
void counts_jobs(struct state *state, const struct job *job, uint64_t n);

/* Count a submission; a change from another state into the present one; an
 * eviction of the job or some of its tasks. */
void counts_submitted(struct state *state, const struct job *job);
void counts_became(struct state *state, const struct job *job,
                   enum job_state from);
void counts_evicted(struct state *state, const struct job *job, enum evict why);
void counts_start_failed(struct state *state, const struct job *job,
                         enum start_fault fault);

/* Count what the job holds according to its ledger from now on; stop counting
 * it, before each change of the ledger. */
void counts_hold(struct state *state, struct job *job, int64_t now_ms);
void counts_release(struct job *job, int64_t now_ms);

/* Count an attempt that is over, while the job still holds what it held. */
void counts_attempt(const struct job *job, bool evicted);

/* Count, by queue, what a plan found; on any thread. */
const struct queue_found *counts_find(const struct snap *snap,
                                      const struct plan *plan,
                                      struct arena *arena);
/* Take over what was found, after the plan was applied. */
void counts_found(struct state *state, const struct queue_found *found);

/* Count how much later than promised the job starts; the snapshot has the
 * promise. */
void counts_slip(struct state *state, const struct snap *snap, uint64_t job,
                 int64_t now);

/* Count the start as a backfill: a job ahead of this one waits for its promised
 * start. */
void counts_backfilled(struct state *state, const struct job *job);

#endif
