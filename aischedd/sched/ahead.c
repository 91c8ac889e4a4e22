/* ahead.c - what each node has free from now on */
#include "aischedd/sched/ahead.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/fit.h"
#include "aischedd/sched/stay.h"

/* Points looked at in one pass: some 30 ms.  It is work that is counted, not
 * time, so that a plan is the same on every machine. */
enum { PATIENCE = 6000000 };

/* Room for these to begin with: most nodes have few tasks. */
enum { POINTS = 12 };

/* A task that starts in this pass. */
struct added {
	uint64_t job;
	int64_t end;
	uint32_t req;
	uint32_t task; /* in place->task */
	bool goes_on;  /* has its memory and GPUs already */
	uint32_t next; /* of the node, + 1; 0: none */
};

/* What is known of a node; nothing, as long as it is zeroed. */
struct view {
	int64_t *at;
	struct point *point;
	uint32_t npoints, cap;
	struct due *due; /* by start */
	uint32_t added;  /* first of list, + 1 */
	bool is_new;     /* the points are those of what is there */
	bool odd;        /* amounts alone do not say what fits */
};

struct ahead {
	struct place *p;
	const struct snap *s;
	struct arena *arena;
	struct view *view; /* by node */
	bool changes;
	int64_t patience;

	/* Once somebody asks. */
	struct stays *stays;
	struct soon *soon;
	struct work *then; /* of the node that is looked at */
	uint8_t *gone;     /* by task: told to leave in this pass */

	struct arena_list added;
	size_t ntasks;        /* of place->task that are among them */
	struct stay *leaving; /* scratch: all that ends on the node */
	size_t leaving_cap;
	int64_t *count; /* scratch: one a point */
	size_t count_cap;
	struct snap_cpu_use *use; /* scratch: of one task */
	size_t use_cap;
};

/* --- what is there ----------------------------------------------------- */

static void *copy(struct arena *arena, const void *p, size_t n, size_t size)
{
	void *ret = arena_alloc(arena, n, size);

	return n ? memcpy(ret, p, n * size) : ret;
}

struct ahead *ahead_new(struct place *p, bool changes)
{
	struct ahead *a = arena_array(p->arena, struct ahead, 1);
	const struct snap *s = p->snap;

	a->p = p;
	a->s = s;
	a->arena = p->arena;
	a->view = arena_array(p->arena, struct view, s->node.n);
	a->patience = PATIENCE;
	a->changes = changes;
	return a;
}

/* Somebody asks. */
static struct stays *stays_of(struct ahead *a)
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

struct soon *ahead_soon(struct ahead *a)
{
	stays_of(a);
	return a->soon;
}

bool ahead_changes(const struct ahead *a)
{
	return a->changes;
}

int64_t ahead_patience(const struct ahead *a)
{
	return a->patience;
}

int64_t ahead_set_patience(struct ahead *a, int64_t points)
{
	int64_t was = a->patience;

	a->patience = points;
	return was;
}

void ahead_spend(struct ahead *a, size_t points)
{
	a->patience -= (int64_t)points;
}

/* --- a walk through the times of one node ------------------------------ */

struct walk {
	struct ahead *a;
	uint32_t node;
	int64_t at;
	const struct stay *stay; /* that end, in this order */
	size_t nstays, next;
	uint32_t whose, nkept;
	const struct due *cut; /* found less room than was kept for it */
};

/* i: + 1, as in lists. */
static const struct added *added_at(const struct ahead *a, uint32_t i)
{
	return (const struct added *)a->added.p + i - 1;
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

static bool is_over(const struct due *d, int64_t at)
{
	return d->end != SNAP_NEVER && d->end <= at;
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
		if (d->ntasks && is_over(d, at))
			free_due(w, d);
	}
	w->nkept = 0;
	w->whose = late ? AHEAD_NOBODY : AHEAD_ANYBODY;
	for (struct due *d = due; d && d->start <= at; d = d->next) {
		if (is_over(d, at))
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

		sorted &= now.end == st->end[now.run] && !a->gone[now.task];
		now.end = a->gone[now.task] ? a->s->now : st->end[now.run];
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
	const struct stays *st = stays_of(a);

	work_fill(a->then, node, WORK_NOW);
	a->then->tasks[node] = st->first[node + 1] - st->first[node];
	a->then->sealed[node] = 0;
	for (uint32_t i = st->first[node]; i < st->first[node + 1]; i++) {
		uint32_t run = st->stay[i].run;

		a->then->sealed[node] +=
		    s->req.exclusive[s->run.req[run]] && !s->run.suspended[run];
	}
}

static void walk_begin(struct walk *w, struct ahead *a, uint32_t node)
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
static int64_t next_time(const struct walk *w)
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

static bool walk_on(struct walk *w)
{
	int64_t next = next_time(w);

	if (next == INT64_MAX)
		return false;
	arrive(w, next);
	return true;
}

static void walk_end(struct walk *w)
{
	work_commit(w->a->then); /* it is filled in anew */
}

/* --- points ------------------------------------------------------------ */

static int64_t not_negative(int64_t n)
{
	return n < 0 ? 0 : n;
}

static struct point point_of(const struct walk *w)
{
	const struct work *then = w->a->then;
	uint32_t node = w->node;
	struct point pt = {
		.have = { not_negative(then->cpu[node]),
		          not_negative(then->mem[node]), then->gpu[node],
		          then->whole[node],
		          node_ncpus(w->a->s, node) ? then->idle[node]
		                                    : INT64_MAX },
		.ntasks = (uint32_t)then->tasks[node],
		.nkept = w->nkept,
		.whose = w->whose,
	};

	for (int d = 0; then->sealed[node] && d < AHEAD_N; d++)
		pt.have[d] = -1;
	return pt;
}

static void make_room(struct ahead *a, struct view *v)
{
	const int64_t *at = v->at;
	const struct point *point = v->point;

	if (v->npoints < v->cap)
		return;
	v->cap = v->cap ? 2 * v->cap : POINTS;
	v->at = arena_array(a->arena, int64_t, v->cap);
	v->point = arena_array(a->arena, struct point, v->cap);
	if (!v->npoints)
		return;
	memcpy(v->at, at, v->npoints * sizeof(*at));
	memcpy(v->point, point, v->npoints * sizeof(*point));
}

static void add_point(struct view *v, const struct walk *w)
{
	make_room(w->a, v);
	v->at[v->npoints] = w->at;
	v->point[v->npoints++] = point_of(w);
}

struct course ahead_course(struct ahead *a, uint32_t node)
{
	struct view *v = &a->view[node];

	if (!v->is_new) {
		struct walk w;

		walk_begin(&w, a, node);
		v->npoints = 0;
		do {
			add_point(v, &w);
		} while (walk_on(&w));
		walk_end(&w);
		v->is_new = true;
	}
	ahead_spend(a, 4);
	return (struct course){ v->npoints, v->at, v->point };
}

static bool has_mixed_class(const struct ahead *a, uint32_t req)
{
	const struct allowed *allowed = match_req(a->p->match, req);

	for (uint32_t i = 0; i < allowed->nclasses; i++) {
		if (match_class(a->p->match, allowed->class[i])->mixed)
			return true;
	}
	return false;
}

struct ask ahead_ask(const struct ahead *a, uint32_t req, int64_t most)
{
	const struct snap *s = a->s;
	int64_t cpus = s->req.cpus[req], gpus = s->req.gpus[req];

	return (struct ask){
		.req = req,
		.need = { cpus, s->req.mem[req], gpus, gpus / 1000,
		          cpus / 1000 },
		.most = most,
		.whose = s->req.reservation[req],
		.exclusive = s->req.exclusive[req],
		.odd = gpus % 1000 || (cpus % 1000 && s->cpu.n) ||
		       s->req.numa[req] == NUMA_STRICT ||
		       (gpus && s->req.gpu_type[req] != SNAP_NONE &&
		        has_mixed_class(a, req)),
	};
}

bool ahead_is_odd(const struct ahead *a, uint32_t node, const struct ask *ask)
{
	return !ask->goes_on && (ask->odd || a->view[node].odd);
}

static const int64_t *count_odd(struct ahead *a, uint32_t node,
                                const struct ask *ask)
{
	struct walk w;
	uint32_t n = 0;

	walk_begin(&w, a, node);
	do {
		a->count[n++] =
		    w.whose == ask->whose
			? fit_count(a->then, ask->req, node, 0, ask->most)
			: 0;
	} while (walk_on(&w));
	walk_end(&w);
	return a->count;
}

const int64_t *ahead_counts(struct ahead *a, uint32_t node,
                            const struct ask *ask)
{
	struct course c = ahead_course(a, node);

	if (c.n > a->count_cap) {
		a->count_cap = 2 * (size_t)c.n;
		a->count = arena_array(a->arena, int64_t, a->count_cap);
	}
	ahead_spend(a, c.n);
	if (ask->odd)
		return count_odd(a, node, ask);
	for (uint32_t i = 0; i < c.n; i++)
		a->count[i] = ask_count(ask, &c.point[i]);
	return a->count;
}

/* The index of the point that begins at a time: there is one from now on. */
static uint32_t split_at(struct ahead *a, struct view *v, int64_t at)
{
	struct course c = { v->npoints, v->at, v->point };
	uint32_t i = course_at(&c, at);

	if (v->at[i] >= at)
		return i;
	make_room(a, v);
	i++;
	memmove(v->at + i, v->at + i - 1,
	        (v->npoints - i + 1) * sizeof(*v->at));
	memmove(v->point + i, v->point + i - 1,
	        (v->npoints - i + 1) * sizeof(*v->point));
	v->at[i] = at;
	v->npoints++;
	return i;
}

/*
 * Tasks are there from a time until another.  Where amounts tell what fits
 * they are taken from the points; else the walk begins anew when somebody
 * asks.
 */
static void take_amounts(struct ahead *a, struct view *v, uint32_t req,
                         int64_t n, int64_t from, int64_t until, bool kept)
{
	struct ask ask = ahead_ask(a, req, n);
	uint32_t i, end;

	v->is_new &= !v->odd && !ask.odd;
	if (!v->is_new)
		return;
	i = split_at(a, v, from);
	end = until == SNAP_NEVER ? v->npoints : split_at(a, v, until);
	for (; i < end; i++) {
		struct point *pt = &v->point[i];

		for (int d = 0; d < AHEAD_N; d++)
			pt->have[d] =
			    ask.exclusive ? -1 : pt->have[d] - n * ask.need[d];
		pt->ntasks += (uint32_t)n;
		pt->nkept += kept;
	}
}

/* --- what is kept ------------------------------------------------------ */

/* What is kept at this time, of a reservation or of a job. */
static const struct due *due_at(const struct view *v, int64_t at, bool resv)
{
	for (const struct due *d = v->due; d && d->start <= at; d = d->next) {
		if (!is_over(d, at) && (d->resv != SNAP_NONE) == resv)
			return d;
	}
	return NULL;
}

static bool is_before(int64_t at, int64_t until)
{
	return until == SNAP_NEVER || at < until;
}

/* Put the tasks there and see who finds less room than was kept for him. */
static bool try_it(struct ahead *a, uint32_t node, const struct ask *ask,
                   int64_t n, int64_t from, int64_t until,
                   const struct due **ret)
{
	size_t ncpus = fit_max_cpus(a->s, ask->req);
	struct snap_task task;
	struct walk w;
	int64_t room;

	if (ncpus > a->use_cap) {
		a->use_cap = 2 * ncpus;
		a->use = arena_array(a->arena, struct snap_cpu_use, a->use_cap);
	}
	walk_begin(&w, a, node);
	while (next_time(&w) <= from)
		walk_on(&w);
	room = fit_count(a->then, ask->req, node, 0, n);
	w.cut = room < n ? due_at(&a->view[node], from, false) : NULL;
	for (int64_t i = 0; !w.cut && i < room; i++)
		fit_task(a->then, ask->req, node, &task, a->use);
	while (!w.cut && is_before(next_time(&w), until) && walk_on(&w))
		;
	walk_end(&w);
	*ret = w.cut;
	return !w.cut;
}

bool ahead_allows(struct ahead *a, uint32_t node, const struct ask *ask,
                  int64_t n, int64_t from, int64_t until,
                  const struct due **ret)
{
	const struct view *v = &a->view[node];
	struct course c;

	*ret = NULL;
	if (ask->whose == AHEAD_ANYBODY && until != SNAP_NEVER &&
	    (!v->due || until <= v->due->start))
		return true;
	c = ahead_course(a, node);
	for (uint32_t i = course_at(&c, from);
	     i < c.n && is_before(c.at[i], until); i++) {
		const struct point *pt = &c.point[i];
		bool fits = true;

		if (pt->whose != ask->whose && pt->whose != AHEAD_NOBODY) {
			*ret = due_at(v, c.at[i], true);
			return false;
		}
		if (!pt->nkept)
			continue;
		for (int d = 0; d < AHEAD_N; d++)
			fits &= pt->have[d] >= n * ask->need[d];
		if (!fits || ask->exclusive) {
			*ret = due_at(v, c.at[i], false);
			return false;
		}
	}
	return !ahead_is_odd(a, node, ask) ||
	       try_it(a, node, ask, n, from, until, ret);
}

void ahead_keep(struct ahead *a, uint32_t node, const struct due *due)
{
	struct view *v = &a->view[node];
	struct due **at = &v->due, *d = copy(a->arena, due, 1, sizeof(*due));

	while (*at && (*at)->start <= d->start)
		at = &(*at)->next;
	d->next = *at;
	*at = d;
	d->task = NULL;
	if (d->resv == SNAP_NONE && d->resumes == SNAP_NONE)
		take_amounts(a, v, d->req, d->n, d->start, d->end, true);
	else
		v->is_new = false;
	if (d->resv == SNAP_NONE)
		v->odd |= ahead_ask(a, d->req, 1).odd;
	a->changes |= d->end != SNAP_NEVER;
	a->p->watched[node] = 1;
	a->p->nkept++;
}

void ahead_add(struct ahead *a, uint32_t req)
{
	const struct place *p = a->p;

	/* One that goes on is no longer suspended: it has an end. */
	if (p->run != SNAP_NONE)
		stays_of(a)->end[p->run] = p->until;
	a->changes |= p->until != SNAP_NEVER;
	a->ntasks = a->ntasks > p->first_task ? a->ntasks : p->first_task;
	for (; a->ntasks < p->ntasks; a->ntasks++) {
		struct view *v = &a->view[p->task[a->ntasks].node];
		struct added *it = arena_push(a->arena, &a->added, sizeof(*it));

		*it = (struct added){ .job = p->job,
			              .end = p->until,
			              .req = req,
			              .task = (uint32_t)a->ntasks,
			              .goes_on = p->run != SNAP_NONE,
			              .next = v->added };
		v->added = (uint32_t)a->added.n;
		if (it->goes_on)
			soon_early(a->soon, p->task[a->ntasks].node);
		if (it->goes_on)
			v->is_new = false;
		else
			take_amounts(a, v, req, 1, a->s->now, p->until, false);
	}
}

void ahead_leave(struct ahead *a, uint32_t task, bool leaves)
{
	uint32_t node = a->s->task[task].node;

	stays_of(a);
	a->gone[task] = leaves;
	a->changes |= leaves;
	a->view[node].is_new = false;
	soon_early(a->soon, node);
}

/* --- who is in the way ------------------------------------------------- */

static void lowest(uint64_t *job, uint64_t other)
{
	if (!*job || other < *job)
		*job = other;
}

uint64_t ahead_ends(struct ahead *a, uint32_t node, int64_t at)
{
	const struct view *v = &a->view[node];
	const struct stays *st = stays_of(a);
	uint64_t job = 0;

	for (uint32_t i = st->first[node]; i < st->first[node + 1]; i++) {
		const struct stay *it = &st->stay[i];

		if (st->end[it->run] == at ||
		    (a->gone[it->task] && at == a->s->now))
			lowest(&job, a->s->run.job[it->run]);
	}
	for (uint32_t i = v->added; i; i = added_at(a, i)->next) {
		if (added_at(a, i)->end == at)
			lowest(&job, added_at(a, i)->job);
	}
	for (const struct due *d = v->due; d && !job; d = d->next) {
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
	return s->req.cpus[req] && !suspended;
}

uint64_t ahead_blocker(struct ahead *a, uint32_t node, int64_t what)
{
	const struct snap *s = a->s;
	const struct stays *st = stays_of(a);
	int64_t first = SNAP_NEVER;
	uint64_t job = 0;

	for (uint32_t i = st->first[node]; i < st->first[node + 1]; i++) {
		uint32_t run = st->stay[i].run;

		if (!holds(s, s->run.req[run], s->run.suspended[run], what))
			continue;
		if (!job || ends_before(st->end[run], first) ||
		    (st->end[run] == first && s->run.job[run] < job)) {
			first = st->end[run];
			job = s->run.job[run];
		}
	}
	for (uint32_t i = a->view[node].added; i; i = added_at(a, i)->next) {
		const struct added *it = added_at(a, i);

		if (!holds(s, it->req, false, what))
			continue;
		if (!job || ends_before(it->end, first) ||
		    (it->end == first && it->job < job)) {
			first = it->end;
			job = it->job;
		}
	}
	return job;
}
