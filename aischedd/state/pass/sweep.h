/*
 * sweep.h - look again at many waiting jobs, in slices
 *
 * After a queue was closed or the configuration replaced, the rows of up to a
 * million jobs are to be looked up again. A sweep goes through the list of all
 * jobs, a slice in each turn. Jobs that change meanwhile are put in their row
 * as always, by state_reindex(). As rows are out of date until the sweep is
 * over, no snapshot of waiting jobs may be taken before, and no plan is
 * applied. state_why() does not depend on rows and is right at once. A restart
 * needs no rest of a sweep: it looks up the rows of all jobs.
 */
#ifndef AISCHEDD_STATE_PASS_SWEEP_H
#define AISCHEDD_STATE_PASS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

struct job;
struct state;

/* Which pending jobs a sweep looks at. */
enum {
	SWEEP_ALL = 1,   /* all: the configuration was replaced */
	SWEEP_QUEUES = 2 /* those whose queue was closed or opened */
};

struct sweep {
	unsigned what;  /* the jobs meant; 0: there is no sweep */
	unsigned next;  /* those of the sweep that follows; 0: none */
	struct job *at; /* the next job to look at, or NULL */
	int64_t now;    /* when it was begun */
	uint64_t left;  /* steps that it may take before the next tick */
};

/* Whether a sweep is under way. */
bool state_is_sweeping(const struct state *state);

/* --- for this folder ---------------------------------------------------- */

void sweep_init(struct sweep *sweep);

/* Look at the jobs meant by `what`: at once if they are few, else the rest in
 * the next ticks. If a sweep is under way, another one follows it. */
void sweep_begin(struct state *state, unsigned what, int64_t now);
/* Do the next slice. */
void sweep_tick(struct state *state);
/* Call it before the job is removed from the list of all jobs. */
void sweep_skip(struct state *state, const struct job *job);

#endif
