/* rehearse.c - the snapshots on which a plan is rehearsed */
#include "aischedd/sched/rehearse.h"

#include <string.h>

#include "aischedd/sched/pass.h"

/* If a snapshot has more rows and runs than this, no plan is rehearsed, because
 * a rehearsal costs as much as a pass. */
enum { ROWS_MAX = 20000 };

/* Whether a snapshot can hold a claim of this row. Row SNAP_NONE stands for a
 * claim of a run. Only a row of a single job can have a claim. */
static bool may_claim(const struct snap *s, uint32_t row)
{
	uint32_t first;

	if (row == SNAP_NONE)
		return true;
	first = s->pend.member_first[row];
	return s->pend.member_first[row + 1] - first == 1 &&
	       s->member[first].count == 1;
}

bool rehearse_can(const struct snap *s, const struct plan *plan)
{
	if (!plan->nstarts || plan->partial || s->pend.n + s->run.n > ROWS_MAX)
		return false;
	for (uint32_t i = 0; i < plan->nstarts; i++) {
		if (s->pend.resumes[plan->start[i].row] != SNAP_NONE)
			return false;
	}
	for (uint32_t i = 0; i < plan->nevictions; i++) {
		const struct eviction *e = &plan->eviction[i];

		if (e->suspend || s->run.suspended[e->run] ||
		    e->nlosses < snap_run_ntasks(s, e->run))
			return false;
	}
	for (uint32_t i = 0; i < plan->nclaims; i++) {
		if (!may_claim(s, plan->claim[i].row))
			return false;
	}
	return true;
}

static void *copy(struct arena *arena, const void *p, size_t n, size_t more,
                  size_t size)
{
	void *ret = arena_alloc(arena, n + more + 1, size);

	if (n)
		memcpy(ret, p, n * size);
	return ret;
}

#define COPY(a, p, n, more) copy((a), (p), (n), (more), sizeof(*(p)))

struct rehearsal {
	const struct snap *s;
	const struct plan *plan;
	struct snap *then;
	int64_t *cpu, *mem, *tmp, *slot;
	struct device_counts *dev;
	uint16_t *gpu, *thread;
	struct snap_task *task;
	struct snap_cpu_use *use;
	uint64_t *held; /* NULL if there are no pieces */
	uint32_t ntasks, nuse;
};

/* Add a task to the run that is being listed. */
static void add_task(struct rehearsal *r, const struct snap_task *t,
                     const struct snap_cpu_use *use, uint64_t held)
{
	struct snap_task *to = &r->task[r->ntasks++];

	if (r->held)
		r->held[r->ntasks - 1] = held;

	*to = *t;
	to->cpu_first = r->nuse;
	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++)
		r->use[r->nuse++] = use[i];
	r->task[r->ntasks].cpu_first = r->nuse;
}

/* Subtract what a task of the plan holds from what is free, and add the task to
 * the run that is being listed. */
static void take_task(struct rehearsal *r, uint32_t req, uint32_t task)
{
	const struct snap *s = r->s;
	const struct snap_task *t = &r->plan->task[task];
	uint16_t *gpu = r->gpu + s->node.gpu_first[t->node];
	uint16_t *thread = r->thread + s->node.cpu_first[t->node];

	r->cpu[t->node] -= s->req.cpus[req];
	r->mem[t->node] -= s->req.mem[req];
	r->tmp[t->node] -= s->req.tmp[req];
	r->slot[t->node]--;
	for (uint32_t i = 0; i < s->dev.n; i++)
		r->dev[t->node].n[i] -= s->req.devs[req].n[i];
	for (uint64_t left = t->gpus; left; left &= left - 1)
		gpu[__builtin_ctzll(left)] -= t->gpu_milli;
	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++)
		thread[r->plan->cpu_use[i].cpu] -= r->plan->cpu_use[i].milli;
	add_task(r, t, r->plan->cpu_use,
	         r->plan->held ? r->plan->held[task] : 0);
}

static void list_tasks(struct rehearsal *r, uint32_t *first)
{
	const struct snap *s = r->s;
	const struct plan *plan = r->plan;
	uint32_t run = 0;

	for (; run < s->run.n; run++) {
		first[run] = r->ntasks;
		for (uint32_t t = s->run.task_first[run];
		     t < s->run.task_first[run + 1]; t++)
			add_task(r, &s->task[t], s->cpu_use, snap_held(s, t));
		for (uint32_t i = 0; i < plan->ngrows; i++) {
			const struct grow *g = &plan->grow[i];

			for (uint32_t k = 0; g->run == run && k < g->ntasks;
			     k++)
				take_task(r, s->run.req[run],
				          g->task_first + k);
		}
	}
	for (uint32_t i = 0; i < plan->nstarts; i++) {
		const struct start *start = &plan->start[i];

		first[run++] = r->ntasks;
		for (uint32_t k = 0; k < start->ntasks; k++)
			take_task(r, s->pend.req[start->row],
			          start->task_first + k);
	}
	first[run] = r->ntasks;
}

static void list_runs(struct rehearsal *r, struct arena *a)
{
	const struct snap *s = r->s;
	const struct snap_run *from = &s->run;
	uint32_t n = from->n, more = r->plan->nstarts;
	uint64_t *job = COPY(a, from->job, n, more);
	uint32_t *req = COPY(a, from->req, n, more);
	uint32_t *queue = COPY(a, from->queue, n, more);
	uint32_t *user = COPY(a, from->user, n, more);
	uint32_t *array = COPY(a, from->array, n, more);
	int64_t *priority = COPY(a, from->priority, n, more);
	int64_t *start = COPY(a, from->start, n, more);
	int64_t *end = COPY(a, from->end, n, more);
	int64_t *waited = COPY(a, from->waited, n, more);
	int64_t *served = COPY(a, from->served, n, more);
	uint8_t *preemptible = COPY(a, from->preemptible, n, more);
	uint8_t *ending = COPY(a, from->ending, n, more);
	uint32_t *first = arena_array(a, uint32_t, n + more + 1);

	for (uint32_t i = 0; i < more; i++) {
		const struct start *it = &r->plan->start[i];
		uint32_t row = it->row, k = n + i;
		int64_t limit = s->req.time_limit[s->pend.req[row]];

		job[k] = s->member[it->member].job;
		req[k] = s->pend.req[row];
		queue[k] = s->pend.queue[row];
		user[k] = s->pend.user[row];
		array[k] = s->pend.array[row];
		priority[k] = s->pend.priority[row];
		start[k] = s->now;
		end[k] = limit == SNAP_NEVER ? SNAP_NEVER : s->now + limit;
		waited[k] = s->now - s->member[it->member].since;
		served[k] = s->pend.served[row];
		preemptible[k] = s->pend.preemptible[row];
	}
	for (uint32_t i = 0; i < r->plan->nevictions; i++)
		ending[r->plan->eviction[i].run] = 1;
	list_tasks(r, first);
	r->then->run = (struct snap_run){
		.n = n + more,
		.job = job,
		.req = req,
		.queue = queue,
		.user = user,
		.array = array,
		.priority = priority,
		.start = start,
		.end = end,
		.suspended = COPY(a, from->suspended, n, more),
		.preemptible = preemptible,
		.ending = ending,
		.freezable = COPY(a, from->freezable, n, more),
		.safe_until = COPY(a, from->safe_until, n, more),
		.waited = waited,
		.served = served,
		.ran = COPY(a, from->ran, n, more),
		.task_first = first,
	};
	r->then->task = r->task;
	r->then->held = r->held;
	r->then->cpu_use = r->use;
}

static void list_waiting(struct rehearsal *r, struct arena *a)
{
	const struct snap *s = r->s;
	uint32_t n = s->pend.n ? s->pend.member_first[s->pend.n] : 0;
	struct snap_member *member = COPY(a, s->member, n, 0);
	int64_t *license = COPY(a, s->license.free, s->license.n, 0);

	for (uint32_t i = 0; i < r->plan->nstarts; i++) {
		const struct start *it = &r->plan->start[i];
		uint32_t req = s->pend.req[it->row];

		member[it->member].count--;
		member[it->member].room--;
		for (uint32_t k = s->req.license_first[req];
		     k < s->req.license_first[req + 1]; k++)
			license[s->license_use[k].license] -=
			    s->license_use[k].count;
	}
	r->then->member = member;
	r->then->license.free = license;
	r->then->pend.judged = arena_array(a, uint8_t, s->pend.n + 1);
}

/* --- claims ------------------------------------------------------------ */

/* The nodes of claims, collected for a snapshot. */
struct rehearsed_claims {
	struct arena_list node; /* uint32_t: the nodes */
	struct arena *arena;
};

static void add_node(struct rehearsed_claims *c, uint32_t node)
{
	*(uint32_t *)arena_push(c->arena, &c->node, sizeof(node)) = node;
}

/* Add the nodes that the plan claims for a row or, if row is SNAP_NONE, for a
 * run. use: by claim, 1 if its nodes are to be added; NULL: add the nodes of
 * all claims. */
static void add_claims(struct rehearsed_claims *list, const struct plan *plan,
                       const uint8_t *use, uint32_t row, uint32_t run)
{
	for (uint32_t i = 0; i < plan->nclaims; i++) {
		const struct plan_claim *c = &plan->claim[i];

		if ((use && !use[i]) || c->row != row ||
		    (row == SNAP_NONE && c->run != run))
			continue;
		for (uint32_t k = 0; k < c->n; k++)
			add_node(list, plan->claim_node[c->node_first + k]);
	}
}

static void list_claims(struct rehearsal *r, struct arena *a)
{
	struct snap *then = r->then;
	struct rehearsed_claims list = { .arena = a };
	uint32_t *run = arena_array(a, uint32_t, then->run.n + 1);
	uint32_t *row = arena_array(a, uint32_t, then->pend.n + 1);

	for (uint32_t i = 0; i < then->run.n; i++) {
		add_claims(&list, r->plan, NULL, SNAP_NONE, i);
		run[i + 1] = (uint32_t)list.node.n;
	}
	row[0] = run[then->run.n];
	for (uint32_t i = 0; i < then->pend.n; i++) {
		add_claims(&list, r->plan, NULL, i, SNAP_NONE);
		row[i + 1] = (uint32_t)list.node.n;
	}
	then->claim = list.node.p;
	then->run.claim_first = run;
	then->pend.claim_first = row;
}

const struct snap *rehearse_after(const struct snap *s, const struct plan *plan,
                                  struct arena *a)
{
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;
	uint32_t nuse = ntasks ? s->task[ntasks].cpu_first : 0;
	uint32_t more = 0;
	struct snap *then = arena_array(a, struct snap, 1);
	struct rehearsal r = { .s = s, .plan = plan, .then = then };

	for (uint32_t i = 0; i < plan->nstarts; i++) {
		const struct start *it = &plan->start[i];

		more += it->ntasks;
		nuse += plan->task[it->task_first + it->ntasks].cpu_first -
		        plan->task[it->task_first].cpu_first;
	}
	for (uint32_t i = 0; i < plan->ngrows; i++) {
		const struct grow *it = &plan->grow[i];

		more += it->ntasks;
		nuse += plan->task[it->task_first + it->ntasks].cpu_first -
		        plan->task[it->task_first].cpu_first;
	}
	*then = *s;
	r.task = arena_array(a, struct snap_task, ntasks + more + 1);
	r.use = arena_array(a, struct snap_cpu_use, nuse + 1);
	if (s->piece.n)
		r.held = arena_array(a, uint64_t, ntasks + more + 1);
	then->node.cpu_free = r.cpu = COPY(a, s->node.cpu_free, s->node.n, 0);
	then->node.mem_free = r.mem = COPY(a, s->node.mem_free, s->node.n, 0);
	then->node.tmp_free = r.tmp = COPY(a, s->node.tmp_free, s->node.n, 0);
	then->node.slot_free = r.slot =
	    COPY(a, s->node.slot_free, s->node.n, 0);
	then->node.dev_free = r.dev = COPY(a, s->node.dev_free, s->node.n, 0);
	then->gpu.free = r.gpu = COPY(a, s->gpu.free, s->gpu.n, 0);
	then->cpu.free = r.thread = COPY(a, s->cpu.free, s->cpu.n, 0);
	list_runs(&r, a);
	list_waiting(&r, a);
	list_claims(&r, a);
	then->npromises = 0;
	return then;
}

/* --- claims that are served at once --------------------------------------- */

static bool is_on(const struct snap *s, uint32_t run, const uint32_t *node,
                  uint32_t n)
{
	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		for (uint32_t i = 0; i < n; i++) {
			if (s->task[t].node == node[i])
				return true;
		}
	}
	return false;
}

/* Whether all jobs that the next plan evicts from these nodes for this job are
 * jobs that the first plan starts, and whether there is at least one. */
static bool takes_starts(const struct snap *s, const struct snap *then,
                         const struct plan *next, uint64_t job,
                         const uint32_t *node, uint32_t n)
{
	bool any = false;

	for (uint32_t i = 0; i < next->nevictions; i++) {
		const struct eviction *e = &next->eviction[i];

		if (e->by != job || !is_on(then, e->run, node, n))
			continue;
		if (e->run < s->run.n || e->why == EVICT_CONSOLIDATE ||
		    e->nlosses < snap_run_ntasks(then, e->run))
			return false;
		any = true;
	}
	return any;
}

static bool is_granted(const struct snap *s, const struct snap *then,
                       const struct plan *next, const struct plan_claim *c)
{
	const uint32_t *node = next->claim_node + c->node_first;

	if (c->row == SNAP_NONE)
		return c->run < s->run.n &&
		       takes_starts(s, then, next, s->run.job[c->run], node,
		                    c->n);
	return may_claim(s, c->row) &&
	       takes_starts(s, then, next, s->member[c->member].job, node,
	                    c->n);
}

const struct snap *rehearse_grant(const struct snap *s, const struct snap *then,
                                  const struct plan *next,
                                  const struct snap *origin,
                                  const struct vain *vain, struct arena *a)
{
	uint8_t *granted = arena_array(a, uint8_t, next->nclaims);
	struct snap *ret = arena_array(a, struct snap, 1);
	uint32_t *run = arena_array(a, uint32_t, s->run.n + 1);
	uint32_t *row = arena_array(a, uint32_t, s->pend.n + 1);
	struct rehearsed_claims list = { .arena = a };
	bool any = false;

	for (uint32_t i = 0; i < next->nclaims; i++) {
		granted[i] = is_granted(s, then, next, &next->claim[i]);
		any |= granted[i];
	}
	if (!any)
		return NULL;
	for (uint32_t i = 0; i < s->run.n; i++) {
		for (uint32_t k = s->run.claim_first[i];
		     k < s->run.claim_first[i + 1]; k++)
			add_node(&list, s->claim[k]);
		add_claims(&list, next, granted, SNAP_NONE, i);
		run[i + 1] = (uint32_t)list.node.n;
	}
	row[0] = run[s->run.n];
	for (uint32_t i = 0; i < s->pend.n; i++) {
		/* A row whose starts are evicted loses the claims that it was
		 * granted, but keeps the claims of earlier plans. */
		const struct snap *old = vain[i].by ? origin : s;
		size_t before = list.node.n;

		/* A claim that is granted names all nodes of a job, which may
		 * have had another claim that is void. */
		add_claims(&list, next, granted, i, SNAP_NONE);
		for (uint32_t k = old->pend.claim_first[i];
		     list.node.n == before && k < old->pend.claim_first[i + 1];
		     k++)
			add_node(&list, old->claim[k]);
		row[i + 1] = (uint32_t)list.node.n;
	}
	*ret = *s;
	ret->claim = list.node.p;
	ret->run.claim_first = run;
	ret->pend.claim_first = row;
	return ret;
}
