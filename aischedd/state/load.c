/* load.c - load the state from the store; describe jobs to runners */
#include "aischedd/state/load.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/reserve.h"
#include "aischedd/state/cluster/scale.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/adopt.h"
#include "aischedd/state/life/alarm.h"
#include "aischedd/state/life/depend.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/state/placement.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

/* --- claims and evictions as text --------------------------------------- */

void state_claim_format(const struct state *state, const struct held *claim,
                        struct buf *out)
{
	for (uint32_t i = 0, same; claim && i < claim->n; i += same) {
		for (same = 1; i + same < claim->n; same++)
			if (claim->node[i + same] != claim->node[i])
				break;
		buf_printf(out, "%s%s", i ? "," : "",
		           state->nodes.node[claim->node[i]].name);
		if (same > 1)
			buf_printf(out, "*%u", same);
	}
}

void state_evictions_format(const struct evictions *evictions, struct buf *out)
{
	for (uint32_t i = 0; evictions && i < evictions->n; i++)
		buf_printf(out, "%s%lld", i ? "," : "",
		           (long long)evictions->at[i]);
}

static int claim_parse(struct state *state, const char *text, struct held **ret,
                       struct err *err)
{
	uint32_t *node = NULL;
	size_t n = 0, cap = 0;

	for (const char *s = text; *s; s += *s == ',') {
		size_t len = strcspn(s, ",*");
		char *name = xstrndup(s, len), *end;
		unsigned long times = 1;
		uint32_t index = node_intern(state, name);

		free(name);
		s += len;
		if (*s == '*') {
			times = strtoul(s + 1, &end, 10);
			s = end;
		}
		if (!len || (*s && *s != ',') || times > LIMIT_TASKS) {
			free(node);
			return err_set(err, EINVAL, "bad claim '%s'", text);
		}
		while (times--) {
			node = GROW(node, n, &cap);
			node[n++] = index;
		}
	}
	*ret = n ? held_new(node, (uint32_t)n) : NULL;
	free(node);
	return 0;
}

static int evictions_parse(const char *text, struct evictions **ret,
                           struct err *err)
{
	struct evictions *e =
	    xmalloc(sizeof(*e) + LIMIT_EVICTIONS * sizeof(*e->at));

	e->n = 0;
	for (const char *s = text; *s; s += *s == ',') {
		char *end;

		if (e->n == LIMIT_EVICTIONS ||
		    (e->at[e->n++] = strtoll(s, &end, 10), end == s) ||
		    (*end && *end != ',')) {
			free(e);
			return err_set(err, EINVAL, "bad times '%s'", text);
		}
		s = end;
	}
	*ret = e;
	return 0;
}

/* --- load jobs, arrays, nodes and queues ------------------------------- */

static int load_texts(struct state *state, struct job *job,
                      const struct job_texts *t, struct err *err)
{
	bool runs = job->state != JOB_PENDING;
	struct held *claim = NULL;

	if ((t->depend && deps_parse(NULL, t->depend, &job->deps, err) < 0) ||
	    (t->evictions &&
	     evictions_parse(t->evictions, &job_runs(job)->evictions, err) <
	         0) ||
	    (t->ledger && !(job->ledger = ledger_parse(t->ledger, err))))
		return -1;
	if (t->place && runs &&
	    !(job->place = state_placement_parse(state, t->place, err)))
		return -1;
	if (t->space && job->place)
		job_runs(job)->space = xstrdup(t->space);
	if (t->leaving && job->place &&
	    !(job_runs(job)->leaving =
	          state_placement_parse(state, t->leaving, err)))
		return -1;
	if (t->claim && claim_parse(state, t->claim, &claim, err) < 0)
		return -1;
	if (claim)
		claim_hold(state, job, claim);
	return 0;
}

int state_load_job(struct state *state, struct job **taken,
                   const struct job_texts *texts, struct err *err)
{
	struct job *job = *taken;
	struct spec spec;

	*taken = NULL;
	spec_unpack(&spec, job->packed);
	job->reserved = spec.reservation != NULL;
	job->claims = volume_is_named(spec.mount);
	job->affine = affinity_is_asked(&spec);
	job->aligned = pool_align_is_asked(&spec);
	job->ports = spec.ports != NULL;
	job->adopted = spec.kube_uid != NULL;
	job_set_manners(state, job, &spec);
	if (job->array && !state_array(state, job->array)) {
		err_set(err, EINVAL, "its array %llu is not there",
		        (unsigned long long)job->array);
		job_free(job);
		return -1;
	}
	if (load_texts(state, job, texts, err) < 0) {
		job_free(job);
		return -1;
	}
	state_add_job(state, job);
	usage_of(state, job->queue, job->user)->rate += job->runs->charge;
	if (job->place) {
		job->row_next = state->records.placed;
		if (state->records.placed)
			state->records.placed->row_prev = job;
		state->records.placed = job;
		placed_add(state, job);
		ledger_begin(state, job);
	}
	return 0;
}

void state_load_array(struct state *state, const struct array *array)
{
	struct array *copy = xmalloc(sizeof(*copy));

	*copy = *array;
	map_set(&state->records.arrays, copy->id, copy);
	row_limit_array(state, copy);
}

void state_load_node(struct state *state, const char *name, const char *pool,
                     bool drained, const char *reason)
{
	char *full = xasprintf("%s%s%s", pool, *pool ? "/" : "", name);
	uint32_t n;

	if (!*pool || conf_pool_find(state->conf, pool) >= 0) {
		n = node_intern(state, full);
		state->nodes.node[n].drained = drained;
		if (drained && reason)
			text_set(&state->nodes.node[n].drain_reason, reason);
	}
	free(full);
}

void state_load_want(struct state *state, const char *name, const char *pool,
                     enum node_want want, int64_t at)
{
	char *full = xasprintf("%s/%s", pool, name);

	if (conf_pool_find(state->conf, pool) >= 0)
		scale_load(state, node_intern(state, full), want, at);
	free(full);
}

void state_load_queue(struct state *state, const char *name, bool open,
                      bool configured)
{
	int q = conf_queue_find(state->conf, name);

	if (q >= 0 && state->conf->queues[q].closed == !configured)
		state->queues.queue[q].closed = !open;
}

void state_load_next_id(struct state *state, uint64_t next_id)
{
	state->next_id = next_id;
}

/* Count the unfinished tasks of arrays anew from the records of their tasks,
 * because the stored counts may be stale. */
static void count_tasks(struct state *state)
{
	struct array *array;
	size_t at = 0;

	while ((array = map_each(&state->records.arrays, &at)))
		array->unfinished = 0;
	for (struct job *job = state->records.first; job; job = job->all_next)
		if (job->array)
			state_array(state, job->array)->unfinished +=
			    job_count(job);
}

void state_loaded(struct state *state, int64_t now)
{
	/* deps_begin() below may split arrays. It appends the new records to
	 * the list, and judges their dependencies itself: so stop at the record
	 * that is the last one now. */
	const struct job *last = state->records.last;
	struct job *next;

	count_tasks(state);
	state_committed(state); /* loaded records need not be written */
	reserve_arm(state, now);
	for (struct job *job = state->records.placed; job;
	     job = job->row_next) {
		if (job->array)
			row_array_runs(state, job->array, 1);
		if (!job->ledger->rollup) {
			ledger_join(state, job);
			state_touch(state, job);
		}
		/* Give an evicted job, or its evicted tasks, the whole
		 * grace again. */
		if (job->runs->leaving || evict_is_ending(job))
			evict_watch(state, job, now);
	}
	for (struct job *job = state->records.first; job; job = next) {
		next = job == last ? NULL : job->all_next;
		state_arm(state, job);
		if (job->adopted)
			adopt_tell(state, job);
		if (job->state == JOB_PENDING)
			deps_begin(state, job, now); /* may free `job` */
	}
	for (uint32_t n = 0; n < state->nodes.n; n++)
		if (state->nodes.node[n].drained)
			node_tell_drain(state, n);
	state_scale_begin(state);
	cron_loaded(state, now);
}

/* --- describe jobs to runners ------------------------------------------ */

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
		node_names[i] = state->nodes.node[p->task[i].node].name;
	*ret = (struct run_job){
		.job = job->id,
		.attempt = job->attempt,
		.array_job = job->array,
		.array_task = job->task,
		.array_count = array ? array->count : 0,
		.array_min = array ? array->min : 0,
		.array_max = array ? array->max : 0,
		.array_step = array ? array->step : 0,
		.restarts = job->runs->restarts + job->runs->preemptions,
		.uid = job->uid,
		.gid = job->gid,
		.user = state->users.user[job->user].name,
		.spec = spec,
		.req = req,
		.queue = state->conf->queues[job->queue].name,
		.space = job->runs->space,
		.cluster = state->conf->cluster,
		.time_limit = job->time_limit,
		.grace = job->grace,
		.whole = { spec->exclusive == 1 ? spec->has_cpus : 0,
		           spec->has_mem == SPEC_UNSET ? 0 : spec->has_mem },
		.ntasks = p->ntasks,
		.task = p->task,
		.cpu_use = p->cpu_use,
		.devs = p->devs,
		.node_name = node_names,
		.append = job->runs->restarts + job->runs->preemptions > 0,
		.resize = job->runs->resize,
	};
}

size_t state_attempts(const struct state *state, uint32_t pool,
                      struct run_attempt **ret)
{
	size_t n = 0, cap = 0;

	*ret = NULL;
	for (const struct job *job = state->records.placed; job;
	     job = job->row_next) {
		if (state->nodes.node[job->place->task[0].node].pool != pool)
			continue;
		*ret = GROW(*ret, n, &cap);
		(*ret)[n++] = (struct run_attempt){
			.job = job->id,
			.attempt = job->attempt,
			.started = job->state == JOB_RUNNING ||
			           job->state == JOB_SUSPENDED,
			.space = job->runs->space,
		};
	}
	return n;
}
