/*
 * sweep.h - look again at many waiting jobs, in slices
 *
 * After a queue was closed, the configuration replaced or a volume claim
 * reported, the rows of up to a million jobs are to be looked up again. A sweep
 * goes through the list of all jobs, a slice in each turn. Jobs that change
 * meanwhile are put in their row as always, by state_reindex(). As rows are out
 * of date until the sweep is over, no snapshot of waiting jobs may be taken
 * before, and no plan is applied. If other events follow meanwhile, one pass is
 * made before the next sweep; it starts no job that should be in no row
 * (state_ineligible()). state_why() does not depend on rows and is right at
 * once. A restart needs no rest of a sweep: it looks up the rows of all jobs.
 */
#ifndef AISCHEDD_STATE_PASS_SWEEP_H
#define AISCHEDD_STATE_PASS_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

struct job;
struct state;

/* Which pending jobs a sweep looks at. */
enum {
	/* all, and those that hold nodes: the configuration was replaced */
	SWEEP_ALL = 1,
	SWEEP_QUEUES = 2,   /* those whose queue was closed or opened */
	SWEEP_RESERVED = 4, /* those that name a reservation */
	SWEEP_CLAIMS = 8,   /* those that mount volume claims */
	SWEEP_ALIGNED = 16, /* those on which pool_aligns() depends */
	SWEEP_RETRIES = 32, /* those whose retry is delayed: end the delay */
	SWEEP_PENDING = 64  /* all: kubelets place pods in another way */
};

struct sweep {
	unsigned what;  /* the jobs meant; 0: there is no sweep */
	unsigned next;  /* those of the sweep that follows; 0: none */
	bool planned;   /* a plan was applied since the last one began */
	struct job *at; /* the next job to look at, or NULL */
	int64_t now;    /* when it was begun */
	/* numbers of pending jobs with job->reserved, claims and aligned */
	uint64_t nreserved, nclaims, naligned;
	uint64_t left; /* steps that it may take before the next tick */
};

/* Whether a sweep is under way. */
bool state_is_sweeping(const struct state *state);

/* --- for this folder ---------------------------------------------------- */

void sweep_init(struct sweep *sweep);

/* Look at the jobs meant by `what`: at once if they are few, else the rest in
 * the next ticks. If a sweep is under way, another one follows it. Does nothing
 * if no job is meant. now: NO_TIME if it is not known. */
void sweep_begin(struct state *state, unsigned what, int64_t now);
/* Count the pending job, n times, by what it asks for. */
void sweep_count(struct state *state, const struct job *job, uint64_t n);
/* Call it when a plan was applied, or a pass skipped. */
void sweep_planned(struct state *state);
/* Whether sweep_tick() has something to do. */
bool sweep_is_due(const struct state *state);
/* Do the next slice. */
void sweep_tick(struct state *state);
/* Call it before the job is removed from the list of all jobs. */
void sweep_skip(struct state *state, const struct job *job);

#endif
