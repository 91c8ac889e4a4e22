/*
 * state_priv.h - struct state, and what only this folder may do to it
 */
#ifndef AISCHEDD_STATE_STATE_PRIV_H
#define AISCHEDD_STATE_STATE_PRIV_H

#include "aischedd/state/alarm.h"
#include "aischedd/state/node.h"
#include "aischedd/state/pool.h"
#include "aischedd/state/queue.h"
#include "aischedd/state/round.h"
#include "aischedd/state/row.h"
#include "aischedd/state/state.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"

struct state {
	const struct conf *conf;
	past_fn *past;
	void *past_arg;
	uint64_t gen; /* grows when what may be given out changes */
	uint64_t next_id;

	struct map jobs, arrays, tasks, rows, users, names, waiting, usages;
	uint64_t nsingletons;     /* jobs that wait for their name alone */
	struct job *first, *last; /* all, by id */
	struct job *placed;       /* all that hold nodes */
	uint64_t counts[JOB_NSTATES];

	struct row **row;
	size_t nrows, row_cap;
	uint32_t nslots, *slot; /* ever used; those that nobody has now */
	size_t nfree_slots, slot_cap;

	struct user *user;
	size_t nusers, user_cap;
	struct node *node;
	size_t nnodes, node_cap;
	struct map node_names;
	struct map sections; /* of the configuration, by node name */
	struct map fits;     /* hashes of shapes that fit the empty cluster */
	struct queue_state *queue; /* [conf->nqueues] */
	struct usage **usage;      /* of each user and queue there is one of */
	size_t nusages, usage_cap;
	struct pool_sum pool_sum[LIMIT_POOLS];
	uint64_t pool_sum_gen; /* gen + 1 when they were summed */
	bool pool_ready[LIMIT_POOLS];
	char *pool_trouble[LIMIT_POOLS]; /* NULL: there is none */

	struct alarm *alarm; /* heap, the earliest first; of job 0: plan */
	size_t nalarms, alarm_cap;
	int64_t wake; /* the last plan wants another one then, or NO_TIME */

	struct reservation *resv;
	size_t nresv, resv_cap;
	int64_t resv_next; /* one begins or ends, or NO_TIME */
	bool resv_dirty;

	struct job **holder; /* jobs that have claims */
	size_t nholders, holder_cap;

	struct job **dirty;
	size_t ndirty, dirty_cap;
	uint64_t *gone;
	size_t ngone, gone_cap;
	struct array **array_dirty;
	size_t narray_dirty, array_dirty_cap;
	bool nodes_dirty, queues_dirty, usages_dirty;

	struct effect *effect, *taken;
	size_t neffects, effect_cap, taken_cap;

	bool want_plan;
	uint64_t nchanges; /* that had to do with what is planned */
	struct round round;
	/* Of the last plan: the verdicts, and a snapshot without jobs that has
	 * the names of which they speak. */
	struct arena *plan_arena;
	const struct snap *plan_names;
	const struct verdict *verdict;
	struct turn_told *told; /* by job; others of rows with a verdict */
	uint32_t ntold;
	const int64_t (*plan_share)[RES_N]; /* by queue, or NULL */
	int64_t plan_capacity[RES_N];
	uint64_t plan_serial;
};

/* The record is to be written. */
void state_touch(struct state *state, struct job *job);
void state_touch_array(struct state *state, struct array *array);

/* Something changed that a plan depends on. */
void state_replan(struct state *state);
void state_effect(struct state *state, struct effect effect);

void state_set(struct state *state, struct job *job, enum job_state to);

/* Count the job in its state, queue and user; sign -1 takes it out. */
void state_count(struct state *state, const struct job *job, int sign);
struct job *state_new_job(uint64_t id);
void state_add_job(struct state *state, struct job *job);
uint64_t task_key(uint64_t array, uint32_t task); /* in state->tasks */

/* Remove and free a record that dissolved into others.  The counters no
 * longer count it. */
void state_drop_job(struct state *state, struct job *job);

#endif
