/* state.c - the truth in memory: records, lists, what is to be written */
#include "aischedd/state/state.h"

#include <stdlib.h>

#include "aischedd/state/depend.h"
#include "aischedd/state/node.h"
#include "aischedd/state/reserve.h"
#include "aischedd/state/round.h"
#include "aischedd/state/row.h"
#include "aischedd/state/state_priv.h"
#include "aischedd/state/usage.h"
#include "libcommon/mem.h"

struct state *state_new(const struct conf *conf, past_fn *past, void *arg)
{
	struct state *state = xcalloc(1, sizeof(*state));

	state->conf = conf;
	state->past = past;
	state->past_arg = arg;
	state->next_id = 1;
	round_init(&state->round);
	state->wake = state->resv_next = NO_TIME;
	state->queue = xcalloc(conf->nqueues, sizeof(*state->queue));
	for (size_t i = 0; i < conf->nqueues; i++)
		state->queue[i].closed = conf->queues[i].closed;
	/* Without a runner there is nothing to wait for. */
	for (size_t i = 0; i < conf->npools; i++)
		state->pool_ready[i] = conf->pools[i].runner == RUNNER_NONE;
	node_index_sections(state);
	return state;
}

static void free_rows(struct state *state)
{
	for (size_t i = 0; i < state->nrows; i++) {
		free(state->row[i]);
	}
	free(state->row);
	free(state->slot);
	map_free(&state->rows);
}

static void free_nodes(struct state *state)
{
	for (size_t i = 0; i < state->nnodes; i++) {
		struct node *node = &state->node[i];

		free((char *)node->name);
		free(node->drain_reason);
		free(node->seen_reason);
		free(node->avoid_reason);
		free(node->cpu_numa);
		free(node->gpu_numa);
		free(node->gpu_link);
		free(node->cpu_core);
		free(node->cpu_reserved);
		free(node->gpu_type);
		free(node->topology);
		node_free_words(&node->features);
		node_free_words(&node->taints);
	}
	free(state->node);
}

void state_free(struct state *state)
{
	struct job *next;
	struct array *array;
	size_t at = 0;

	if (!state)
		return;
	for (size_t i = 0; i < LIMIT_POOLS; i++)
		free(state->pool_trouble[i]);
	for (struct job *job = state->first; job; job = next) {
		next = job->all_next;
		deps_forget(state, job);
		job_free(job);
	}
	while ((array = map_each(&state->arrays, &at)))
		free(array);
	free_rows(state);
	free_nodes(state);
	for (size_t i = 0; i < state->nusers; i++)
		free((char *)state->user[i].name);
	free(state->user);
	free(state->queue);
	map_free(&state->jobs);
	map_free(&state->arrays);
	map_free(&state->tasks);
	map_free(&state->users);
	map_free(&state->names);
	map_free(&state->waiting);
	usage_free(state);
	reserve_free(state);
	map_free(&state->node_names);
	map_free(&state->sections);
	map_free(&state->fits);
	free(state->alarm);
	free(state->holder);
	free(state->dirty);
	free(state->gone);
	free(state->array_dirty);
	free(state->effect);
	free(state->taken);
	arena_free(state->plan_arena);
	round_fini(&state->round);
	free(state);
}

const struct conf *state_conf(const struct state *state)
{
	return state->conf;
}

struct job *state_job(const struct state *state, uint64_t id)
{
	return map_find(&state->jobs, id);
}

struct array *state_array(const struct state *state, uint64_t id)
{
	return map_find(&state->arrays, id);
}

uint64_t task_key(uint64_t array, uint32_t task)
{
	_Static_assert(LIMIT_ARRAY <= 1 << 20, "a task's number has 20 bits");
	return array << 20 | task;
}

struct job *state_task(const struct state *state, uint64_t array, uint32_t task)
{
	struct job *job = map_find(&state->tasks, task_key(array, task));

	if (job || !state_array(state, array))
		return job;
	/* Not started: in one of the parts. */
	for (job = state_array(state, array)->first; job; job = job->array_next)
		if (idset_has(&job->tasks, task))
			return job;
	return NULL;
}

struct job *state_first_job(const struct state *state)
{
	return state->first;
}

const struct user *state_user(const struct state *state, uint32_t user)
{
	return &state->user[user];
}

uint64_t state_next_id(const struct state *state)
{
	return state->next_id;
}

const uint64_t *state_counts(const struct state *state)
{
	return state->counts;
}

uint32_t state_intern_user(struct state *state, uint32_t uid, const char *name)
{
	/* The number is kept plus one: the map cannot hold NULL. */
	uintptr_t known = (uintptr_t)map_find(&state->users, uid);

	if (known)
		return (uint32_t)known - 1;
	state->user = GROW(state->user, state->nusers, &state->user_cap);
	state->user[state->nusers] =
	    (struct user){ .uid = uid, .name = xstrdup(name) };
	map_set(&state->users, uid, (void *)(uintptr_t)(state->nusers + 1));
	return (uint32_t)state->nusers++;
}

/* --- what is to be written and done ------------------------------------ */

void state_touch(struct state *state, struct job *job)
{
	if (job->dirty)
		return;
	job->dirty = true;
	state->dirty = GROW(state->dirty, state->ndirty, &state->dirty_cap);
	state->dirty[state->ndirty++] = job;
}

void state_touch_array(struct state *state, struct array *array)
{
	if (array->dirty)
		return;
	array->dirty = true;
	state->array_dirty = GROW(state->array_dirty, state->narray_dirty,
	                          &state->array_dirty_cap);
	state->array_dirty[state->narray_dirty++] = array;
}

void state_replan(struct state *state)
{
	state->want_plan = true;
	state->nchanges++;
}

bool state_wants_plan(const struct state *state)
{
	return state->want_plan;
}

void state_effect(struct state *state, struct effect effect)
{
	state->effect =
	    GROW(state->effect, state->neffects, &state->effect_cap);
	state->effect[state->neffects++] = effect;
}

size_t state_take_effects(struct state *state, const struct effect **ret)
{
	struct effect *was = state->taken;
	size_t cap = state->taken_cap, n = state->neffects;

	state->taken = state->effect;
	state->taken_cap = state->effect_cap;
	state->effect = was;
	state->effect_cap = cap;
	state->neffects = 0;
	*ret = state->taken;
	return n;
}

void state_changes(const struct state *state, struct changes *ret)
{
	*ret = (struct changes){
		.njobs = state->ndirty,
		.job = state->dirty,
		.ngone = state->ngone,
		.gone = state->gone,
		.narrays = state->narray_dirty,
		.array = state->array_dirty,
		.next_id = state->next_id,
		.nodes = state->nodes_dirty,
		.queues = state->queues_dirty,
		.usages = state->usages_dirty,
		.reservations = state->resv_dirty,
	};
}

bool state_is_dirty(const struct state *state)
{
	return state->ndirty || state->ngone || state->narray_dirty ||
	       state->nodes_dirty || state->queues_dirty ||
	       state->usages_dirty || state->resv_dirty;
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
	job->start = job->end = job->resumed = job->retry_at = NO_TIME;
	job->leave_by = NO_TIME;
	job->exit_code = -1;
	job->peak_mem_kib = SPEC_UNSET;
	return job;
}

void state_count(struct state *state, const struct job *job, int sign)
{
	uint64_t n = job_count(job) * (uint64_t)(int64_t)sign;
	struct usage *usage;

	state->counts[job->state] += n;
	if (job_state_is_final(job->state))
		return;
	usage = usage_of(state, job->queue, job->user);
	usage->jobs += n;
	state->queue[job->queue].jobs += n;
	if (job->state == JOB_PENDING)
		return;
	usage->running += n;
	state->queue[job->queue].running += n;
}

void state_set(struct state *state, struct job *job, enum job_state to)
{
	state_count(state, job, -1);
	job->state = to;
	state_count(state, job, 1);
	state_touch(state, job);
	state_replan(state);
}

static void link_array(struct array *array, struct job *job)
{
	job->array_prev = array->last;
	job->array_next = NULL;
	*(array->last ? &array->last->array_next : &array->first) = job;
	array->last = job;
}

static void unlink_array(struct array *array, struct job *job)
{
	*(job->array_prev ? &job->array_prev->array_next : &array->first) =
	    job->array_next;
	*(job->array_next ? &job->array_next->array_prev : &array->last) =
	    job->array_prev;
}

void state_add_job(struct state *state, struct job *job)
{
	map_set(&state->jobs, job->id, job);
	if (job->task != NO_TASK)
		map_set(&state->tasks, task_key(job->array, job->task), job);
	job->all_prev = state->last;
	*(state->last ? &state->last->all_next : &state->first) = job;
	state->last = job;
	if (job->array)
		link_array(state_array(state, job->array), job);
	state_count(state, job, 1);
	names_add(state, job);
	state_touch(state, job);
}

static void unlink_job(struct state *state, struct job *job)
{
	if (job->array)
		unlink_array(state_array(state, job->array), job);
	map_del(&state->jobs, job->id);
	if (job->task != NO_TASK)
		map_del(&state->tasks, task_key(job->array, job->task));
	*(job->all_prev ? &job->all_prev->all_next : &state->first) =
	    job->all_next;
	*(job->all_next ? &job->all_next->all_prev : &state->last) =
	    job->all_prev;
}

void state_drop_job(struct state *state, struct job *job)
{
	row_remove(state, job);
	deps_forget(state, job);
	names_del(state, job);
	unlink_job(state, job);
	if (job->dirty) {
		size_t i = 0;

		while (state->dirty[i] != job)
			i++;
		state->dirty[i] = state->dirty[--state->ndirty];
	}
	if (!job->is_new) {
		state->gone = GROW(state->gone, state->ngone, &state->gone_cap);
		state->gone[state->ngone++] = job->id;
	}
	job_free(job);
}

void state_committed(struct state *state)
{
	for (size_t i = 0; i < state->ndirty; i++) {
		struct job *job = state->dirty[i];

		job->dirty = job->is_new = false;
		if (!job_state_is_final(job->state))
			continue;
		state_count(state, job, -1);
		unlink_job(state, job);
		job_free(job);
	}
	for (size_t i = 0; i < state->narray_dirty; i++) {
		struct array *array = state->array_dirty[i];

		array->dirty = array->is_new = false;
		if (array->unfinished)
			continue;
		map_del(&state->arrays, array->id);
		free(array);
	}
	for (size_t i = 0; i < state->nnodes; i++)
		state->node[i].dirty = false;
	for (size_t i = 0; i < state->nusages; i++)
		state->usage[i]->dirty = false;
	state->ndirty = state->ngone = 0;
	state->narray_dirty = 0;
	state->nodes_dirty = state->queues_dirty = false;
	state->usages_dirty = state->resv_dirty = false;
}
