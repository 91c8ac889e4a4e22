/*
 * compare.h - compare two configurations on the same jobs
 *
 * Both configurations are simulated. The real past, if it is known, is printed
 * beside them, with how much the simulation of the old configuration differs
 * from it.
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

/* The results of one run, simulated or real; owns what it points to. */
struct compare_run {
	struct compare_job *job;
	size_t n;
	/* Fraction of the nodes' GPUs and CPUs that jobs held, over the whole
	 * time; below 0: the nodes have none. */
	double gpus, cpus;
	bool costs; /* cost is known */
};

/* The names of the queue and the user of each job, the same in both runs. */
struct compare_names {
	const char **queue, **user; /* [n] of each job */
};

/* Get the results of a simulation; and, with compare_take_real(), what really
 * happened according to the trace. */
void compare_take(const struct sim *sim, struct compare_run *ret);
void compare_take_real(const struct sim *sim, struct compare_run *ret);
void compare_free(struct compare_run *run);

struct compare {
	/* Results with the old and the new configuration. */
	const struct compare_run *was, *is;
	/* Results of the real past; NULL: not known. */
	const struct compare_run *real;
	struct compare_names names;
	const struct left_out *left;
	const struct buf *lacks; /* what the replay lacks, one item a line */
};

void compare_print(const struct compare *c, bool json, FILE *out);

#endif
