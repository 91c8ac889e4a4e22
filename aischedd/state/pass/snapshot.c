/* snapshot.c - copy the state into a snapshot, the input of the scheduler */
#include "aischedd/state/pass/snapshot.h"

#include <assert.h>
#include <string.h>

#include "aischedd/state/cluster/forget.h"
#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/pass/placed.h"
#include "aischedd/state/pass/round.h"
#include "aischedd/state/pass/snap_build.h"
#include "aischedd/state/pass/snap_job.h"
#include "aischedd/state/pass/snap_node.h"
#include "aischedd/state/pass/snap_req.h"
#include "aischedd/state/pass/sweep.h"

uint64_t snapshot_word_key(const char *text, size_t len)
{
	return hash_bytes(1, text, len);
}

int32_t snapshot_word(const char *text, size_t len, void *arg)
{
	struct build *b = arg;
	uint64_t key = snapshot_word_key(text, len);
	uintptr_t known = (uintptr_t)map_find(&b->word_of, key);
	char *copy;

	if (known)
		return (int32_t)known - 1;
	copy = arena_alloc(b->arena, len + 1, 1);
	memcpy(copy, text, len);
	*(const char **)snapshot_push(b, &b->words, sizeof(char *)) = copy;
	map_set(&b->word_of, key, (void *)(uintptr_t)b->words.n);
	return (int32_t)b->words.n - 1;
}

uint32_t snapshot_word_or_none(struct build *b, const char *s)
{
	return s && *s ? (uint32_t)snapshot_word(s, strlen(s), b) : SNAP_NONE;
}

static void build_policy(struct build *b)
{
	const struct conf_scheduling *c = &b->state->conf->scheduling;

	b->snap->policy = (struct snap_policy){
		.order = (uint8_t)c->order,
		.backfill = c->backfill,
		.consolidate = c->consolidate,
		.backfill_depth = (uint32_t)c->backfill_depth,
		.age_weight = c->age_weight,
		.size_weight = c->size_weight,
		.fairshare_weight = c->fairshare_weight,
		.hold_after = c->hold_after,
		.budget = CONF_NONE,
	};
}

static void build_pools(struct build *b)
{
	const struct conf *conf = b->state->conf;
	const char **name = COLUMN(const char *, conf->npools);
	uint8_t *order = COLUMN(uint8_t, conf->npools);
	uint8_t *ready = COLUMN(uint8_t, conf->npools);
	int64_t *weight = COLUMN(int64_t, conf->npools);

	for (size_t i = 0; i < conf->npools; i++) {
		name[i] = arena_strdup(b->arena, conf->pools[i].name);
		order[i] = (uint8_t)conf->pools[i].order;
		ready[i] = b->state->pools.pool[i].ready;
		weight[i] = conf->pools[i].weight;
	}
	b->snap->pool = (struct snap_pools){ (uint32_t)conf->npools, name,
		                             order, ready, weight };
}

static void build_queues(struct build *b)
{
	const struct conf *conf = b->state->conf;
	size_t n = conf->nqueues;
	const char **name = COLUMN(const char *, n);
	uint32_t *parent = COLUMN(uint32_t, n);
	int64_t(*quota)[RES_N] = arena_alloc(b->arena, n + 1, sizeof(*quota));
	int64_t(*limit)[RES_N] = arena_alloc(b->arena, n + 1, sizeof(*limit));
	int64_t *weight = COLUMN(int64_t, n), *priority = COLUMN(int64_t, n);
	int64_t *max_jobs = COLUMN(int64_t, n), *assumed = COLUMN(int64_t, n);
	int64_t *max_user = COLUMN(int64_t, n), *max_gpus = COLUMN(int64_t, n);
	int64_t *max_wait = COLUMN(int64_t, n);

	for (size_t i = 0; i < n; i++) {
		const struct conf_queue *q = &conf->queues[i];

		name[i] = arena_strdup(b->arena, q->name);
		parent[i] = q->parent < 0 ? SNAP_NONE : (uint32_t)q->parent;
		memcpy(quota[i], q->quota, sizeof(quota[i]));
		memcpy(limit[i], q->limit, sizeof(limit[i]));
		weight[i] = q->weight;
		priority[i] = q->priority;
		max_jobs[i] = q->max_jobs;
		max_user[i] = q->max_jobs_per_user;
		max_gpus[i] = q->max_gpus_per_user;
		assumed[i] = q->assumed_time;
		max_wait[i] = q->max_wait;
	}
	b->snap->queue = (struct snap_queues){
		.n = (uint32_t)n,
		.name = name,
		.parent = parent,
		.quota = (const int64_t(*)[RES_N])quota,
		.limit = (const int64_t(*)[RES_N])limit,
		.weight = weight,
		.priority = priority,
		.max_jobs = max_jobs,
		.max_jobs_user = max_user,
		.max_gpus_user = max_gpus,
		.assumed_time = assumed,
		.max_wait = max_wait,
	};
}

static void build_users(struct build *b)
{
	const struct state *state = b->state;
	const char **name = COLUMN(const char *, state->users.n);

	for (size_t i = 0; i < state->users.n; i++)
		name[i] = state->users.user[i].name;
	b->snap->user = (struct snap_users){ (uint32_t)state->users.n, name };
}

static void build_licenses(struct build *b)
{
	const struct conf *conf = b->state->conf;
	size_t n = conf->nlicenses;
	const char **name = COLUMN(const char *, n);
	int64_t *total = COLUMN(int64_t, n);

	for (size_t i = 0; i < n; i++) {
		name[i] = arena_strdup(b->arena, conf->licenses[i].name);
		total[i] = conf->licenses[i].count;
	}
	b->snap->license =
	    (struct snap_licenses){ (uint32_t)n, name, total, NULL };
}

/* Subtract from the licenses what the requests of running jobs take. */
static void count_licenses(struct build *b)
{
	const struct snap *s = b->snap;
	int64_t *left = COLUMN(int64_t, s->license.n);

	for (uint32_t i = 0; i < s->license.n; i++)
		left[i] = s->license.total[i];
	for (uint32_t run = 0; s->license.n && run < s->run.n; run++) {
		const uint32_t *first = s->req.license_first + s->run.req[run];

		for (uint32_t k = first[0];
		     !snap_is_part(s, run) && k < first[1]; k++)
			left[s->license_use[k].license] -=
			    s->license_use[k].count;
	}
	b->snap->license.free = left;
}

static void build_devs(struct build *b)
{
	const struct conf *conf = b->state->conf;
	const char **name = COLUMN(const char *, conf->ndevices);

	for (size_t i = 0; i < conf->ndevices; i++)
		name[i] = arena_strdup(b->arena, conf->device_names[i]);
	b->snap->dev = (struct snap_devs){ (uint32_t)conf->ndevices, name };
}

/* Copy the promised starts of the last plan. Their node indexes are still
 * valid, because nodes are never renumbered. */
static void build_promises(struct build *b)
{
	const struct last_plan *last = &b->state->last_plan;
	uint32_t n = last->npromises, nnodes = 0;
	struct snap_promise *promise = COLUMN(struct snap_promise, n);
	uint32_t *node;

	for (uint32_t i = 0; i < n; i++) {
		promise[i] = last->promise[i];
		nnodes += promise[i].n;
	}
	node = COLUMN(uint32_t, nnodes);
	for (uint32_t i = 0; i < nnodes; i++)
		node[i] = last->promise_node[i];
	b->snap->npromises = n;
	b->snap->promise = promise;
	b->snap->promise_node = node;
}

static void free_maps(struct build *b)
{
	map_free(&b->word_of);
	map_free(&b->req_of);
	map_free(&b->host_of);
	map_free(&b->rows.light);
	map_free(&b->array_claims);
	map_free(&b->array_of);
	arena_free(b->scratch);
	b->scratch = NULL;
}

/* Write the rows, then the requests, then the words: rows add requests and
 * words, and requests add words. */
static struct snap *finish(struct build *b)
{
	snapshot_pend(b);
	round_judge(&b->judged, b->snap, b->arena);
	snapshot_reqs(b);
	count_licenses(b);
	b->snap->nwords = (uint32_t)b->words.n;
	b->snap->word = b->words.p;
	free_maps(b);
	return b->snap;
}

/* Begin a snapshot: copy what texts about plans name. */
static struct build *begin(struct state *state, int64_t now,
                           struct arena *arena, bool only)
{
	struct build *b = arena_array(arena, struct build, 1);

	*b = (struct build){ .state = state,
		             .only = only,
		             .arena = arena,
		             .scratch = arena_new() };
	b->snap = arena_alloc(arena, 1, sizeof(*b->snap));
	b->snap->now = now;
	b->snap->gen = state->gen;
	build_policy(b);
	build_pools(b);
	if (!only)
		b->held = placed_runs(state, &b->nheld);
	build_devs(b);
	snapshot_nodes(state, b);
	build_queues(b);
	build_users(b);
	build_licenses(b);
	return b;
}

/* Copy everything that may change before the snapshot is finished. */
static struct build *take(struct state *state, int64_t now, struct arena *arena,
                          const struct job *extra, bool only)
{
	struct build *b = begin(state, now, arena, only);

	assert(only || !state_is_sweeping(state));
	snapshot_left(state, b);
	snapshot_reservations(b);
	snapshot_take_refusals(b);
	snapshot_run(state, b);
	snapshot_take_pend(b, extra, only);
	if (!only)
		build_promises(b);
	b->state = NULL;
	b->held = NULL;
	return b;
}

const struct snap *snap_build(struct state *state, int64_t now,
                              struct arena *arena, const struct job *extra,
                              bool only)
{
	struct build *b = take(state, now, arena, extra, only);
	const struct snap *snap = finish(b);

	snapshot_let_go(b);
	return snap;
}

struct snap *snap_names(struct state *state, int64_t now, struct arena *arena)
{
	struct build *b = begin(state, now, arena, true);

	free_maps(b);
	return b->snap;
}

const struct snap *snap_of_job(const struct state *state,
                               const struct snap *names, const struct job *job,
                               struct arena *arena)
{
	struct build b = { .state = state,
		           .arena = arena,
		           .scratch = arena_new() };

	b.snap = arena_alloc(arena, 1, sizeof(*b.snap));
	*b.snap = *names;
	snapshot_take_pend(&b, job, true);
	return finish(&b);
}

struct build *state_take_snapshot(struct state *state, int64_t now,
                                  struct arena *arena)
{
	struct build *b;

	nodes_forget(state, now);
	state_judge_usage(state, now);
	b = take(state, now, arena, NULL, false);
	round_begin(state, b->snap, arena, &b->judged);
	state->rows.taken =
	    (struct planned_rows){ .serial = state->last_plan.serial + 1,
		                   .made = state->rows.made,
		                   .nslots = state->rows.nslots,
		                   .of_slot = b->rows.of_slot };
	state->want_plan = false;
	rows_pin(&state->rows);
	return b;
}

/* snapshot_size() counts this many jobs as one row. */
enum { JOBS_LIKE_ROW = 64 };

size_t snapshot_size(const struct build *taken)
{
	return (size_t)taken->snap->pend.n + taken->snap->node.n +
	       taken->rows.limits.n + taken->rows.waiting.n / JOBS_LIKE_ROW;
}

const struct snap *snapshot_finish(struct build *taken)
{
	return finish(taken);
}

void state_end_snapshot(struct state *state, struct build *taken)
{
	if (taken->scratch)
		free_maps(taken);
	snapshot_let_go(taken);
	rows_unpin(&state->rows);
}

const struct snap *state_snapshot(struct state *state, int64_t now,
                                  struct arena *arena)
{
	struct build *taken = state_take_snapshot(state, now, arena);
	const struct snap *snap = snapshot_finish(taken);

	state_end_snapshot(state, taken);
	return snap;
}

const struct snap *state_peek(struct state *state, int64_t now,
                              struct arena *arena)
{
	state_judge_usage(state, now);
	return snap_build(state, now, arena, NULL, false);
}

struct build *snap_take(struct state *state, int64_t now, struct arena *arena,
                        const struct job *extra)
{
	rows_pin(&state->rows);
	return take(state, now, arena, extra, false);
}

uint32_t snapshot_row_of_extra(const struct build *taken)
{
	const struct taken_rows *rows = &taken->rows;

	return rows->extra_slot ? rows->of_slot[rows->extra_slot]
	                        : taken->snap->pend.n - 1;
}

struct build *state_take_peek(struct state *state, int64_t now,
                              struct arena *arena)
{
	state_judge_usage(state, now);
	return snap_take(state, now, arena, NULL);
}
