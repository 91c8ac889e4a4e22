/* future_walk.c - what is there on one node, from now on */
#include "aischedd/sched/future_walk.h"

#include "aischedd/sched/fit.h"

/* Somebody asks. */
struct stays *ahead_stays(struct ahead *a)
{
	const struct snap *s = a->s;

	if (a->stays)
		return a->stays;
	a->stays = stays_new(s, a->arena);
	a->soon = soon_new(s, a->stays, a->arena);
	a->then = work_new_blank(s, a->p->work, a->arena);
	a->gone = arena_array(a->arena, uint8_t,
	                      s->run.n ? s->run.task_first[s->run.n] : 0);
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
		work_add(w, &w->sealed[task->node],
		         (sign < 0) - w->sealed[task->node]);
}

/* An added task comes (-1) or goes (1). */
static void take_added(struct ahead *a, const struct added *it, int sign)
{
	take_task(a->then, it->req, a->p->task + it->task, a->p->use, true,
	          !it->goes_on, sign);
}

static void release(struct walk *w, const struct stay *stay)
{
	struct ahead *a = w->a;

	if (stay->run == SNAP_NONE) {
		take_added(a, added_at(a, stay->task), 1);
		return;
	}
	take_task(a->then, a->s->run.req[stay->run], a->s->task + stay->task,
	          a->s->cpu_use, !a->s->run.suspended[stay->run], true, 1);
}

static void free_due(struct walk *w, struct due *d)
{
	for (uint32_t i = 0; i < d->ntasks; i++)
		take_task(w->a->then, d->req, &d->task[2 * i], d->use, true,
		          d->resumes == SNAP_NONE, 1);
	d->ntasks = 0;
}

/* The devices are those that come first: which ones does not matter. */
static void place_due(struct walk *w, struct due *d)
{
	struct work *then = w->a->then;
	size_t ncpus = fit_max_cpus(then->snap, d->req);
	uint32_t n = d->n;

	if (!d->task) {
		d->task =
		    arena_array(w->a->arena, struct snap_task, 2 * (size_t)n);
		d->use = arena_array(w->a->arena, struct snap_cpu_use,
		                     node_ncpus(then->snap, w->node) ? n * ncpus
		                                                     : 0);
	}
	if (d->resumes != SNAP_NONE)
		n = fit_cpus_again(then, d->req, then->snap->task + d->resumes);
	else
		n = (uint32_t)fit_count(then, d->req, w->node, 0, n);
	if (n < d->n && !w->cut)
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
			t[1].cpu_first =
			    fit_task(then, d->req, w->node, t, use);
		}
		t[1].cpu_first += t->cpu_first;
	}
	if (n && then->snap->req.exclusive[d->req])
		work_add(then, &then->sealed[w->node],
		         1 - then->sealed[w->node]);
}

/* Make it so as it is at this time. */
static void arrive(struct walk *w, int64_t at)
{
	struct ahead *a = w->a;
	struct due *due = a->view[w->node].due;
	bool late = a->s->node.retry_at[w->node] > at;

	w->at = at;
	for (; w->next < w->nstays && w->stay[w->next].end <= at; w->next++)
		release(w, &w->stay[w->next]);
	for (struct due *d = due; d; d = d->next) {
		if (d->ntasks && due_is_over(d, at))
			free_due(w, d);
	}
	w->nkept = 0;
	w->whose = late ? AHEAD_NOBODY : AHEAD_ANYBODY;
	for (struct due *d = due; d && d->start <= at; d = d->next) {
		if (due_is_over(d, at))
			continue;
		if (d->resv != SNAP_NONE) {
			w->whose = d->resv;
			continue;
		}
		if (!d->ntasks)
			place_due(w, d);
		w->nkept++;
	}
}

static uint32_t count_added(const struct ahead *a, uint32_t node)
{
	uint32_t n = 0;

	for (uint32_t i = a->view[node].added; i; i = added_at(a, i)->next)
		n++;
	return n;
}

/* All that ends on the node at times that are known. */
static void list_leaving(struct walk *w)
{
	struct ahead *a = w->a;
	const struct stays *st = a->stays;
	uint32_t n = st->first[w->node + 1] - st->first[w->node];
	size_t most = n + count_added(a, w->node);
	const struct added *it;
	bool sorted = true;

	w->nstays = 0;
	if (most > a->leaving_cap) {
		a->leaving_cap = 2 * most;
		a->leaving = arena_array(a->arena, struct stay, a->leaving_cap);
	}
	for (uint32_t i = 0; i < n; i++) {
		struct stay now = st->stay[st->first[w->node] + i];

		if (a->gone[now.task]) {
			now.end = a->s->now;
			sorted = false;
		}
		if (now.end != SNAP_NEVER)
			a->leaving[w->nstays++] = now;
	}
	for (uint32_t i = a->view[w->node].added; i; i = it->next) {
		it = added_at(a, i);
		take_added(a, it, -1);
		if (it->end == SNAP_NEVER)
			continue;
		a->leaving[w->nstays++] =
		    (struct stay){ it->end, SNAP_NONE, i };
		sorted = false;
	}
	if (!sorted)
		stays_sort(a->leaving, w->nstays);
	w->stay = a->leaving;
}

/* What is free on a node now, but for what was added. */
static void fill_node(struct ahead *a, uint32_t node)
{
	const struct snap *s = a->s;
	const struct stays *st = ahead_stays(a);

	work_fill(a->then, node, WORK_NOW);
	a->then->tasks[node] = st->first[node + 1] - st->first[node];
	a->then->sealed[node] = 0;
	for (uint32_t i = st->first[node]; i < st->first[node + 1]; i++) {
		uint32_t run = st->stay[i].run;

		a->then->sealed[node] +=
		    s->req.exclusive[s->run.req[run]] && !s->run.suspended[run];
	}
}

void walk_begin(struct walk *w, struct ahead *a, uint32_t node)
{
	*w = (struct walk){ .a = a, .node = node };
	fill_node(a, node);
	for (struct due *d = a->view[node].due; d; d = d->next)
		d->ntasks = 0;
	list_leaving(w);
	ahead_spend(a, 8 * w->nstays + 8);
	arrive(w, a->s->now);
}

/* When something changes next; INT64_MAX: nothing does. */
int64_t walk_next(const struct walk *w)
{
	int64_t next = INT64_MAX, retry = w->a->s->node.retry_at[w->node];

	if (w->next < w->nstays)
		next = w->stay[w->next].end;
	if (retry > w->at && retry < next)
		next = retry;
	for (const struct due *d = w->a->view[w->node].due; d; d = d->next) {
		if (d->start > w->at && d->start < next)
			next = d->start;
		if (d->end > w->at && d->end < next)
			next = d->end;
	}
	return next;
}

bool walk_on(struct walk *w)
{
	int64_t next = walk_next(w);

	if (next == INT64_MAX)
		return false;
	arrive(w, next);
	return true;
}

void walk_end(struct walk *w)
{
	work_commit(w->a->then); /* it is filled in anew */
}
