/*
 * compare.h - what two configurations make of the same jobs
 *
 * Both are simulated; the past itself is only told beside them, with how far
 * the simulation of the old configuration is from it.
 */
#ifndef AISIM_COMPARE_H
#define AISIM_COMPARE_H

#include <stdbool.h>
#include <stdio.h>

#include "aisim/sim.h"
#include "libcommon/buf.h"

/* A job, at the index that it has in the trace. */
struct compare_job {
	int64_t wait; /* seconds from arrival to first start; -1: none */
	int64_t cost; /* millionths of the currency */
	uint32_t evictions;
	bool ended;
};

/* One way that the jobs went; owns everything. */
struct compare_run {
	struct compare_job *job;
	size_t n;
	double gpus, cpus; /* the part of the time offered that was held; below
	                      0: there are none */
	bool costs;        /* cost is known */
};

/* The names of queues and users, which both runs share. */
struct compare_names {
	const char **queue, **user; /* [n] of each job */
};

/* Take what the simulation found; and what really was, if the trace knows. */
void compare_take(const struct sim *sim, struct compare_run *ret);
void compare_take_real(const struct sim *sim, struct compare_run *ret);
void compare_free(struct compare_run *run);

struct compare {
	const struct compare_run *was, *is; /* old and new configuration */
	const struct compare_run *real;     /* NULL: not known */
	struct compare_names names;
	const struct left_out *left;
	const struct buf *lacks; /* lines: what the replay lacks */
};

void compare_print(const struct compare *c, bool json, FILE *out);

#endif
