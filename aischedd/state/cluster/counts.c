/* counts.c - counters of queues and pools since the daemon was started */
#include "aischedd/state/cluster/counts.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/order_score.h"
#include "aischedd/state/cluster/ledger.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

const struct queue_counts *state_queue_counts(const struct state *state,
                                              uint32_t queue)
{
	return &state->happened.queue[queue];
}

const struct count_table *state_count_table(const struct state *state)
{
	return &state->happened;
}

static struct queue_counts *counts_of(struct state *state,
                                      const struct job *job)
{
	return &state->happened.queue[job->queue];
}

/* --- count jobs and their events --------------------------------------- */

void counts_jobs(struct state *state, const struct job *job, uint64_t n)
{
	struct queue_counts *c = counts_of(state, job);

	if (job_state_is_final((enum job_state)job->state))
		return;
	c->jobs[job->state] += n;
	if (job->gpus_idle)
		c->idle_gpus += n;
	if (job->state == JOB_PENDING && job->aside != WHY_None)
		c->aside[job->aside] += n;
}

void counts_submitted(struct state *state, const struct job *job)
{
	counts_of(state, job)->submitted += job_count(job);
}

static void started(struct state *state, const struct job *job)
{
	struct queue_counts *c = counts_of(state, job);

	c->started++;
	if (job->runs->restarts || job->runs->preemptions ||
	    job->eligible == NO_TIME)
		return; /* only the wait before the first start is counted */
	histogram_add(&c->wait, histogram_jobs,
	              job->runs->start > job->eligible
	                  ? (double)(job->runs->start - job->eligible)
	                  : 0);
}

static void ended(struct state *state, const struct job *job)
{
	struct queue_counts *c = counts_of(state, job);

	c->ended[job->state] += job_count(job);
	if (job->ledger && job->ledger->before.ran_ms)
		histogram_add(&c->run, histogram_jobs,
		              (double)job->ledger->before.ran_ms / 1e3);
}

static void requeued(struct state *state, const struct job *job)
{
	struct queue_counts *c = counts_of(state, job);

	if (job->cause == CAUSE_REQUEUE || job->cause == CAUSE_RECALL)
		c->requeued[REQUEUE_USER]++;
	else if (job->cause == CAUSE_FAILURE)
		c->requeued[job->evict == EVICT_NODE_DOWN ? REQUEUE_NODE
		                                          : REQUEUE_FAILURE]++;
}

void counts_became(struct state *state, const struct job *job,
                   enum job_state from)
{
	if (job_state_is_final((enum job_state)job->state))
		ended(state, job);
	else if (job->state == JOB_PENDING)
		requeued(state, job);
	else if (job->state == JOB_RUNNING && from == JOB_CONFIGURING)
		started(state, job);
}

void counts_evicted(struct state *state, const struct job *job, enum evict why)
{
	if (why != EVICT_NONE)
		counts_of(state, job)->evicted[why]++;
}

static uint32_t pool_of(const struct state *state, const struct job *job)
{
	return state->nodes.node[job->place->task[0].node].pool;
}

void counts_start_failed(struct state *state, const struct job *job,
                         enum start_fault fault)
{
	state->happened.start_failures[pool_of(state, job)][fault]++;
}

/* --- count what jobs hold ---------------------------------------------- */

static void book(struct held_counts *h, int64_t now_ms)
{
	if (now_ms <= h->at_ms)
		return; /* the clock was set back: add nothing */
	for (int r = 0; r < RATES; r++)
		h->sum[r] +=
		    (double)h->rate[r] * (double)(now_ms - h->at_ms) / 1e3;
	h->at_ms = now_ms;
}

double held_until(const struct held_counts *held, int r, int64_t now_ms)
{
	int64_t ms = now_ms > held->at_ms ? now_ms - held->at_ms : 0;

	return held->sum[r] + (double)held->rate[r] * (double)ms / 1e3;
}

static uint64_t held_key(uint32_t queue, uint32_t pool)
{
	return (uint64_t)queue << 32 | pool;
}

static void index_held(struct count_table *t, struct held_counts *h)
{
	uint64_t key = held_key(h->queue, h->pool);

	h->next = map_find(&t->held_by_key, key);
	map_set(&t->held_by_key, key, h);
}

static bool is_type(const struct held_counts *h, const char *gpu_type)
{
	return gpu_type && h->gpu_type ? !strcmp(gpu_type, h->gpu_type)
	                               : gpu_type == h->gpu_type;
}

static struct held_counts *held_of(struct state *state, const struct job *job,
                                   int64_t now_ms)
{
	struct count_table *t = &state->happened;
	const struct node *node = &state->nodes.node[job->place->task[0].node];
	const char *type = job->ledger->rate[RES_GPU] ? node->gpu_type : NULL;
	struct held_counts *h =
	    map_find(&t->held_by_key, held_key(job->queue, node->pool));

	while (h && !is_type(h, type))
		h = h->next;
	if (h)
		return h;
	h = xcalloc(1, sizeof(*h));
	h->queue = job->queue;
	h->pool = node->pool;
	h->gpu_type = type ? xstrdup(type) : NULL;
	h->at_ms = now_ms;
	t->held = GROW(t->held, t->nheld, &t->held_cap);
	t->held[t->nheld++] = h;
	index_held(t, h);
	return h;
}

void counts_hold(struct state *state, struct job *job, int64_t now_ms)
{
	struct held_counts *h = held_of(state, job, now_ms);

	book(h, now_ms);
	for (int r = 0; r < RATES; r++)
		h->rate[r] += job->ledger->rate[r];
	job->ledger->counted = h;
}

void counts_release(struct job *job, int64_t now_ms)
{
	struct held_counts *h = job->ledger->counted;

	if (!h)
		return;
	book(h, now_ms);
	for (int r = 0; r < RATES; r++)
		h->rate[r] -= job->ledger->rate[r];
	job->ledger->counted = NULL;
}

void counts_attempt(const struct job *job, bool lost)
{
	struct held_counts *h = job->ledger->counted;

	if (!h)
		return;
	if (job->ledger->cpu_ms > 0)
		h->cpu_used_s += (double)job->ledger->cpu_ms / 1e3;
	h->gpu_busy_s += (double)job->ledger->gpu.busy_ms / 1e3;
	h->gpu_known_s += (double)job->ledger->gpu.known_ms / 1e3;
	if (lost)
		h->gpu_evicted_s +=
		    (double)job->ledger->now.held[RES_GPU] / 1e3;
}

/* --- numbers that a pass finds ----------------------------------------- */

/* Count the jobs of the row in *o, by the time at which they will have waited
 * for longer than their queue allows. The first `started` jobs no longer wait,
 * because the plan starts them. */
static void count_overdue(struct overdue *o, const struct snap *s, uint32_t row,
                          uint64_t started)
{
	uint32_t queue = s->pend.queue[row];
	int64_t most = order_score_overdue_in(s, queue);

	if (most == CONF_NONE ||
	    order_score_yields(s, queue, s->pend.light[row]))
		return;
	o->most_s = most;
	o->at = s->now;
	for (uint32_t m = s->pend.member_first[row];
	     m < s->pend.member_first[row + 1]; m++) {
		int64_t left = most - (s->now - s->member[m].since);
		uint64_t n = s->member[m].count;
		uint64_t gone = started < n ? started : n;

		started -= gone;
		if (left <= 0)
			o->n += n - gone;
		else if (left <= most)
			o->later[(left - 1) * OVERDUE_PARTS / most] += n - gone;
	}
}

uint64_t counts_overdue(const struct queue_counts *counts, int64_t now)
{
	const struct overdue *o = &counts->found.overdue;
	uint64_t n = o->n;

	for (int i = 0; i < OVERDUE_PARTS; i++)
		if ((now - o->at) * OVERDUE_PARTS >= (i + 1) * o->most_s)
			n += o->later[i];
	return n;
}

static void count_row(struct queue_found *found, const struct snap *snap,
                      const struct plan *plan, uint32_t row, uint64_t started)
{
	const struct snap_pend *pend = &snap->pend;
	struct queue_found *c = &found[pend->queue[row]];
	const struct snap_reqs *req = &snap->req;
	uint32_t from = pend->member_first[row];
	uint32_t k = pend->req[row];
	uint64_t n = 0;

	if (pend->resumes[row] != SNAP_NONE)
		return; /* the row is a suspended job that is to resume */
	for (uint32_t m = from; m < pend->member_first[row + 1]; m++)
		n += snap->member[m].count;
	n -= started < n ? started : n;
	if (!n)
		return;
	count_overdue(&c->overdue, snap, row, started);
	c->judged[verdict_reason(&plan->verdict[row])] += n;
	c->pending[RES_CPU] += (int64_t)n * req->tasks[k] * req->cpus[k];
	c->pending[RES_MEM] += (int64_t)n * req->tasks[k] * req->mem[k];
	c->pending[RES_GPU] += (int64_t)n * req->tasks[k] * req->gpus[k];
	if (c->oldest == NO_TIME || snap->member[from].since < c->oldest)
		c->oldest = snap->member[from].since;
}

const struct queue_found *counts_find(const struct snap *snap,
                                      const struct plan *plan,
                                      struct arena *arena)
{
	struct queue_found *found =
	    arena_array(arena, struct queue_found, snap->queue.n);
	uint32_t *started = arena_array(arena, uint32_t, snap->pend.n + 1);

	for (uint32_t q = 0; q < snap->queue.n; q++)
		found[q].oldest = NO_TIME;
	for (uint32_t i = 0; i < plan->nstarts; i++)
		started[plan->start[i].row]++;
	for (uint32_t i = 0; i < snap->pend.n; i++)
		count_row(found, snap, plan, i, started[i]);
	return found;
}

void counts_found(struct state *state, const struct queue_found *found)
{
	for (size_t q = 0; q < state->conf->nqueues; q++)
		state->happened.queue[q].found = found[q];
}

void counts_backfilled(struct state *state, const struct job *job)
{
	counts_of(state, job)->backfilled++;
}

static int by_job(const void *job, const void *promise)
{
	uint64_t x = *(const uint64_t *)job;
	uint64_t y = ((const struct snap_promise *)promise)->job;

	return x < y ? -1 : x > y;
}

void counts_slip(struct state *state, const struct snap *snap, uint64_t job,
                 int64_t now)
{
	const struct snap_promise *p =
	    snap->npromises ? bsearch(&job, snap->promise, snap->npromises,
	                              sizeof(*p), by_job)
			    : NULL;

	if (p && p->start != SNAP_NEVER)
		histogram_add(&state->happened.slip, histogram_jobs,
		              now > p->start ? (double)(now - p->start) : 0);
}

/* --- create and renumber the counters ---------------------------------- */

static struct queue_counts *new_queues(size_t n)
{
	struct queue_counts *queue = xcalloc(n, sizeof(*queue));

	for (size_t i = 0; i < n; i++)
		queue[i].found.oldest = NO_TIME;
	return queue;
}

void counts_init(struct state *state)
{
	state->happened.queue = new_queues(state->conf->nqueues);
}

void counts_free(struct state *state)
{
	struct count_table *t = &state->happened;

	for (size_t i = 0; i < t->nheld; i++) {
		free(t->held[i]->gpu_type);
		free(t->held[i]);
	}
	free(t->held);
	free(t->queue);
	map_free(&t->held_by_key);
}

static void move_queues(struct count_table *t, const struct conf *old,
                        const struct conf *conf, const uint32_t *queue_to)
{
	struct queue_counts *queue = new_queues(conf->nqueues);

	for (size_t q = 0; q < old->nqueues; q++)
		if (queue_to[q] != (uint32_t)-1)
			queue[queue_to[q]] = t->queue[q];
	free(t->queue);
	t->queue = queue;
}

static void move_held(struct count_table *t, const struct conf *old,
                      const struct conf *conf, const uint32_t *queue_to)
{
	map_free(&t->held_by_key);
	for (size_t i = 0; i < t->nheld; i++) {
		struct held_counts *h = t->held[i];
		int pool = conf_pool_find(conf, old->pools[h->pool].name);

		if (h->queue == COUNTS_GONE)
			continue;
		h->queue = pool < 0 ? COUNTS_GONE : queue_to[h->queue];
		if (h->queue == COUNTS_GONE)
			continue;
		h->pool = (uint32_t)pool;
		index_held(t, h);
	}
}

void counts_reconf(struct state *state, const struct conf *conf,
                   const uint32_t *queue_to)
{
	struct count_table *t = &state->happened;
	const struct conf *old = state->conf;
	uint64_t failures[LIMIT_POOLS][FAULT_KINDS] = { 0 };

	for (size_t i = 0; i < old->npools; i++) {
		int pool = conf_pool_find(conf, old->pools[i].name);

		if (pool >= 0)
			memcpy(failures[pool], t->start_failures[i],
			       sizeof(failures[pool]));
	}
	memcpy(t->start_failures, failures, sizeof(failures));
	move_held(t, old, conf, queue_to);
	move_queues(t, old, conf, queue_to);
}
