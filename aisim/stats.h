/*
 * stats.h - what a simulation adds up to
 */
#ifndef AISIM_STATS_H
#define AISIM_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One job.  Times are the state's clock. */
struct job_stats {
	int64_t submit, first_start, evicted, end; /* NO_TIME: not yet */
	int64_t promise, promised_at; /* the earliest start it was told, when */
	int64_t ran;                  /* seconds, all attempts */
	int64_t gpus;                 /* milli, of one task */
	int64_t grace;                /* seconds an eviction takes */
	bool was_running;             /* from the beginning: it did not wait */
};

struct stats {
	int64_t gpus_used;    /* milli, now */
	int64_t gpus_offered; /* milli, of nodes that are up */
	int64_t used_s,
	    offered_s; /* milli times seconds, since the first start */
	int64_t used_at_end, offered_at_end; /* when the last job ended */
	int64_t first_start, last_end;
	uint64_t starts, evictions, moved;
	int64_t upset; /* when something came from outside: a job, a node */
	struct eviction_note {
		int64_t at;
		uint64_t by;
	} * evicted; /* in order of time */
	size_t nevicted, evicted_cap;
	uint64_t promises, overtaken; /* starts that had been told; late, but
	                               * something came in between */
	double *late_s;               /* of the other late ones */
	size_t nlate, late_cap;

	double *pass_ms;
	size_t npasses, pass_cap;
	double core_s; /* in the scheduler itself */
};

/* Account for the time from now to then. */
void stats_advance(struct stats *stats, int64_t now, int64_t then);

/* The job is told when it starts. */
void stats_promise(struct job_stats *job, int64_t start, int64_t now);

void stats_start(struct stats *stats, struct job_stats *job, uint64_t id,
                 int64_t now);
/* by: the job for which, 0: none */
void stats_evict(struct stats *stats, struct job_stats *job, uint64_t by,
                 int64_t now);
void stats_end(struct stats *stats, struct job_stats *job, int64_t now);

/* ms: snapshot and plan; core_ms: the plan alone. */
void stats_pass(struct stats *stats, double ms, double core_ms);

/* Time from arrival to end over the time it ran; the job has ended. */
double stats_slowdown(const struct job_stats *job);

double stats_mean(const double *v, size_t n);
/* The least value that so many percent of the values do not exceed; sorts
 * them. */
double stats_percentile(double *v, size_t n, unsigned percent);

struct sim_job;

/* One JSON object, on one line. */
void stats_print(const struct stats *stats, const struct sim_job *job,
                 size_t njobs, FILE *out);

void stats_fini(struct stats *stats);

#endif
