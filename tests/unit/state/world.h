/*
 * world.h - a state with a machine and a clock, for tests
 *
 * Jobs are submitted as texts of aisub's options ("tasks=2 hold"), passes and
 * runners act when the test says so, and results are one line of text. Every
 * step compares the counters with the jobs.
 */
#ifndef TESTS_UNIT_STATE_WORLD_H
#define TESTS_UNIT_STATE_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/life/lifecycle.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/state.h"

/* A job that has left the state. */
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
	struct err err; /* of the last call that failed */
	struct buf text;
	struct over *over;
	size_t nover, over_cap;
	struct arena *looked; /* owns the last snapshot, or NULL */
	const struct snap *seen;
};

/* One local pool, one queue. */
#define WORLD_CONF "pool here { runner = local }\nqueue batch { }\n"

/* conf NULL: WORLD_CONF. The clock begins at 1000; there are no nodes yet. */
void world_init(struct world *w, const char *conf);
void world_init_past(struct world *w, const char *conf, past_fn *past,
                     void *arg);
void world_fini(struct world *w);
struct conf *world_conf(const char *text);

/* Likewise with node n0: 4 CPUs, 4000 MiB, 2 GPUs. */
void world_with_node(struct world *w, const char *conf);
void world_node(struct world *w, const char *name, uint32_t cpus,
                int64_t mem_mib, uint32_t gpus);

/* Submit; ids count from 1. Returns 0 if refused, see w->err. */
uint64_t world_submit(struct world *w, const char *options);
struct spec world_spec(struct world *w, const char *options);

/* One pass of the scheduler; whatever starts is CONFIGURING. */
void world_plan(struct world *w);
/* One pass; then the runner reports that everything started. */
void world_run(struct world *w);

/* -1: refused, see w->err. */
int world_event(struct world *w, uint64_t job, enum event_kind kind);
void world_end(struct world *w, uint64_t job, int exit_code);
void world_tick(struct world *w, int64_t seconds);

/*
 * Decide in the scheduler's place, on what world_look() saw, else on what
 * there is.  Steps joined by ';', nodes one a task:
 *	start JOB n0,n1 · grow JOB n0
 *	claim JOB n0 (it waits) · hold JOB n0 (it runs)
 *	evict JOB all|0,2 preempt|reclaim|consolidate BY [suspend]
 *	wake SECONDS
 */
void world_look(struct world *w);
void world_decide(struct world *w, const char *text);

/* A part of an array becomes a record of its own. */
struct job *world_split(struct world *w, uint64_t array, const char *tasks);

/* Commit all changes: ended jobs move to the history. */
void world_commit(struct world *w);
int world_past(uint64_t job, uint32_t task, struct past *ret, void *arg);

/* All that has not been committed away, in order of ids, until the next call:
 * "1 R, 2 PD Priority, 3_[1-4] PD Dependency, 3_0 CD". */
const char *world_jobs(struct world *w);
/* The effects for runners: "start 1.1, stop 2.1, forget 3.1". */
const char *world_effects(struct world *w);
/* "JobHeldUser: it was ..." */
const char *world_why(struct world *w, uint64_t job);

size_t world_alarms(const struct world *w);
const char *world_event_name(enum event_kind kind);

/*
 * Steps, NULL at the end; "STEP => TEXT" is checked, "!..." is a refusal.
 *	submit OPTIONS · EVENT [JOB] · end JOB STATUS · split JOB TASKS
 *	plan · run · commit · forget (the past) · +SECONDS · operator · user
 *	budget CLAIMS (of a pass)
 *	look · decide TEXT · wants (a plan?) · snap KEYWORD (its lines)
 *	top JOB · update JOB FIELD=VALUE;... · open QUEUE · close QUEUE
 *	drain NODE · undrain NODE · node [POOL/]NAME CPUS
 *	reserve NAME START END NODES|COUNT USERS|- [daily|weekly] (seconds from
 *	now on) · unreserve NAME · reservations
 *	jobs · next (alarm, in seconds) · effects · tell (forgets them)
 *	why [JOB] · turn [JOB] · comment [JOB] · depend [JOB]
 * JOB is 1 where none is named.
 */
void world_play(struct world *w, const char *name, const char *const *step);

/* Check that everything agrees with the counters. */
void world_check(const struct world *w);

#endif
