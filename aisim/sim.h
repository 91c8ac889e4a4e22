/*
 * sim.h - the scheduling core and the state, driven by a virtual clock
 *
 * A runner of its own kind: what the state wants started is started at once,
 * ends when its work is done and is gone when its grace is over.  A second is
 * applied in this order: all ends, then passes until nothing changes; then what
 * happens to nodes, jobs that arrive, jobs that are cancelled, what the state's
 * own clock brings; then passes again.
 */
#ifndef AISIM_SIM_H
#define AISIM_SIM_H

#include "aisim/calendar.h"
#include "aisim/stats.h"
#include "aisim/tell.h"
#include "aisim/trace.h"

/* Second 0 by the clock of the state, which knows no negative times: a
 * midnight of 2001. */
#define SIM_EPOCH ((int64_t)11574 * 86400)

/* One job of the trace, by id - 1.  Times are the state's clock. */
struct sim_job {
	struct placement *shown; /* what the events say it holds, or NULL */
	uint32_t attempt;        /* of that */
	uint32_t turn;     /* entries of the calendar with another are old */
	uint32_t nleaving; /* tasks that the calendar has on their way */
	int64_t left;      /* seconds of work, or TRACE_NEVER */
	int64_t began;     /* it works since then, or NO_TIME */
	uint8_t end;       /* enum job_state, once it is final */
	struct job_stats stats;
};

struct sim {
	struct state *state;
	struct trace *trace;
	struct sim_job *job; /* [trace->njobs] */
	struct calendar calendar;
	size_t next_job, next_act; /* of the trace, still to come */
	int64_t now;               /* now, by the state's clock */
	unsigned retries;          /* starts that failed since anything else */
	bool check;                /* plan_check() every plan */
	FILE *shares; /* snapshot of second 0 goes there, or NULL */
	struct tell tell;
	struct stats stats;
};

/* Simulate through the second `until`; TRACE_NEVER: as long as anything can
 * change.  Fails with EINVAL if a plan is wrong, with EBUSY if the jobs that
 * run from the beginning do not fit. */
int sim_run(struct sim *sim, int64_t until, struct err *err);

/* Free everything but the state, which is the caller's. */
void sim_fini(struct sim *sim);

#endif
