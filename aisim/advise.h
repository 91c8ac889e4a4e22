/*
 * advise.h - find which order of jobs would have been best for a history
 *
 * The same jobs are replayed in each order, once with the hold_after of the
 * configuration and once without, because hold_after matters as much as the
 * order.
 */
#ifndef AISIM_ADVISE_H
#define AISIM_ADVISE_H

#include "aisim/sim.h"

enum {
	ADVISE_HOLDS = 2, /* hold_after as configured, and without it */
	ADVISE_N = JOB_NORDERS * ADVISE_HOLDS
};

/* Sums of one replay, over the jobs that ended. */
struct advise_sums {
	size_t jobs, ended;
	double wait_mean, wait_p95; /* s between arrival and end in which
	                               the job did not run */
	double slowdown_mean, slowdown_p95;
};

/* Set order and hold_after for replay i; 0 <= i < ADVISE_N. */
void advise_prepare(struct conf *conf, const struct conf *configured, int i);

void advise_sum(const struct sim *sim, struct advise_sums *ret);

/* Print the sums of all replays, as a table with the best one below, or as one
 * JSON object. */
void advise_print(const struct conf *configured, const struct advise_sums *sums,
                  bool json, FILE *out);

#endif
