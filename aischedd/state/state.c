/* state.c - records of jobs, arrays and users; changes and effects */
#include "aischedd/state/state.h"

#include <stdlib.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/depend_watch.h"
#include "aischedd/state/pass/round.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/sweep.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

struct state *state_new(const struct conf *conf, past_fn *past, void *arg)
{
	struct state *state = xcalloc(1, sizeof(*state));

	state->conf = conf;
	state->past = past;
	state->past_arg = arg;
	state->next_id = 1;
	deps_init(&state->watches);
	rows_init(&state->rows);
	sweep_init(&state->sweep);
	round_init(&state->round);
	state->last_plan.wake = state->reservations.next = NO_TIME;
	state->queues.queue =
	    xcalloc(conf->nqueues, sizeof(*state->queues.queue));
	for (size_t i = 0; i < conf->nqueues; i++)
		state->queues.queue[i].closed = conf->queues[i].closed;
	/* A pool whose runner runs no jobs never reports that it is ready: it
	 * is ready from the start. */
	for (size_t i = 0; i < conf->npools; i++)
		state->pools.pool[i].ready =
		    !runner_traits(conf->pools[i].runner)->runs;
	node_index_sections(state);
	counts_init(state);
	return state;
}

static void free_attempts(struct unwritten *u)
{
	for (size_t i = 0; i < u->nattempts; i++)
		attempt_row_fini(&u->attempt[i]);
	u->nattempts = 0;
}

void state_free(struct state *state)
{
	struct job *next;
	struct array *array;
	size_t at = 0;

	if (!state)
		return;
	for (size_t i = 0; i < LIMIT_POOLS; i++)
		free(state->pools.pool[i].trouble);
	free(state->pools.kind);
	for (struct job *job = state->records.first; job; job = next) {
		next = job->all_next;
		deps_forget(state, job);
		job_free(job);
	}
	while ((array = map_each(&state->records.arrays, &at)))
		free(array);
	rows_free(&state->rows);
	affinity_free(&state->affinities);
	nodes_free(&state->nodes);
	scales_free(&state->scales);
	volumes_free(&state->volumes);
	for (size_t i = 0; i < state->users.n; i++)
		free((char *)state->users.user[i].name);
	free(state->users.user);
	free(state->queues.queue);
	idmap_free(&state->records.jobs);
	map_free(&state->records.arrays);
	map_free(&state->records.tasks);
	map_free(&state->users.by_uid);
	map_free(&state->waits.names);
	deps_fini(&state->watches);
	usage_free(state);
	cron_free(state);
	counts_free(state);
	capacity_free(state);
	rollups_free(state);
	reserve_free(state);
	free(state->alarms.heap);
	free(state->claims.holder);
	placed_free(state);
	free(state->unwritten.job);
	free(state->unwritten.gone);
	free(state->unwritten.array);
	free_attempts(&state->unwritten);
	free(state->unwritten.attempt);
	letters_forget(&state->unwritten);
	free(state->unwritten.letter);
	free(state->effects.effect);
	free(state->effects.taken);
	arena_free(state->last_plan.arena);
	round_fini(&state->round);
	free(state);
}

const struct conf *state_conf(const struct state *state)
{
	return state->conf;
}

struct job *state_job(const struct state *state, uint64_t id)
{
	return idmap_find(&state->records.jobs, id);
}

struct array *state_array(const struct state *state, uint64_t id)
{
	return map_find(&state->records.arrays, id);
}

uint64_t task_key(uint64_t array, uint32_t task)
{
	_Static_assert(LIMIT_ARRAY <= 1 << 20, "a task's number has 20 bits");
	return array << 20 | task;
}

struct job *state_task(const struct state *state, uint64_t array, uint32_t task)
{
	struct job *job =
	    map_find(&state->records.tasks, task_key(array, task));

	if (job || !state_array(state, array))
		return job;
	/* A task that has no record of its own is in the record of an
	 * unstarted part; these are the first in the list. */
	for (job = state_array(state, array)->first;
	     job && job->task == NO_TASK; job = job->array_next) {
		steps_add(1);
		if (idset_has(&job->tasks, task))
			return job;
	}
	return NULL;
}

struct job *state_first_job(const struct state *state)
{
	return state->records.first;
}

const struct user *state_user(const struct state *state, uint32_t user)
{
	return &state->users.user[user];
}

uint64_t state_next_id(const struct state *state)
{
	return state->next_id;
}

const uint64_t *state_counts(const struct state *state)
{
	return state->records.counts;
}

uint32_t state_intern_user(struct state *state, uint32_t uid, const char *name)
{
	/* The map has indexes plus one, because it cannot hold NULL. */
	uintptr_t known = (uintptr_t)map_find(&state->users.by_uid, uid);

	if (known)
		return (uint32_t)known - 1;
	state->users.user =
	    GROW(state->users.user, state->users.n, &state->users.cap);
	state->users.user[state->users.n] =
	    (struct user){ .uid = uid, .name = xstrdup(name) };
	map_set(&state->users.by_uid, uid,
	        (void *)(uintptr_t)(state->users.n + 1));
	return (uint32_t)state->users.n++;
}

/* --- changes to be written, effects to be carried out ------------------ */

void state_touch(struct state *state, struct job *job)
{
	placed_changed(state, job);
	if (job->dirty)
		return;
	job->dirty = true;
	state->unwritten.job =
	    GROW(state->unwritten.job, state->unwritten.njobs,
	         &state->unwritten.job_cap);
	state->unwritten.job[state->unwritten.njobs++] = job;
}

void state_touch_array(struct state *state, struct array *array)
{
	if (array->dirty)
		return;
	array->dirty = true;
	state->unwritten.array =
	    GROW(state->unwritten.array, state->unwritten.narrays,
	         &state->unwritten.array_cap);
	state->unwritten.array[state->unwritten.narrays++] = array;
}

void state_replan(struct state *state)
{
	state->want_plan = true;
	state->nchanges++;
}

bool state_wants_plan(const struct state *state)
{
	return state->want_plan && !state_is_sweeping(state);
}

void state_effect(struct state *state, struct effect effect)
{
	state->effects.effect =
	    GROW(state->effects.effect, state->effects.n, &state->effects.cap);
	state->effects.effect[state->effects.n++] = effect;
}

size_t state_effects(const struct state *state, const struct effect **ret)
{
	*ret = state->effects.effect;
	return state->effects.n;
}

size_t state_take_effects(struct state *state, const struct effect **ret)
{
	struct effect *was = state->effects.taken;
	size_t cap = state->effects.taken_cap, n = state->effects.n;

	state->effects.taken = state->effects.effect;
	state->effects.taken_cap = state->effects.cap;
	state->effects.effect = was;
	state->effects.cap = cap;
	state->effects.n = 0;
	*ret = state->effects.taken;
	return n;
}

void state_changes(const struct state *state, struct changes *ret)
{
	*ret = (struct changes){
		.njobs = state->unwritten.njobs,
		.job = state->unwritten.job,
		.ngone = state->unwritten.ngone,
		.gone = state->unwritten.gone,
		.narrays = state->unwritten.narrays,
		.array = state->unwritten.array,
		.attempt = state->unwritten.attempt,
		.nattempts = state->unwritten.nattempts,
		.letter = state->unwritten.letter,
		.nletters = state->unwritten.nletters,
		.next_id = state->next_id,
		.rollup = state->rollups.changed,
		.nrollups = state->rollups.nchanged,
		.lag = state->rollups.lag,
		.nlags = state->rollups.nlags,
		.lags = state->rollups.lags_changed,
		.nodes = state->nodes.dirty,
		.queues = state->queues.dirty,
		.usages = state->usages.dirty,
		.reservations = state->reservations.dirty,
	};
}

bool state_is_dirty(const struct state *state)
{
	return state->unwritten.njobs || state->unwritten.ngone ||
	       state->unwritten.narrays || state->unwritten.nletters ||
	       state->nodes.dirty || state->queues.dirty ||
	       state->usages.dirty || state->reservations.dirty ||
	       state->crons.is_dirty || state->rollups.nchanged;
}

/* --- records ----------------------------------------------------------- */

uint64_t state_take_ids(struct state *state, uint32_t n)
{
	uint64_t first = state->next_id;

	state->next_id += n;
	return first;
}

struct job *state_new_job(uint64_t id)
{
	struct job *job = xcalloc(1, sizeof(*job));

	job->id = id;
	job->task = NO_TASK;
	job->is_new = true;
	job->begin = job->deadline = job->eligible = NO_TIME;
	job->runs = &job_runs_none;
	return job;
}

void state_count(struct state *state, const struct job *job, int sign)
{
	uint64_t n = job_count(job) * (uint64_t)(int64_t)sign;
	struct usage *usage;

	state->records.counts[job->state] += n;
	counts_jobs(state, job, n);
	if (job_state_is_final(job->state))
		return;
	usage = usage_of(state, job->queue, job->user);
	usage->jobs += n;
	state->users.user[job->user].njobs += n;
	state->queues.queue[job->queue].jobs += n;
	if (job->state == JOB_PENDING) {
		sweep_count(state, job, n);
		return;
	}
	usage->running += n;
	state->queues.queue[job->queue].running += n;
}

void state_set(struct state *state, struct job *job, enum job_state to)
{
	enum job_state from = (enum job_state)job->state;

	state_count(state, job, -1);
	job->state = to;
	state_count(state, job, 1);
	counts_became(state, job, from);
	state_touch(state, job);
	state_replan(state);
}

/* Insert the record behind the last one of its kind: those of unstarted parts
 * come first. */
static void link_array(struct array *array, struct job *job)
{
	struct job *prev = array->last;

	if (job->task == NO_TASK) {
		prev = array->last_part;
		array->last_part = job;
	}
	job->array_prev = prev;
	job->array_next = prev ? prev->array_next : array->first;
	*(prev ? &prev->array_next : &array->first) = job;
	*(job->array_next ? &job->array_next->array_prev : &array->last) = job;
}

static void unlink_array(struct array *array, struct job *job)
{
	if (array->last_part == job)
		array->last_part = job->array_prev;
	*(job->array_prev ? &job->array_prev->array_next : &array->first) =
	    job->array_next;
	*(job->array_next ? &job->array_next->array_prev : &array->last) =
	    job->array_prev;
}

/* Insert the job into the list of all jobs, which is in order of ids. The
 * search begins at the end, because nearly all jobs that are added are new. */
static void link_job(struct job_table *records, struct job *job)
{
	struct job *prev = records->last;

	while (prev && prev->id > job->id)
		prev = prev->all_prev;
	job->all_prev = prev;
	job->all_next = prev ? prev->all_next : records->first;
	*(prev ? &prev->all_next : &records->first) = job;
	*(job->all_next ? &job->all_next->all_prev : &records->last) = job;
}

void state_add_job(struct state *state, struct job *job)
{
	idmap_set(&state->records.jobs, job->id, job);
	if (job->task != NO_TASK)
		map_set(&state->records.tasks, task_key(job->array, job->task),
		        job);
	link_job(&state->records, job);
	if (job->array)
		link_array(state_array(state, job->array), job);
	state_count(state, job, 1);
	names_add(state, job);
	affinity_add(state, job);
	cron_note_run(state, job);
	state_touch(state, job);
}

static void unlink_job(struct state *state, struct job *job)
{
	sweep_skip(state, job);
	if (job->array)
		unlink_array(state_array(state, job->array), job);
	idmap_del(&state->records.jobs, job->id);
	if (job->task != NO_TASK)
		map_del(&state->records.tasks, task_key(job->array, job->task));
	*(job->all_prev ? &job->all_prev->all_next : &state->records.first) =
	    job->all_next;
	*(job->all_next ? &job->all_next->all_prev : &state->records.last) =
	    job->all_prev;
}

void state_drop_job(struct state *state, struct job *job)
{
	row_remove(state, job);
	deps_forget(state, job);
	names_del(state, job);
	affinity_del(state, job);
	unlink_job(state, job);
	if (job->dirty) {
		size_t i = 0;

		while (state->unwritten.job[i] != job)
			i++;
		state->unwritten.job[i] =
		    state->unwritten.job[--state->unwritten.njobs];
	}
	if (!job->is_new) {
		state->unwritten.gone =
		    GROW(state->unwritten.gone, state->unwritten.ngone,
		         &state->unwritten.gone_cap);
		state->unwritten.gone[state->unwritten.ngone++] = job->id;
	}
	job_free(job);
}

void state_committed(struct state *state)
{
	for (size_t i = 0; i < state->unwritten.njobs; i++) {
		struct job *job = state->unwritten.job[i];

		job->dirty = job->is_new = job->came_back = false;
		if (!job_state_is_final(job->state))
			continue;
		state_count(state, job, -1);
		unlink_job(state, job);
		job_free(job);
	}
	for (size_t i = 0; i < state->unwritten.narrays; i++) {
		struct array *array = state->unwritten.array[i];

		array->dirty = array->is_new = false;
		if (array->unfinished)
			continue;
		map_del(&state->records.arrays, array->id);
		row_forget_array(state, array->id);
		free(array);
	}
	for (size_t i = 0; i < state->nodes.n; i++)
		state->nodes.node[i].dirty = false;
	for (size_t i = 0; i < state->usages.n; i++)
		state->usages.usage[i]->dirty = false;
	state->unwritten.njobs = state->unwritten.ngone = 0;
	state->unwritten.narrays = 0;
	free_attempts(&state->unwritten);
	letters_forget(&state->unwritten);
	rollups_committed(state);
	state->nodes.dirty = state->queues.dirty = false;
	state->usages.dirty = state->reservations.dirty = false;
	cron_committed(state);
}
