/* walk.c - go through the times at which something changes on one node */
#include "aischedd/sched/future/walk.h"

#include "aischedd/sched/fit.h"
#include "aischedd/sched/verdict.h"

struct future_runs *future_walk_runs(struct future *a)
{
	const struct snap *s = a->s;

	if (a->stays)
		return a->stays;
	a->stays = future_runs_new(s, a->arena);
	a->soon = future_nodes_new(s, a->stays, a->arena);
	a->then = work_new_blank(s, a->p->work, a->arena);
	for (uint32_t t = 0; s->run.n && t < s->run.task_first[s->run.n]; t++) {
		if (a->gone[t])
			future_nodes_early(a->soon, s->task[t].node);
	}
	return a->stays;
}

static void take_task(struct work *w, uint32_t req,
                      const struct snap_task *task,
                      const struct snap_cpu_use *use, bool cpus, bool rest,
                      int sign)
{
	if (cpus)
		work_cpus(w, req, task->node, use + task->cpu_first,
		          task[1].cpu_first - task->cpu_first, sign);
	if (rest)
		work_rest(w, req, task, sign);
	if (cpus && w->snap->req.exclusive[req])
		work_add(w, &w->sealed[task->node], -sign);
}

/* Subtract what an added task holds from what is free (sign -1), or add it back
 * (1). */
static void take_added(struct future *a, const struct future_added *it,
                       int sign)
{
	take_task(a->then, it->req, a->p->task + it->task, a->p->use, true,
	          !it->goes_on, sign);
	if (!it->goes_on)
		work_pieces(a->then, a->p->task[it->task].node,
		            place_pieces(a->p, it->task), sign);
}

static void release(struct future_walk *w, const struct future_run *stay)
{
	struct future *a = w->a;

	if (stay->run == SNAP_NONE) {
		take_added(a, future_added_at(a, stay->task), 1);
		return;
	}
	take_task(a->then, a->s->run.req[stay->run], a->s->task + stay->task,
	          a->s->cpu_use, !a->s->run.suspended[stay->run], true, 1);
	work_pieces(a->then, w->node, snap_held(a->s, stay->task), 1);
}

/* Subtract the amounts of n tasks of an entry for which no devices are free, so
 * that other tasks cannot take these amounts. Amounts that an earlier call
 * subtracted for the entry are added back first; n = 0 does only this. */
static void withhold(struct future_walk *w, struct future_due *d, uint32_t n)
{
	struct future_ask ask = future_ask_of(w->a, d->req, 1);
	struct work *then = w->a->then;
	int64_t more = (int64_t)n - d->nwithheld;

	if (d->resumes != SNAP_NONE)
		future_ask_go_on(&ask);
	work_add(then, &then->cpu[w->node], -more * ask.need[FUTURE_CPU]);
	work_add(then, &then->mem[w->node], -more * ask.need[FUTURE_MEM]);
	work_add(then, &then->tmp[w->node], -more * ask.need[FUTURE_TMP]);
	work_add(then, &then->slot[w->node], -more * ask.need[FUTURE_SLOT]);
	work_add(then, &then->gpu[w->node],
	         -more * future_need(w->a, &ask, w->node, FUTURE_GPU));
	work_add(then, &then->whole[w->node], -more * ask.need[FUTURE_WHOLE]);
	work_add(then, &then->idle[w->node], -more * ask.need[FUTURE_IDLE]);
	for (uint32_t i = 0; i < then->snap->dev.n && !ask.goes_on; i++)
		work_add(then, &then->dev[w->node * then->snap->dev.n + i],
		         -more * then->snap->req.devs[d->req].n[i]);
	d->nwithheld = n;
	d->lacks |= n > 0;
}

static void free_due(struct future_walk *w, struct future_due *d)
{
	if (d->nwithheld)
		withhold(w, d, 0);
	for (uint32_t i = 0; i < d->ntasks; i++) {
		take_task(w->a->then, d->req, &d->task[2 * i], d->use, true,
		          d->resumes == SNAP_NONE, 1);
		if (d->held && d->resumes == SNAP_NONE)
			work_pieces(w->a->then, w->node, d->held[i], 1);
	}
	d->ntasks = 0;
}

/* Whether the entry is of tasks on trial that start now. */
static bool starts_now(const struct future *a, const struct future_due *d)
{
	return d == &a->trial && d->start <= a->s->now;
}

/* Set on what the choice of devices for an entry depends: the GPUs that its job
 * has there, and those that others are promised. Entries are placed as if none
 * were promised; only tasks on trial that start now are placed like those that
 * do start. */
static void begin_due(struct future_walk *w, const struct future_due *d)
{
	struct work *then = w->a->then;

	then->awaited = starts_now(w->a, d) ? w->a->p->work->awaited : NULL;
	then->own_gpus[w->node] = d->own;
}

/* Place the tasks of an entry as fit_task() does. If some do not fit, subtract
 * only their amounts, and set w->cut to the entry. */
static void place_due(struct future_walk *w, struct future_due *d)
{
	struct work *then = w->a->then;
	size_t ncpus = fit_max_cpus(then->snap, d->req);
	uint32_t n = d->n;

	if (!d->task) {
		d->task =
		    arena_array(w->a->arena, struct snap_task, 2 * (size_t)n);
		d->use = arena_array(
		    w->a->arena, struct snap_cpu_use,
		    snap_node_ncpus(then->snap, w->node) ? n * ncpus : 0);
		if (then->snap->piece.n)
			d->held = arena_array(w->a->arena, uint64_t, n);
	}
	if (d->nwithheld)
		withhold(w, d, 0);
	begin_due(w, d);
	if (d->resumes != SNAP_NONE)
		n = fit_cpus_again(then, d->req, then->snap->task + d->resumes);
	else
		n = (uint32_t)fit_count(then, d->req, w->node, 0, n);
	if (n < d->n && (!w->cut || w->cut->is_void))
		w->cut = d;
	for (; d->ntasks < n; d->ntasks++) {
		struct snap_task *t = &d->task[2 * d->ntasks];
		struct snap_cpu_use *use = d->use + d->ntasks * ncpus;

		t->cpu_first = (uint32_t)(d->ntasks * ncpus);
		if (d->resumes != SNAP_NONE) {
			t->node = w->node;
			t[1].cpu_first = fit_resume(
			    then, d->req, then->snap->task + d->resumes, use);
		} else {
			t[1].cpu_first = fit_task(then, d->req, w->node,
			                          n - d->ntasks, t, use);
			w->awaited |= t->gpus;
			if (d->held)
				d->held[d->ntasks] = then->chosen;
		}
		t[1].cpu_first += t->cpu_first;
	}
	then->own_gpus[w->node] = 0;
	if (n < d->n)
		withhold(w, d, d->n - n);
	if (n && then->snap->req.exclusive[d->req])
		work_add(then, &then->sealed[w->node], n);
}

/* Set the counters to what is free at this time. A walk only goes forward. */
static void arrive(struct future_walk *w, int64_t at)
{
	struct future *a = w->a;
	struct future_due *due = a->view[w->node].due;
	bool late = a->s->node.retry_at[w->node] > at;

	w->at = at;
	for (; w->next < w->nstays && w->stay[w->next].end <= at; w->next++)
		release(w, &w->stay[w->next]);
	for (struct future_due *d = due; d; d = d->next) {
		if ((d->ntasks || d->nwithheld) && future_due_is_over(d, at))
			free_due(w, d);
	}
	w->nkept = 0;
	w->whose = late ? FUTURE_NOBODY : FUTURE_ANYBODY;
	for (struct future_due *d = due; d && d->start <= at; d = d->next) {
		if (future_due_is_over(d, at))
			continue;
		if (d->resv != SNAP_NONE) {
			w->whose = late ? FUTURE_NOBODY : d->resv;
			continue;
		}
		if (!d->ntasks)
			place_due(w, d);
		w->nkept++;
	}
}

static uint32_t count_added(const struct future *a, uint32_t node)
{
	uint32_t n = 0;

	for (uint32_t i = a->view[node].added; i;
	     i = future_added_at(a, i)->next)
		n++;
	return n;
}

/* List all tasks on the node whose end is known, sorted by end, and subtract
 * the tasks that were added in this pass from what is free. */
static void list_leaving(struct future_walk *w)
{
	struct future *a = w->a;
	const struct future_runs *st = a->stays;
	uint32_t n = st->first[w->node + 1] - st->first[w->node];
	size_t most = n + count_added(a, w->node);
	const struct future_added *it;
	bool sorted = true;

	w->nstays = 0;
	if (most > a->leaving_cap) {
		a->leaving_cap = 2 * most;
		a->leaving =
		    arena_array(a->arena, struct future_run, a->leaving_cap);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct future_run now = st->stay[st->first[w->node] + i];

		if (a->gone[now.task]) {
			now.end = a->s->now;
			sorted = false;
		}
		if (now.end != SNAP_NEVER)
			a->leaving[w->nstays++] = now;
	}
	for (uint32_t i = a->view[w->node].added; i; i = it->next) {
		it = future_added_at(a, i);
		take_added(a, it, -1);
		if (it->end == SNAP_NEVER)
			continue;
		a->leaving[w->nstays++] =
		    (struct future_run){ it->end, SNAP_NONE, i };
		sorted = false;
	}
	if (!sorted)
		future_runs_sort(a->leaving, w->nstays);
	w->stay = a->leaving;
}

/* Set the counters to what is free in the snapshot, before tasks that were
 * added in this pass are subtracted. */
static void fill_node(struct future *a, uint32_t node)
{
	const struct snap *s = a->s;
	const struct future_runs *st = future_walk_runs(a);

	work_fill(a->then, node, WORK_NOW);
	a->then->tasks[node] = st->first[node + 1] - st->first[node];
	a->then->sealed[node] = 0;
	for (uint32_t i = st->first[node]; i < st->first[node + 1]; i++) {
		uint32_t run = st->stay[i].run;

		a->then->sealed[node] +=
		    s->req.exclusive[s->run.req[run]] && !s->run.suspended[run];
	}
}

/* A job that starts now takes devices that are free at present, not those of
 * ending runs. So if the tasks on trial start now, place them before ending
 * runs are released. */
static void place_start(struct future_walk *w, struct future_due *d)
{
	struct future *a = w->a;

	if (!starts_now(a, d))
		return;
	begin_due(w, d);
	if (fit_has(a->then, d->req, w->node, 0, d->n))
		place_due(w, d);
	a->then->own_gpus[w->node] = 0;
}

void future_walk_begin(struct future_walk *w, struct future *a, uint32_t node)
{
	*w = (struct future_walk){ .a = a, .node = node };
	fill_node(a, node);
	for (struct future_due *d = a->view[node].due; d; d = d->next) {
		d->ntasks = d->nwithheld = 0;
		d->lacks = false;
	}
	list_leaving(w);
	future_spend(a, 8 * w->nstays + 8);
	for (struct future_due *d = a->view[node].due; d; d = d->next)
		place_start(w, d);
	arrive(w, a->s->now);
}

/* Returns the time of the next change, or INT64_MAX if there is none. */
static int64_t next_change(const struct future_walk *w)
{
	int64_t next = INT64_MAX, retry = w->a->s->node.retry_at[w->node];

	if (w->next < w->nstays)
		next = w->stay[w->next].end;
	if (retry > w->at && retry < next)
		next = retry;
	for (const struct future_due *d = w->a->view[w->node].due; d;
	     d = d->next) {
		if (d->start > w->at && d->start < next)
			next = d->start;
		if (d->end > w->at && d->end < next)
			next = d->end;
	}
	return next;
}

bool future_walk_on(struct future_walk *w)
{
	int64_t next = next_change(w);

	if (next == INT64_MAX)
		return false;
	arrive(w, next);
	return true;
}

void future_walk_end(struct future_walk *w)
{
	/* Nothing needs to be undone: each walk fills in the node anew. */
	work_commit(w->a->then);
}

static void lowest(uint64_t *job, uint64_t other)
{
	if (!*job || other < *job)
		*job = other;
}

uint64_t future_walk_ends(struct future *a, uint32_t node, int64_t at)
{
	const struct future_view *v = &a->view[node];
	const struct future_runs *st = future_walk_runs(a);
	uint64_t job = 0;

	for (uint32_t i = st->first[node]; i < st->first[node + 1]; i++) {
		const struct future_run *it = &st->stay[i];

		if (it->end == at || (a->gone[it->task] && at == a->s->now))
			lowest(&job, a->s->run.job[it->run]);
	}
	for (uint32_t i = v->added; i; i = future_added_at(a, i)->next) {
		if (future_added_at(a, i)->end == at)
			lowest(&job, future_added_at(a, i)->job);
	}
	for (const struct future_due *d = v->due; d && !job; d = d->next) {
		if (d->end == at && d->resv == SNAP_NONE)
			job = d->job;
	}
	return job;
}

static bool holds(const struct snap *s, uint32_t req, bool suspended,
                  int64_t what)
{
	if (what == RES_GPU)
		return s->req.gpus[req];
	if (what == RES_MEM)
		return s->req.mem[req];
	if (what == WHAT_TMP)
		return s->req.tmp[req];
	if (what == WHAT_SLOT)
		return true;
	if (what >= WHAT_NEAR)
		return s->req.devs[req].n[what - WHAT_NEAR];
	if (what >= WHAT_DEV)
		return s->req.devs[req].n[what - WHAT_DEV];
	return s->req.cpus[req] && !suspended;
}

uint64_t future_walk_blocker(struct future *a, uint32_t node, int64_t what)
{
	const struct snap *s = a->s;
	const struct future_runs *st = future_walk_runs(a);
	int64_t first = SNAP_NEVER;
	uint64_t job = 0;

	for (uint32_t i = st->first[node]; i < st->first[node + 1]; i++) {
		uint32_t run = st->stay[i].run;
		int64_t end = st->stay[i].end;

		if (!holds(s, s->run.req[run], s->run.suspended[run], what))
			continue;
		if (!job || future_ends_before(end, first) ||
		    (end == first && s->run.job[run] < job)) {
			first = end;
			job = s->run.job[run];
		}
	}
	for (uint32_t i = a->view[node].added; i;
	     i = future_added_at(a, i)->next) {
		const struct future_added *it = future_added_at(a, i);

		if (!holds(s, it->req, false, what))
			continue;
		if (!job || future_ends_before(it->end, first) ||
		    (it->end == first && it->job < job)) {
			first = it->end;
			job = it->job;
		}
	}
	return job;
}
