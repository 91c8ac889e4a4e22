/*
 * world.h - a state with nodes and a clock, for tests
 *
 * Jobs are submitted as texts of aisub's options ("tasks=2 hold"). Scheduling
 * passes, events of runners and time happen only when the test says so, and
 * results are lines of text. After each step the counters of the state are
 * checked against its jobs.
 */
#ifndef TESTS_UNIT_STATE_WORLD_H
#define TESTS_UNIT_STATE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/state.h"

/* A job that has ended and left the state, as in the history. */
struct over {
	uint64_t id, array;
	uint32_t task;
	struct idset tasks;
	struct past past;
};

struct world {
	struct conf *conf, *old_conf;
	struct state *state;
	struct arena *arena; /* texts of submissions */
	int64_t now;
	struct submitter who;
	struct err err; /* why the last call failed */
	struct buf text;
	struct over *over;
	size_t nover, over_cap;
	/* of the snapshot that world_look() took; NULL: none */
	struct arena *looked;
	const struct snap *seen;
};

/* The default configuration: a local pool and a queue. */
#define WORLD_CONF "pool here { runner = local }\nqueue batch { }\n"

/* Begin a world; conf NULL means WORLD_CONF. The clock begins at 1000; there
 * are no nodes yet. */
void world_init(struct world *w, const char *conf);
void world_init_past(struct world *w, const char *conf, past_fn *past,
                     void *arg);
void world_fini(struct world *w);
struct conf *world_conf(const char *text);

/* Begin a world with node n0: 4 CPUs, 4000 MiB, 2 GPUs. */
void world_with_node(struct world *w, const char *conf);
void world_node(struct world *w, const char *name, uint32_t cpus,
                int64_t mem_mib, uint32_t gpus);

/* Submit a job. Returns its id, counted from 1, or 0 if it is refused, with the
 * reason in w->err. */
uint64_t world_submit(struct world *w, const char *options);
struct spec world_spec(struct world *w, const char *options);

/* Run one pass of the scheduler; jobs that it starts are CONFIGURING. */
void world_plan(struct world *w);
/* Run one pass, then report that all CONFIGURING jobs have started. */
void world_run(struct world *w);

/* Report an event of a job's runner. Returns -1 if the state refuses it, with
 * the reason in w->err. */
int world_event(struct world *w, uint64_t job, enum event_kind kind);
void world_end(struct world *w, uint64_t job, int exit_code);
void world_tick(struct world *w, int64_t seconds);

/*
 * Apply a plan written by the test in place of the scheduler's, made from the
 * snapshot of world_look(), or else from a snapshot taken now. Its steps are
 * joined by ';'; nodes are named one per task, tasks by their indices:
 *
 *	start JOB n0,n1 · grow JOB n0
 *	claim JOB n0 (for a pending job) · hold JOB n0 (for a running job)
 *	evict JOB all|0,2 preempt|reclaim|consolidate BY [suspend]
 *	wake SECONDS (from now, for another pass)
 */
void world_look(struct world *w);
void world_decide(struct world *w, const char *text);

/* Commit all changes as the store would: ended jobs move to the history. */
void world_commit(struct world *w);

/* Returns all jobs of the state in the order of their ids, until the next call:
 * "1 R, 2 PD Priority, 3_[1-4] PD Dependency, 3_0 CD". */
const char *world_jobs(struct world *w);
/* Returns the effects for runners since the last call: "start 1.1, stop 2.1,
 * forget 3.1". */
const char *world_effects(struct world *w);
/* Returns a job's reason with its text: "JobHeldUser: it was ...". */
const char *world_why(struct world *w, uint64_t job);

size_t world_alarms(const struct world *w);
const char *world_event_name(enum event_kind kind);

/*
 * Run steps; the array ends with NULL. "STEP => PATTERN" compares the step's
 * result with a pattern of glob_match(); without "=>" the result must be empty.
 * A refused step has the result "! ERROR". JOB is 1 unless given. Steps that do
 * something, and have an empty result:
 *
 *	submit OPTIONS · EVENT [JOB] · end JOB STATUS · split JOB TASKS
 *	plan · run · commit · forget (the history) · +SECONDS
 *	operator · user (the role for later steps) · budget CLAIMS (of a pass)
 *	look · decide TEXT · tell (drop the effects so far)
 *	top JOB · update JOB FIELD=VALUE;... · open QUEUE · close QUEUE
 *	drain NODE · undrain NODE · node [POOL/]NAME CPUS · gone POOL/NAME
 *	unreserve NAME
 *	reserve NAME START END NODES|COUNT USERS|- [daily|weekly], with times in
 *	seconds from now
 *
 * Steps that return something:
 *
 *	wants (a pass: yes or no) · snap KEYWORD (lines of the snapshot)
 *	jobs · effects · next (seconds until the next alarm) · reservations
 *	why [JOB] · turn [JOB] · comment [JOB] · depend [JOB]
 */
void world_play(struct world *w, const char *name, const char *const *step);

/* Check the counters of the state against its jobs, and what it keeps for
 * snapshots against its nodes. */
void world_check(const struct world *w);

#endif
