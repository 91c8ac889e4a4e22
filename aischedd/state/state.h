/*
 * state.h - jobs, arrays, nodes and queues in memory
 *
 * They are changed only by calls of this folder, on the thread of the event
 * loop. These calls do no I/O and read no clock. Each leaves changes, which the
 * daemon writes to the store, and effects, which the daemon carries out after
 * that. Ended jobs stay in memory until state_committed(); after that only the
 * store has them.
 */
#ifndef AISCHEDD_STATE_STATE_H
#define AISCHEDD_STATE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "aischedd/state/job.h"
#include "libcommon/conf/conf.h"

/* An array. It is freed after all of its tasks have ended. */
struct array {
	uint64_t id;
	uint32_t limit; /* this many tasks may run at once; 0: no limit */
	/* As submitted: the number of tasks; the lowest and the highest of
	 * their numbers, and the step between these. */
	uint32_t count, min, max, step;
	/* number of tasks that have not ended */
	uint32_t unfinished;
	/* number of tasks that ended in another state than COMPLETED */
	uint32_t failed;
	uint32_t running; /* number of tasks that hold nodes */
	int64_t started;  /* when the last task started, or NO_TIME */
	/* lowest and highest exit status of its ended tasks, or -1 */
	int32_t exit_low, exit_high;
	bool dirty, is_new;
	/* Its records, linked by array_next: those of unstarted parts, then
	 * those of single tasks. last_part: the last of the former, or NULL */
	struct job *first, *last, *last_part;
};

struct user {
	uint32_t uid;
	const char *name;
	uint64_t njobs; /* number of jobs that have not ended, in all queues */
	/* number of their records that have --near or --apart */
	uint64_t naffine;
};

enum effect_kind {
	EFFECT_START,
	EFFECT_STOP,
	EFFECT_SIGNAL,
	EFFECT_SUSPEND,
	EFFECT_RESUME,
	/* tell the runner which tasks the job has at the time when the effect
	 * is carried out */
	EFFECT_RESIZE,
	/* tell the runner to remove what it keeps about an ended attempt */
	EFFECT_FORGET,
	/* a run of a cron entry is due; `job` is the id of the entry */
	EFFECT_CRON,
	/* tell the runner of an adopted job the job's state */
	EFFECT_ADOPT,
	/* tell all runners that a job with ports has ended */
	EFFECT_PORTS,
	EFFECT_DRAIN,    /* tell the runner whether a node is drained */
	EFFECT_ADD_NODE, /* add a node of a template: cluster/scale.h */
	EFFECT_REMOVE_NODE
};

struct effect {
	enum effect_kind kind;
	uint64_t job;
	uint32_t attempt;
	enum stop_why why;
	int64_t grace;            /* of STOP, in seconds */
	struct run_signal signal; /* of SIGNAL: which one to send */
	/* of DRAIN and *_NODE: the node; of FORGET: a node of the job, because
	 * the job may be freed before the effect is carried out */
	uint32_t node;
	uint32_t pool; /* of ADOPT: the job's pool */
	/* of ADOPT: the job's state, because the job may be freed */
	enum job_state state;
};

struct state;

/* The end of a job that is no longer in the state, as the store has it. */
struct past {
	enum job_state state;
	uint32_t uid;
	int64_t start;
};
/* Look up an ended job or array (task NO_TASK), or a task of an array. For an
 * array the state is the worst of its tasks. Returns 0, or -1 if there is no
 * such job. */
typedef int past_fn(uint64_t job, uint32_t task, struct past *ret, void *arg);

struct state *state_new(const struct conf *conf, past_fn *past, void *arg);
void state_free(struct state *state);

const struct conf *state_conf(const struct state *state);

struct job *state_job(const struct state *state, uint64_t id);
struct array *state_array(const struct state *state, uint64_t id);
/* Returns the record of one task of an array: the task's own, or that of the
 * unstarted part that contains the task; NULL if there is none. */
struct job *state_task(const struct state *state, uint64_t array,
                       uint32_t task);

/* Returns the first record in the list of all jobs, which is in order of ids
 * and linked by all_next; NULL if there are no jobs. */
struct job *state_first_job(const struct state *state);

const struct user *state_user(const struct state *state, uint32_t user);
uint64_t state_next_id(const struct state *state);

/* Reserve n consecutive ids; returns the first. */
uint64_t state_take_ids(struct state *state, uint32_t n);

/* Returns the index of the user with this uid; an unknown user is added with
 * this name. */
uint32_t state_intern_user(struct state *state, uint32_t uid, const char *name);

/* Returns an array of JOB_NSTATES numbers: how many jobs are in each state.
 * Each task of an array counts as a job. */
const uint64_t *state_counts(const struct state *state);

/* Whether anything that a plan depends on has changed since the last snapshot
 * for a plan; false while a sweep is under way (pass/sweep.h). */
bool state_wants_plan(const struct state *state);

/* --- changes to be written, effects to be carried out ------------------ */

struct changes {
	size_t njobs, ngone, narrays;
	struct job *const *job; /* jobs that are new, changed or ended */
	/* ids of records to be deleted from the store */
	const uint64_t *gone;
	/* arrays to be written, or deleted if `unfinished` is 0 */
	struct array *const *array;
	/* attempts that have ended, see ledger.h */
	const struct attempt_row *attempt;
	size_t nattempts;
	const struct letter *letter; /* mails to be sent, see letter.h */
	size_t nletters;
	uint64_t next_id;
	struct rollup *const *rollup; /* rollups to be written, see rollup.h */
	size_t nrollups;
	const struct rollup_lag *lag;
	size_t nlags;
	/* lag[] has changed, and is to be written */
	bool lags;
	/* whether records of this kind are to be written */
	bool nodes, queues, usages, reservations;
};

/* Get the changes since the last state_committed(); borrowed until the
 * next change. */
void state_changes(const struct state *state, struct changes *ret);
bool state_is_dirty(const struct state *state);

/* Forget the changes, and free ended jobs. Call it once the store has written
 * the changes. */
void state_committed(struct state *state);

/* Get the effects that the next state_take_effects() will return, without
 * taking them; borrowed until the next change. Returns their number. */
size_t state_effects(const struct state *state, const struct effect **ret);

/* Take the effects that were left since the last call of this function;
 * borrowed until its next call. Returns their number. */
size_t state_take_effects(struct state *state, const struct effect **ret);

#endif
