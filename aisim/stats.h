/*
 * stats.h - the sums of a simulation
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
	int64_t promise, promised_at; /* the earliest promised start, and when
	                                 it was promised */
	int64_t ran;                  /* seconds in all attempts */
	int64_t gpus;                 /* thousandths, of one task */
	int64_t grace;                /* seconds of grace */
	int64_t cost;                 /* millionths of the currency */
	uint32_t evictions;
	bool was_running; /* running from the beginning: it did not wait */
};

struct stats {
	int64_t gpus_used;    /* thousandths, now */
	int64_t gpus_offered; /* thousandths, of nodes that are up */
	int64_t used_s,
	    offered_s; /* thousandths times seconds, since the first start */
	int64_t used_at_end, offered_at_end; /* when the last job ended */
	int64_t first_start, last_end;
	uint64_t starts, evictions, moved;
	/* when the last event came from outside: a job, a node */
	int64_t upset;
	struct eviction_note {
		int64_t at;
		uint64_t by;
	} * evicted; /* by time */
	size_t nevicted, evicted_cap;
	/* promised starts; late ones for which something intervened */
	uint64_t promises, overtaken;
	double *late_s; /* of the other late ones */
	size_t nlate, late_cap;

	double *pass_ms;
	size_t npasses, pass_cap;
	double core_s; /* in the scheduler itself */
};

/* Add the use between these two times to the statistics. */
void stats_advance(struct stats *stats, int64_t now, int64_t then);

/* Note that the job is promised this start. */
void stats_promise(struct job_stats *job, int64_t start, int64_t now);

void stats_start(struct stats *stats, struct job_stats *job, uint64_t id,
                 int64_t now);
/* by: the job it is evicted for, 0: none */
void stats_evict(struct stats *stats, struct job_stats *job, uint64_t by,
                 int64_t now);
void stats_end(struct stats *stats, struct job_stats *job, int64_t now);

/* ms: snapshot and plan; core_ms: the plan alone. */
void stats_pass(struct stats *stats, double ms, double core_ms);

/* Returns the time from arrival to end, divided by the time that the job ran;
 * it must have ended. */
double stats_slowdown(const struct job_stats *job);

double stats_mean(const double *v, size_t n);
/* Returns the least value that this many percent of the values do not exceed;
 * sorts them. */
double stats_percentile(double *v, size_t n, unsigned percent);

struct sim_job;

/* Print one JSON object on one line. */
void stats_print(const struct stats *stats, const struct sim_job *job,
                 size_t njobs, FILE *out);

void stats_fini(struct stats *stats);

#endif
