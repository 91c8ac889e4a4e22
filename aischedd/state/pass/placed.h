/*
 * placed.h - what snapshots say about the jobs that hold nodes
 *
 * Records of jobs are large and far apart in memory. So an array has a copy of
 * what a snapshot needs of each. The copy of a job that has changed is made
 * anew for the next snapshot.
 */
#ifndef AISCHEDD_STATE_PASS_PLACED_H
#define AISCHEDD_STATE_PASS_PLACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job;
struct placed_key;
struct placement;
struct state;

struct placed_run {
	struct job *job; /* NULL: it no longer holds nodes */
	const struct placed_key *key;
	const struct placement *place, *leaving;
	uint32_t ntasks, nuse; /* of both: their tasks, and CPUs of these */
	uint64_t id;
	/* as in struct snap_run */
	int64_t priority, start, end, safe, waited, ran;
	uint32_t queue, user;
	bool suspended, preemptible, ending, freezable;
	bool resumes;           /* it is suspended and waits to be resumed */
	bool claims;            /* nodes are held for it */
	bool stale;             /* it has changed since */
	struct node_hold *hold; /* node_frame_take(); NULL: not taken yet */
};

struct placed_list {
	struct placed_run *run;
	size_t n, cap;
	size_t ngone; /* how many of them are NULL */
	uint64_t gen; /* 1 + state->gen when the copies were made */
	/* how often a job got nodes, lost them, or may have changed there */
	uint64_t moves;
	uint64_t copied; /* `moves` when the copies were made */
	/* columns that snapshots share (pass/snap_job.c); NULL: the next
	 * snapshot writes them */
	struct run_frame *frame;
};

/* Add a job that gets nodes; remove a job that loses them. */
void placed_add(struct state *state, struct job *job);
void placed_drop(struct state *state, struct job *job);
void placed_free(struct state *state);

/* Call it if a job that may hold nodes has changed; state_touch() and
 * placed_key_forget() do. */
void placed_changed(struct state *state, const struct job *job);

/* Call it after state->gen went up by one, if nothing that the copies have has
 * changed: those that were up to date still are. */
void placed_keep(struct state *state);

/* Make all copies anew, for tests. */
void placed_all_changed(struct state *state);

/* Returns the copies, all of them up to date, and sets *ret_n to their number.
 * The job that got nodes last is the last one. */
const struct placed_run *placed_runs(struct state *state, size_t *ret_n);

/* Returns whether a plan could change some of these jobs: resume it, add tasks,
 * or drop its claim. */
bool placed_may_change(struct state *state);

#endif
