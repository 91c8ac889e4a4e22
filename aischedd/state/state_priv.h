/*
 * state_priv.h - struct state, and functions for this folder only
 */
#ifndef AISCHEDD_STATE_STATE_PRIV_H
#define AISCHEDD_STATE_STATE_PRIV_H

#include "aischedd/state/cluster/capacity.h"
#include "aischedd/state/cluster/counts.h"
#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/pool.h"
#include "aischedd/state/cluster/queue.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/rollup.h"
#include "aischedd/state/cluster/scale.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/cluster/volume.h"
#include "aischedd/state/idmap.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/cron.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/depend_watch.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/letter.h"
#include "aischedd/state/life/refuse.h"
#include "aischedd/state/pass/affinity.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/placed.h"
#include "aischedd/state/pass/round.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/sweep.h"
#include "aischedd/state/state.h"
#include "libcommon/map.h"

/* All records of jobs and arrays, and the number of jobs in each state. */
struct job_table {
	struct idmap jobs;        /* by id */
	struct map arrays, tasks; /* by id; `tasks` by task_key() */
	struct job *first, *last; /* all jobs, in order of ids */
	/* list of the jobs that hold nodes, linked by row_next */
	struct job *placed;
	uint64_t counts[JOB_NSTATES];
};

struct user_table {
	struct map by_uid;
	struct user *user;
	size_t n, cap;
};

/* Records that the next commit writes. */
struct unwritten {
	struct job **job;
	size_t njobs, job_cap;
	uint64_t *gone;
	size_t ngone, gone_cap;
	struct array **array;
	size_t narrays, array_cap;
	struct attempt_row *attempt; /* attempts that have ended */
	size_t nattempts, attempt_cap;
	struct letter *letter; /* mails to send */
	size_t nletters, letter_cap;
};

struct effect_queue {
	struct effect *effect, *taken;
	size_t n, cap, taken_cap;
};

/* The whole state. Each part is changed only by the file whose header declares
 * its struct. */
struct state {
	const struct conf *conf;
	past_fn *past;
	void *past_arg;
	uint64_t gen; /* grows when nodes, queues or limits change */
	uint64_t next_id;
	int64_t wall_ms; /* wall clock, as state_clock() last set it */

	struct job_table records;
	struct dep_index waits;
	struct dep_lists watches;
	struct affinity_index affinities;
	struct row_index rows;
	struct sweep sweep;
	struct alarm_heap alarms;
	struct claim_list claims;
	struct refusal_list refusals;
	struct placed_list placed;
	struct cron_table crons;

	struct node_table nodes;
	struct scale_table scales;
	struct pool_table pools;
	struct volume_table volumes;
	struct queue_table queues;
	struct reservation_list reservations;
	struct user_table users;
	struct usage_table usages;
	struct count_table happened;
	struct rollup_table rollups;
	struct capacity_table capacities;

	struct unwritten unwritten;
	struct effect_queue effects;

	bool want_plan;
	uint64_t nchanges; /* counts the calls of state_replan() */
	struct round round;
	struct last_plan last_plan;
};

/* Have the next commit write the record. */
void state_touch(struct state *state, struct job *job);
void state_touch_array(struct state *state, struct array *array);

/* Ask for a new plan, because something that plans depend on has changed. */
void state_replan(struct state *state);
/* Append an effect, which the daemon carries out after the commit. */
void state_effect(struct state *state, struct effect effect);

/* Change the job's state, update all counts, and ask for a new plan. */
void state_set(struct state *state, struct job *job, enum job_state to);

/* Add the job to the counts of its state, queue and user; sign -1: subtract it
 * from them. */
void state_count(struct state *state, const struct job *job, int sign);
struct job *state_new_job(uint64_t id);
void state_add_job(struct state *state, struct job *job);
/* Returns the key of an array's task in state->records.tasks. */
uint64_t task_key(uint64_t array, uint32_t task);

/* Remove and free the record of an array's unstarted tasks after all of them
 * were split off. The caller has already subtracted it from the counts. */
void state_drop_job(struct state *state, struct job *job);

#endif
