/*
 * sim.h - the scheduling core and the state, driven by a virtual clock
 *
 * It is a runner of its own kind: a start happens at once, a job ends when its
 * work is done, and an evicted job has ended when its grace is over. Each
 * second is applied in this order: all ends, then passes until nothing changes;
 * then events of nodes, arriving jobs, cancelled jobs, and what is due by the
 * state's own clock; then passes again.
 */
#ifndef AISIM_SIM_H
#define AISIM_SIM_H

#include "aisim/calendar.h"
#include "aisim/stats.h"
#include "aisim/tell.h"
#include "aisim/trace.h"

/* Second 0 by the clock of the state, which has no negative times: a midnight
 * of 2001. */
#define SIM_EPOCH ((int64_t)11574 * 86400)

/* One job of the trace, at index id - 1. Times are the state's clock. */
struct sim_job {
	/* its tasks according to the events written so far, or NULL */
	struct placement *shown;
	uint32_t attempt;  /* the attempt to which these belong */
	uint32_t turn;     /* calendar entries with another turn are stale */
	uint32_t nleaving; /* evicted tasks in the calendar */
	int64_t left;      /* seconds of work left, or TRACE_NEVER */
	int64_t began;     /* when it began to work, or NO_TIME */
	uint8_t end;       /* enum job_state, once final */
	struct job_stats stats;
};

struct sim {
	struct state *state;
	struct trace *trace;
	struct sim_job *job; /* [trace->njobs] */
	struct calendar calendar;
	size_t next_job, next_act; /* next in the trace */
	int64_t now;               /* now, by the state's clock */
	unsigned retries; /* failed starts since anything else happened */
	bool check;       /* run plan_check() on every plan */
	/* [npools * RES_N] held by attempts that are over: struct ledger_sum */
	int64_t *held;
	FILE *shares; /* receives the shares of second 0, or NULL */
	struct tell tell;
	struct stats stats;
};

/* Simulate through the second `until`; TRACE_NEVER: while anything can change.
 * Fails with EINVAL if a plan is wrong, with EBUSY if the jobs that run from
 * the beginning do not fit. */
int sim_run(struct sim *sim, int64_t until, struct err *err);

/* Free everything but the state, which is the caller's. */
void sim_fini(struct sim *sim);

#endif
