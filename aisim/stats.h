/*
 * stats.h - the statistics of a simulation
 */
#ifndef AISIM_STATS_H
#define AISIM_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The statistics of a job. Times are those of the state. */
struct job_stats {
	int64_t submit, first_start, evicted, end; /* NO_TIME: not yet */
	int64_t promise, promised_at; /* the earliest promised start, and when
	                                 it was promised */
	/* For turns_note(): the start that the last plan promised, the number
	 * of that plan, and the job's turn in it. */
	int64_t told;
	uint64_t told_in;
	uint32_t turn;
	/* The promised start became later, after the order of jobs had changed
	 * (passed) or without such a change (slipped). */
	bool passed, slipped;
	int64_t ran;   /* seconds in all attempts */
	int64_t gpus;  /* of one task, in thousandths */
	int64_t grace; /* seconds of grace */
	int64_t cost;  /* millionths of the currency */
	uint32_t evictions;
	bool was_running; /* it was running at second 0, so it did not wait */
	bool parted;      /* it asks for partitions of GPUs */
};

struct stats {
	int64_t gpus_used;         /* now, in thousandths */
	int64_t gpus_offered;      /* of nodes that are up, in thousandths */
	int64_t used_s, offered_s; /* thousandths of GPUs times seconds, since
	                              the first start */
	/* Values of used_s and offered_s when the last job ended. */
	int64_t used_at_end, offered_at_end;
	int64_t first_start, last_end;
	uint64_t starts, evictions, moved;
	/* When a job arrived, or a node changed, for the last time. */
	int64_t upset;
	struct eviction_note {
		int64_t at;
		uint64_t by;
	} * evicted; /* evictions in order of time, and the jobs they were for
	              */
	size_t nevicted, evicted_cap;
	/* Number of promised starts, of those that were late because something
	 * intervened, and of those that were late because the order changed. */
	uint64_t promises, overtaken, passed;
	uint64_t nplans;
	double *late_s; /* delays of all other late starts */
	size_t nlate, late_cap;

	double *pass_ms;
	size_t npasses, pass_cap;
	double core_s; /* seconds spent in the scheduler itself */
};

/* Add the GPU use from time `now` until `then`. */
void stats_advance(struct stats *stats, int64_t now, int64_t then);

/* Note that the job is promised to start at this time. */
void stats_promise(struct job_stats *job, int64_t start, int64_t now);

void stats_start(struct stats *stats, struct job_stats *job, uint64_t id,
                 int64_t now);
/* Note an eviction; `by` is the job it is for, 0: none. */
void stats_evict(struct stats *stats, struct job_stats *job, uint64_t by,
                 int64_t now);
void stats_end(struct stats *stats, struct job_stats *job, int64_t now);

/* Add the time of a pass: ms with the snapshot, core_ms for the plan alone. */
void stats_pass(struct stats *stats, double ms, double core_ms);

/* Returns the slowdown of an ended job: its time from arrival to end, divided
 * by its run time. */
double stats_slowdown(const struct job_stats *job);

double stats_mean(const double *v, size_t n);
/* Sorts the values, and returns the smallest that is at least as large as
 * `percent` % of them. */
double stats_percentile(double *v, size_t n, unsigned percent);

struct sim;

/* Print the statistics as one JSON object on one line. */
void stats_print(const struct sim *sim, FILE *out);

void stats_fini(struct stats *stats);

#endif
