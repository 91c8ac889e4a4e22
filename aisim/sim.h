/*
 * sim.h - run the scheduler and the state with a virtual clock
 *
 * The simulation takes the place of a runner: jobs start at once, end when
 * their work is done and, if they are evicted, when their grace is over. The
 * events of a second are applied in this order: first all ends of jobs, then
 * scheduler passes until nothing changes; then events of nodes, arriving jobs,
 * cancelled jobs and the state's own alarms; then passes again.
 */
#ifndef AISIM_SIM_H
#define AISIM_SIM_H

#include "aisim/align.h"
#include "aisim/calendar.h"
#include "aisim/scaled.h"
#include "aisim/stats.h"
#include "aisim/tell.h"
#include "aisim/trace.h"

/* A job of the trace, at index id - 1. Times are those of the state. */
struct sim_job {
	/* Its tasks according to the events written so far, or NULL. */
	struct placement *shown;
	uint32_t attempt;  /* the attempt that `shown` belongs to */
	uint32_t turn;     /* calendar entries with another turn are stale */
	uint32_t nleaving; /* evicted tasks that have a CALENDAR_SHRUNK entry */
	int64_t left;      /* seconds of work left, or TRACE_NEVER */
	int64_t began;     /* when its work began or resumed; or NO_TIME */
	uint8_t end;       /* for ended jobs: the final enum job_state */
	struct align_tasks unaligned; /* of its tasks; 0 while it waits */
	struct job_stats stats;
};

struct sim {
	struct state *state;
	struct trace *trace;
	struct sim_job *job; /* [trace->njobs] */
	struct calendar calendar;
	struct scaled scaled;
	/* Index of the next job and event of the trace. */
	size_t next_job, next_act;
	int64_t now;     /* the present time of the state */
	size_t nskipped; /* runs of cron entries that were skipped */
	/* Failed starts since the last event of another kind. */
	unsigned retries;
	bool check; /* run plan_check() on every plan */
	/* [npools * RES_N] For each pool and resource, the sum of held[] of
	 * struct ledger_sum over the attempts that have ended. */
	int64_t *held;
	uint64_t *gpus_down; /* by node: mask of its GPUs; NULL: none is */
	FILE *shares; /* gets the shares of all queues at second 0, or NULL */
	struct align align; /* align.node NULL: not asked for */
	struct tell tell;
	struct stats stats;
};

/* Make the jobs of the trace, which trace_finish() has ordered. */
void sim_init(struct sim *sim);

/* Simulate up to and including the second trace->until, or with TRACE_NEVER
 * until nothing more can change. Fails with EINVAL if a plan is invalid, with
 * EBUSY if the jobs that are running at second 0 do not fit. */
int sim_run(struct sim *sim, struct err *err);

/* Free everything but the state, which is the caller's. */
void sim_fini(struct sim *sim);

#endif
