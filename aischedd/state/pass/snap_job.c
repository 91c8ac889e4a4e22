/* snap_job.c - running and pending jobs, for the scheduler */
#include "aischedd/state/pass/snap_job.h"

#include <stdlib.h>

#include "aischedd/state/cluster/usage.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/life/lifecycle_stop.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/pass/snap_build.h"
#include "aischedd/state/pass/snap_req.h"

#include "aischedd/sched/order_service.h"

/* The GPUs of a node, one bit each. */
static uint64_t gpus_of(const struct state *state, uint32_t node)
{
	uint32_t n = state->nodes.node[node].ngpus;

	return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

/* Returns how many CPUs of the task its node still has: nodes may shrink. */
static uint32_t cpus_held(const struct state *state, const struct placement *p,
                          uint32_t task, struct snap_cpu_use *ret)
{
	const struct snap_task *t = &p->task[task];
	uint32_t n = 0;

	for (uint32_t c = t->cpu_first; c < t[1].cpu_first; c++)
		if (p->cpu_use[c].cpu < state->nodes.node[t->node].ncpus)
			ret[n++] = p->cpu_use[c];
	return n;
}

static bool is_freezable(const struct state *state, const struct job *job)
{
	return job->on_preempt == PREEMPT_SUSPEND && job_can_freeze(state, job);
}

struct run_columns {
	uint32_t *req, *queue, *user, *first, *claim;
	int64_t *priority, *start, *end, *safe, *waited, *served;
	uint8_t *suspended, *preemptible, *ending, *freezable;
	uint64_t *id;
	struct snap_task *task;
	struct snap_cpu_use *use;
	size_t n, ntasks, nuse;
};

/* Allocate columns for n rows. */
static struct run_columns run_columns(struct build *b, size_t n, size_t ntasks,
                                      size_t nuse)
{
	return (struct run_columns){
		.id = COLUMN(uint64_t, n),
		.req = COLUMN(uint32_t, n),
		.queue = COLUMN(uint32_t, n),
		.user = COLUMN(uint32_t, n),
		.first = COLUMN(uint32_t, n),
		.claim = COLUMN(uint32_t, n),
		.priority = COLUMN(int64_t, n),
		.start = COLUMN(int64_t, n),
		.end = COLUMN(int64_t, n),
		.safe = COLUMN(int64_t, n),
		.waited = COLUMN(int64_t, n),
		.served = COLUMN(int64_t, n),
		.suspended = COLUMN(uint8_t, n),
		.preemptible = COLUMN(uint8_t, n),
		.ending = COLUMN(uint8_t, n),
		.freezable = COLUMN(uint8_t, n),
		.task = COLUMN(struct snap_task, ntasks),
		.use = COLUMN(struct snap_cpu_use, nuse),
	};
}

static void push_claim(struct build *b, const struct held *claim)
{
	for (uint32_t i = 0; claim && i < claim->n; i++)
		*(uint32_t *)snapshot_push(b, &b->claims, sizeof(uint32_t)) =
		    claim->node[i];
}

/* If the NUMA nodes of their node have changed, assume the memory of tasks
 * where their CPUs are. */
static void set_numas(const struct snap *snap, struct snap_task *task,
                      const struct snap_cpu_use *use, uint32_t end)
{
	uint32_t n = snap_node_nnumas(snap, task->node);
	struct snap_task t[2] = { *task, { .cpu_first = end } };

	if (!n)
		task->numas = 0;
	else if (!task->numas || (n < SNAP_NUMAS && task->numas >> n))
		task->numas = snap_task_numas(snap, t, use);
}

static void run_tasks(const struct build *b, struct run_columns *c,
                      const struct placement *p)
{
	const struct state *state = b->state;

	for (uint32_t t = 0; t < p->ntasks; t++) {
		struct snap_task *task = &c->task[c->ntasks++];

		*task = p->task[t];
		task->gpus &= gpus_of(state, p->task[t].node);
		task->cpu_first = (uint32_t)c->nuse;
		c->nuse += cpus_held(state, p, t, c->use + c->nuse);
		set_numas(b->snap, task, c->use, (uint32_t)c->nuse);
	}
}

/* 0 unless the order of jobs uses it, because jobs of one row may differ in it.
 */
static int64_t served(const struct build *b, const struct job *job)
{
	return order_rung_counts(b->state->conf->scheduling.order)
	           ? job->served + job_elapsed(job, b->snap->now)
	           : 0;
}

/* Returns how long the job had waited when it started, in seconds; 0 for an
 * adopted job. */
static int64_t waited(const struct job *job)
{
	return job->eligible != NO_TIME && job->start > job->eligible
	           ? job->start - job->eligible
	           : 0;
}

/* Add a row for the job's placement, or for its tasks that are ending. */
static void run_row(struct build *b, struct run_columns *c, struct job *job,
                    const struct placement *p)
{
	int64_t due = job_due(job);
	size_t i = c->n++;

	c->id[i] = job->id;
	c->req[i] = snapshot_req_of_placed(b, job);
	c->queue[i] = job->queue;
	c->user[i] = job->user;
	c->priority[i] = job->priority;
	c->start[i] = job->start;
	c->end[i] = due == NO_TIME ? SNAP_NEVER : due;
	c->suspended[i] = job->state == JOB_SUSPENDED;
	c->preemptible[i] = job->preemptible;
	c->ending[i] = p == job->leaving || evict_is_ending(job);
	c->freezable[i] = is_freezable(b->state, job);
	c->safe[i] = evict_safe_until(b->state, job);
	c->waited[i] = waited(job);
	c->served[i] = served(b, job);
	c->first[i] = (uint32_t)c->ntasks;
	c->claim[i] = (uint32_t)b->claims.n;
	/* The claim of a suspended job belongs to its pending row. */
	if (p == job->place && job->state != JOB_SUSPENDED)
		push_claim(b, job->claim);
	run_tasks(b, c, p);
}

void snapshot_run(struct build *b)
{
	size_t n = 0, ntasks = 0, nuse = 0;
	struct run_columns c;

	for (const struct job *job = b->placed; job; job = job->row_next) {
		const struct placement *p = job->place, *l = job->leaving;

		n += l ? 2 : 1;
		ntasks += p->ntasks + (l ? l->ntasks : 0);
		nuse += p->task[p->ntasks].cpu_first;
		nuse += l ? l->task[l->ntasks].cpu_first : 0;
	}
	c = run_columns(b, n, ntasks, nuse);
	for (struct job *job = b->placed; job; job = job->row_next) {
		run_row(b, &c, job, job->place);
		if (job->leaving)
			run_row(b, &c, job, job->leaving);
	}
	c.first[n] = (uint32_t)c.ntasks;
	c.claim[n] = (uint32_t)b->claims.n;
	c.task[c.ntasks].cpu_first = (uint32_t)c.nuse;
	b->snap->run = (struct snap_run){
		.n = (uint32_t)n,
		.job = c.id,
		.req = c.req,
		.queue = c.queue,
		.user = c.user,
		.priority = c.priority,
		.start = c.start,
		.end = c.end,
		.suspended = c.suspended,
		.preemptible = c.preemptible,
		.ending = c.ending,
		.freezable = c.freezable,
		.safe_until = c.safe,
		.waited = c.waited,
		.served = c.served,
		.task_first = c.first,
		.claim_first = c.claim,
	};
	b->snap->task = c.task;
	b->snap->cpu_use = c.use;
}

/* Count the waiting tasks of each array for which nodes are held. */
static void count_claims(struct build *b)
{
	for (size_t i = 0; i < b->state->claims.n; i++) {
		const struct job *job = b->state->claims.holder[i];
		void **n;

		if (job->state != JOB_PENDING || !job->array)
			continue;
		n = map_at(&b->array_claims, job->array);
		*n = (void *)((uintptr_t)*n + 1);
	}
}

/* Returns how many more tasks of the array may run, besides those with claims,
 * which come first. */
static uint32_t array_room(const struct build *b, const struct array *array,
                           const struct job *job)
{
	uint32_t taken = array->running;

	if (b->array_claims.n && !job->claim)
		taken +=
		    (uint32_t)(uintptr_t)map_find(&b->array_claims, array->id);
	return taken < array->limit ? array->limit - taken : 0;
}

static struct snap_member member_of(const struct build *b,
                                    const struct job *job)
{
	const struct array *array =
	    job->array ? state_array(b->state, job->array) : NULL;
	uint32_t count = job_count(job), room = count;

	if (array && array->limit)
		room = array_room(b, array, job);
	return (struct snap_member){ job->id, count,
		                     room < count ? room : count,
		                     job->eligible };
}

struct pend_columns {
	uint32_t *req, *queue, *user, *first, *resumes, *claim;
	int64_t *priority, *served;
	uint8_t *preemptible, *barred;
	uint16_t *light;
	struct snap_member *member;
	size_t n, nmembers;
};

static struct pend_columns pend_columns(struct build *b, size_t rows,
                                        size_t members)
{
	struct pend_columns c = { 0 };

	c.req = COLUMN(uint32_t, rows);
	c.queue = COLUMN(uint32_t, rows);
	c.user = COLUMN(uint32_t, rows);
	c.first = COLUMN(uint32_t, rows);
	c.resumes = COLUMN(uint32_t, rows);
	c.claim = COLUMN(uint32_t, rows);
	c.preemptible = COLUMN(uint8_t, rows);
	c.barred = COLUMN(uint8_t, rows);
	c.light = COLUMN(uint16_t, rows);
	c.priority = COLUMN(int64_t, rows);
	c.served = COLUMN(int64_t, rows);
	c.member = arena_array_raw(b->arena, struct snap_member, members + 1);
	return c;
}

/* Add a row. Only the second part of the key is used, which says whose it is.
 */
static void pend_row(struct build *b, struct pend_columns *c,
                     const struct row_key *key, const struct held *claim,
                     uint32_t req, uint32_t resumes)
{
	const struct usage *usage = usage_find(b->state, key->queue, key->user);

	c->req[c->n] = req;
	c->queue[c->n] = key->queue;
	c->user[c->n] = key->user;
	c->priority[c->n] = key->priority;
	c->served[c->n] = key->served;
	c->resumes[c->n] = resumes;
	c->preemptible[c->n] = key->preemptible;
	c->barred[c->n] = key->barred;
	c->light[c->n] = usage ? usage->light : LIGHT_MOST;
	c->claim[c->n] = (uint32_t)b->claims.n;
	push_claim(b, claim);
	c->first[c->n++] = (uint32_t)c->nmembers;
}

/* Add a row for a job that is in none. */
static void pend_row_of(struct build *b, struct pend_columns *c,
                        const struct job *job, uint32_t req, uint32_t resumes)
{
	const struct row_key key = { .queue = job->queue,
		                     .user = job->user,
		                     .priority = job->priority,
		                     .served = served(b, job),
		                     .preemptible = job->preemptible,
		                     .barred = job->start_fails > 0 };

	pend_row(b, c, &key, job->claim, req, resumes);
}

/* How many rows ahead to prefetch, how much of each, and of what size a line of
 * the cache is. */
enum { AHEAD = 16, LINE = 64, ROW_BYTES = 4 * LINE };

/*
 * Guess the address of a job further down the list and prefetch it: jobs
 * submitted one after the other mostly lie in memory that way. Without this,
 * walking a million jobs takes three times as long on processors that do not
 * detect the pattern themselves.
 */
static void fetch_ahead(const struct job *job)
{
	uintptr_t here = (uintptr_t)job, next = (uintptr_t)job->all_next;
	uintptr_t guess = here + 16 * (next - here);

	__builtin_prefetch((const void *)guess);
	__builtin_prefetch(
	    (const void *)(guess + 64)); /* the next cache line */
}

/* List the members of all rows in one walk by id, which is the order of each
 * row and mostly that of memory. Walking row by row would miss the cache each
 * time. */
static void list_members(struct build *b, const struct pend_columns *c,
                         const struct job *extra, uint32_t slot)
{
	const struct state *state = b->state;
	uint32_t *next =
	    arena_array(b->scratch, uint32_t, (size_t)state->rows.nslots + 1);
	const struct job *job;

	for (size_t i = 0; i < state->rows.n; i++)
		next[state->rows.row[i]->slot] = c->first[i];
	for (job = state_first_job(state); job; job = job->all_next) {
		fetch_ahead(job);
		if (job->slot)
			c->member[next[job->slot]++] = member_of(b, job);
	}
	if (slot)
		c->member[next[slot]] = member_of(b, extra);
}

static int by_wait(const void *a, const void *b)
{
	const struct snap_member *x = a, *y = b;

	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

/* Put the members of each row in the order of their wait: jobs that were held
 * or requeued have waited less than later ones. */
static void sort_members(const struct pend_columns *c)
{
	for (size_t row = 0; row < c->n; row++) {
		size_t end = row + 1 < c->n ? c->first[row + 1] : c->nmembers;
		size_t m = c->first[row] + 1;

		while (m < end && c->member[m - 1].since <= c->member[m].since)
			m++;
		if (m < end)
			qsort(c->member + c->first[row], end - c->first[row],
			      sizeof(*c->member), by_wait);
	}
}

/* Add a row for a single job. */
static void alone_row(struct build *b, struct pend_columns *c,
                      const struct job *job)
{
	pend_row_of(b, c, job, snapshot_req_of_other(b, job), SNAP_NONE);
	c->member[c->nmembers++] = member_of(b, job);
}

/* Prefetch a row and its entry among the requests. With a million rows each
 * read of these otherwise misses the cache. */
static void fetch_row_ahead(const struct build *b, size_t i)
{
	const struct row_index *rows = &b->state->rows;

	for (size_t at = 0; i + AHEAD < rows->n && at < ROW_BYTES; at += LINE)
		__builtin_prefetch((const char *)rows->row[i + AHEAD] + at);
	if (i + AHEAD / 2 < rows->n)
		map_prefetch(&b->req_of, rows->row[i + AHEAD / 2]->req_hash);
}

/* Add all rows; the extra job joins the row that is like it. */
static void list_rows(struct build *b, struct pend_columns *c,
                      const struct job *extra, const struct row *like)
{
	const struct state *state = b->state;

	for (size_t i = 0; i < state->rows.n; i++) {
		const struct row *row = state->rows.row[i];
		const struct row_key *key = (const void *)row->key;

		fetch_row_ahead(b, i);
		pend_row(b, c, key, key->claimer ? row->head->claim : NULL,
		         snapshot_req(b, row->key, row->req_hash), SNAP_NONE);
		c->nmembers += row->njobs + (row == like);
	}
	list_members(b, c, extra, like ? like->slot : 0);
	sort_members(c);
}

static void list_resuming(struct build *b, struct pend_columns *c)
{
	uint32_t run = 0;

	for (const struct job *job = b->placed; job;
	     run += job->leaving ? 2 : 1, job = job->row_next) {
		if (!job->wants_resume)
			continue;
		pend_row_of(b, c, job, b->snap->run.req[run], run);
		c->member[c->nmembers++] =
		    (struct snap_member){ job->id, 1, 1, job->eligible };
	}
}

void snapshot_pend(struct build *b, const struct job *extra, bool only)
{
	const struct state *state = b->state;
	const struct row *like = extra && !only ? row_like(state, extra) : NULL;
	size_t rows = extra ? 1 : 0, members = rows;
	struct pend_columns c;

	for (size_t i = 0; !only && i < state->rows.n; i++)
		members += state->rows.row[i]->njobs;
	map_reserve(&b->req_of, b->req_of.n + state->rows.n);
	rows += only ? 0 : state->rows.n + b->snap->run.n;
	members += only ? 0 : b->snap->run.n;
	c = pend_columns(b, rows, members);
	if (!only) {
		count_claims(b);
		list_rows(b, &c, extra, like);
		list_resuming(b, &c);
	}
	if (extra && !like)
		alone_row(b, &c, extra);
	map_free(&b->array_claims);
	c.first[c.n] = (uint32_t)c.nmembers;
	c.claim[c.n] = (uint32_t)b->claims.n;
	b->snap->pend = (struct snap_pend){
		.n = (uint32_t)c.n,
		.judged = COLUMN(uint8_t, rows),
		.req = c.req,
		.queue = c.queue,
		.user = c.user,
		.priority = c.priority,
		.member_first = c.first,
		.resumes = c.resumes,
		.preemptible = c.preemptible,
		.barred = c.barred,
		.light = c.light,
		.served = c.served,
		.claim_first = c.claim,
	};
	b->snap->claim = b->claims.n ? b->claims.p : COLUMN(uint32_t, 0);
	b->snap->member = c.member;
}
