/* load.c - the state as the store has it, and what runners are told of it */
#include <stdlib.h>

#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

/* --- loading ----------------------------------------------------------- */

int state_load_job(struct state *state, struct job **taken, const char *depend,
                   const char *place, struct err *err)
{
	struct job *job = *taken;
	struct spec spec;

	*taken = NULL;
	spec_unpack(&spec, job->packed);
	job_set_manners(state, job, &spec);
	if (job->array && !state_array(state, job->array)) {
		err_set(err, EINVAL,
		        "job %llu is of array %llu, which is not there",
		        (unsigned long long)job->id,
		        (unsigned long long)job->array);
		job_free(job);
		return -1;
	}
	if ((depend && deps_parse(NULL, depend, &job->deps, err) < 0) ||
	    (place && job->state != JOB_PENDING &&
	     !(job->place = state_placement_parse(state, place, err)))) {
		job_free(job);
		return -1;
	}
	state_add_job(state, job);
	usage_of(state, job->queue, job->user)->rate += job->charge;
	if (job->place) {
		job->row_next = state->placed;
		if (state->placed)
			state->placed->row_prev = job;
		state->placed = job;
	}
	return 0;
}

void state_load_array(struct state *state, const struct array *array)
{
	struct array *copy = xmalloc(sizeof(*copy));

	*copy = *array;
	map_set(&state->arrays, copy->id, copy);
}

uint32_t state_load_node(struct state *state, const char *name,
                         const char *pool, bool drained, const char *reason)
{
	int p = conf_pool_find(state->conf, pool);
	uint32_t n = node_intern(state, name, p < 0 ? 0 : (uint32_t)p);

	state->node[n].drained = drained;
	if (reason)
		state->node[n].reason = xstrdup(reason);
	return n;
}

void state_load_queue(struct state *state, const char *name, bool open,
                      bool configured)
{
	int q = conf_queue_find(state->conf, name);

	if (q >= 0 && state->conf->queues[q].closed == !configured)
		state->queue[q].closed = !open;
}

void state_load_next_id(struct state *state, uint64_t next_id)
{
	state->next_id = next_id;
}

void state_loaded(struct state *state, int64_t now)
{
	/* Judging may divide arrays: what comes of that has been judged. */
	const struct job *last = state->last;
	struct job *next;

	state_committed(state); /* what was loaded is on disk */
	for (struct job *job = state->placed; job; job = job->row_next)
		if (job->array)
			state_array(state, job->array)->running++;
	for (struct job *job = state->first; job; job = next) {
		next = job == last ? NULL : job->all_next;
		state_arm(state, job);
		if (job->state == JOB_PENDING)
			deps_begin(state, job, now);
	}
}

/* --- for the runners --------------------------------------------------- */

void state_run_job(const struct state *state, const struct job *job,
                   struct spec *spec, struct request *req,
                   const char **node_names, struct run_job *ret)
{
	const struct array *array =
	    job->array ? state_array(state, job->array) : NULL;
	const struct placement *p = job->place;

	spec_unpack(spec, job->packed);
	spec_request(spec, job->mem_default, req);
	for (uint32_t i = 0; i < p->ntasks; i++)
		node_names[i] = state->node[p->task[i].node].name;
	*ret = (struct run_job){
		.job = job->id,
		.attempt = job->attempt,
		.array_job = job->array,
		.array_task = job->task,
		.array_count = array ? array->count : 0,
		.array_min = array ? array->min : 0,
		.array_max = array ? array->max : 0,
		.array_step = array ? array->step : 0,
		.restarts = job->restarts + job->preemptions,
		.uid = job->uid,
		.gid = job->gid,
		.user = state->user[job->user].name,
		.spec = spec,
		.req = req,
		.queue = state->conf->queues[job->queue].name,
		.cluster = state->conf->cluster,
		.time_limit = job->time_limit,
		.grace = job->grace,
		.ntasks = p->ntasks,
		.task = p->task,
		.cpu_use = p->cpu_use,
		.node_name = node_names,
		.append = job->restarts + job->preemptions > 0,
		.resize = job->resize,
	};
}

size_t state_attempts(const struct state *state, uint32_t pool,
                      uint64_t **ret_job, uint32_t **ret_attempt)
{
	size_t n = 0, cap = 0, cap2 = 0;

	*ret_job = NULL;
	*ret_attempt = NULL;
	for (const struct job *job = state->placed; job; job = job->row_next) {
		if (state->node[job->place->task[0].node].pool != pool)
			continue;
		*ret_job = GROW(*ret_job, n, &cap);
		*ret_attempt = GROW(*ret_attempt, n, &cap2);
		(*ret_job)[n] = job->id;
		(*ret_attempt)[n++] = job->attempt;
	}
	return n;
}
