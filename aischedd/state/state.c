/* state.c - the truth in memory: records, lists, what is to be written */
#include "aischedd/state/state.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/state_priv.h"
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
		free(node->reason);
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

bool state_queue_open(const struct state *state, uint32_t queue)
{
	return !state->queue[queue].closed;
}

uint64_t state_next_id(const struct state *state)
{
	return state->next_id;
}

const uint64_t *state_counts(const struct state *state)
{
	return state->counts;
}

uint64_t state_queue_count(const struct state *state, uint32_t queue,
                           bool running)
{
	uint64_t n =
	    running ? state->queue[queue].running : state->queue[queue].jobs;

	for (size_t i = queue + 1; i < state->conf->nqueues; i++)
		if (state->conf->queues[i].parent == (int)queue)
			n += state_queue_count(state, (uint32_t)i, running);
	return n;
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

/* --- alarms ------------------------------------------------------------ */

static void sift_up(struct state *state, struct alarm alarm)
{
	size_t i = state->nalarms++;

	for (; i && state->alarm[(i - 1) / 2].at > alarm.at; i = (i - 1) / 2)
		state->alarm[i] = state->alarm[(i - 1) / 2];
	state->alarm[i] = alarm;
}

/* Most jobs end long before their limit: what is left of them goes. */
static void drop_stale_alarms(struct state *state)
{
	size_t n = state->nalarms;

	state->nalarms = 0;
	for (size_t i = 0; i < n; i++)
		if (!state->alarm[i].job ||
		    state_job(state, state->alarm[i].job))
			sift_up(state, state->alarm[i]);
}

void state_alarm(struct state *state, int64_t at, uint64_t job)
{
	if (at == NO_TIME)
		return;
	if (state->nalarms == state->alarm_cap) {
		drop_stale_alarms(state);
		if (state->nalarms >= state->alarm_cap / 2)
			state->alarm =
			    grow_array(state->alarm, &state->alarm_cap,
			               sizeof(*state->alarm));
	}
	sift_up(state, (struct alarm){ at, job });
}

void state_arm(struct state *state, const struct job *job)
{
	int64_t limit_at = job_limit_at(job);
	struct spec spec;

	state_alarm(state, job->begin, job->id);
	state_alarm(state, job->retry_at, job->id);
	state_alarm(state, job->leave_by, job->id);
	if (job_latest_at(job) != NO_TIME)
		state_alarm(state, job_latest_at(job) + 1, job->id);
	if (limit_at == NO_TIME)
		return;
	state_alarm(state, limit_at, job->id);
	spec_unpack(&spec, job->packed);
	if (spec.signal != SPEC_UNSET)
		state_alarm(state, limit_at - spec.signal_before, job->id);
}

int64_t state_next_tick(const struct state *state)
{
	int64_t at = state->nalarms ? state->alarm[0].at : NO_TIME;

	if (at == NO_TIME || (state->wake != NO_TIME && state->wake < at))
		at = state->wake;
	if (at == NO_TIME ||
	    (state->resv_next != NO_TIME && state->resv_next < at))
		at = state->resv_next;
	return at;
}

static struct alarm pop_alarm(struct state *state)
{
	struct alarm first = state->alarm[0];
	struct alarm last = state->alarm[--state->nalarms];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < state->nalarms) {
		if (child + 1 < state->nalarms &&
		    state->alarm[child + 1].at < state->alarm[child].at)
			child++;
		if (last.at <= state->alarm[child].at)
			break;
		state->alarm[i] = state->alarm[child];
		i = child;
	}
	state->alarm[i] = last;
	return first;
}

/*
 * An alarm only says that something of this job may be due: the job itself
 * knows what.  One that has been overtaken finds nothing to do.
 */
static void tick_job(struct state *state, struct job *job, int64_t now)
{
	struct event_in ev = { .now = now };
	int64_t limit_at = job_limit_at(job);

	if (job->leave_by != NO_TIME && job->leave_by <= now)
		evict_overdue(state, job, now);
	if (job->state == JOB_PENDING) {
		if (job->begin != NO_TIME && job->begin <= now)
			job->begin = NO_TIME;
		if (job->retry_at != NO_TIME && job->retry_at <= now)
			job->retry_at = NO_TIME;
		deps_judge(state, job, now);
		state_reindex(state, job, now);
	}
	if (job_latest_at(job) != NO_TIME && job_latest_at(job) < now) {
		ev.kind = EV_deadline;
		state_event(state, job, &ev, NULL);
		return;
	}
	if (job->state != JOB_RUNNING || limit_at == NO_TIME)
		return;
	if (limit_at <= now) {
		ev.kind = EV_time_limit;
		state_event(state, job, &ev, NULL);
		return;
	}
	if (!job->signalled) {
		struct spec spec;

		spec_unpack(&spec, job->packed);
		if (spec.signal != SPEC_UNSET &&
		    limit_at - spec.signal_before <= now) {
			job->signalled = true;
			state_touch(state, job);
			ev.kind = EV_signal;
			ev.signo = (int)spec.signal;
			ev.script_only = spec.signal_batch == 1;
			state_event(state, job, &ev, NULL);
		}
	}
}

void state_tick(struct state *state, int64_t now)
{
	if (state->wake != NO_TIME && state->wake <= now) {
		state->wake = NO_TIME;
		state_replan(state);
	}
	if (state->resv_next != NO_TIME && state->resv_next <= now)
		reserve_tick(state, now);
	while (state->nalarms && state->alarm[0].at <= now) {
		uint64_t id = pop_alarm(state).job;
		struct job *job = state_job(state, id);

		if (!id)
			state_replan(state);
		else if (job && !job_state_is_final(job->state))
			tick_job(state, job, now);
	}
}
