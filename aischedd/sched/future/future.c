/* future.c - what each node has free from now on */
#include "aischedd/sched/future/walk.h"

#include <string.h>

#include "aischedd/sched/fit.h"

/* A pass may look at this many points, which takes some 30 ms. Work is counted,
 * not time, so that a plan is the same on every machine. */
enum { PATIENCE = 6000000, POINTS_A_LOOK = 8 };

/* Initial capacity of a list of points: most nodes have few tasks. */
enum { POINTS = 12 };

static void *copy(struct arena *arena, const void *p, size_t n, size_t size)
{
	void *ret = arena_alloc(arena, n, size);

	return n ? memcpy(ret, p, n * size) : ret;
}

struct future *future_new(struct place *p, bool changes)
{
	struct future *a = arena_array(p->arena, struct future, 1);
	const struct snap *s = p->snap;

	a->p = p;
	a->s = s;
	a->arena = p->arena;
	a->view = arena_array(p->arena, struct future_view, s->node.n);
	a->gone = arena_array(p->arena, uint8_t,
	                      s->run.n ? s->run.task_first[s->run.n] : 0);
	a->patience = PATIENCE;
	a->changes = changes;
	return a;
}

struct future_nodes *future_nodes_of(struct future *a)
{
	future_walk_runs(a);
	return a->soon;
}

bool future_changes(const struct future *a)
{
	return a->changes;
}

int64_t future_patience(const struct future *a)
{
	int64_t tried = a->then ? (int64_t)*a->then->tried : 0;

	return a->patience - tried * POINTS_A_LOOK;
}

void future_spend(struct future *a, size_t points)
{
	a->patience -= (int64_t)points;
}

static int64_t not_negative(int64_t n)
{
	return n < 0 ? 0 : n;
}

static struct future_point point_of(const struct future_walk *w)
{
	const struct work *then = w->a->then;
	uint32_t node = w->node;
	struct future_point pt = {
		.have = { not_negative(then->cpu[node]),
		          not_negative(then->mem[node]),
		          not_negative(then->tmp[node]),
		          not_negative(then->slot[node]), then->gpu[node],
		          then->whole[node],
		          snap_node_ncpus(w->a->s, node) ? then->idle[node]
		                                         : INT64_MAX },
		.ntasks = (uint32_t)then->tasks[node],
		.nkept = w->nkept,
		.whose = w->whose,
	};

	for (int d = 0; then->sealed[node] && d < FUTURE_N; d++)
		pt.have[d] = -1;
	return pt;
}

static void make_room(struct future *a, struct future_view *v)
{
	const int64_t *at = v->at;
	const struct future_point *point = v->point;

	if (v->npoints < v->cap)
		return;
	v->cap = v->cap ? 2 * v->cap : POINTS;
	v->at = arena_array(a->arena, int64_t, v->cap);
	v->point = arena_array(a->arena, struct future_point, v->cap);
	if (!v->npoints)
		return;
	memcpy(v->at, at, v->npoints * sizeof(*at));
	memcpy(v->point, point, v->npoints * sizeof(*point));
}

static void add_point(struct future_view *v, const struct future_walk *w)
{
	make_room(w->a, v);
	v->at[v->npoints] = w->at;
	v->point[v->npoints++] = point_of(w);
}

struct future_course future_course_of(struct future *a, uint32_t node)
{
	struct future_view *v = &a->view[node];

	if (!v->is_new) {
		struct future_walk w;

		future_walk_begin(&w, a, node);
		v->npoints = 0;
		do {
			add_point(v, &w);
		} while (future_walk_on(&w));
		future_walk_end(&w);
		for (struct future_due *d = v->due; d; d = d->next)
			d->is_void = d->lacks;
		v->is_new = true;
	}
	future_spend(a, 4);
	return (struct future_course){ v->npoints, v->at, v->point };
}

static bool has_mixed_class(const struct future *a, uint32_t req)
{
	const struct allowed *allowed = match_req(a->p->match, req);

	for (uint32_t i = 0; i < allowed->nclasses; i++) {
		if (match_class(a->p->match, allowed->class[i])->mixed)
			return true;
	}
	return false;
}

struct future_ask future_ask_of(const struct future *a, uint32_t req,
                                int64_t most)
{
	const struct snap *s = a->s;
	int64_t cpus = s->req.cpus[req], gpus = s->req.gpus[req];

	return (struct future_ask){
		.req = req,
		.need = { cpus, s->req.mem[req], s->req.tmp[req], 1,
		          snap_gpus_least(s, req), gpus / 1000, cpus / 1000 },
		.most = most,
		.whose = s->req.reservation[req],
		.exclusive = s->req.exclusive[req],
		.odd = devices_any(&s->req.devs[req]) || gpus % 1000 ||
		       (cpus % 1000 && s->cpu.n) ||
		       s->req.numa[req] == NUMA_STRICT ||
		       s->req.numa[req] == NUMA_TIGHT ||
		       (gpus && s->req.links[req] == LINKS_STRICT) ||
		       (gpus &&
		        (s->gpu.parts || s->req.gpu_type[req] != SNAP_NONE) &&
		        has_mixed_class(a, req)),
	};
}

int64_t future_need(const struct future *a, const struct future_ask *ask,
                    uint32_t node, enum future_dim dim)
{
	return dim == FUTURE_GPU && ask->need[dim]
	           ? snap_gpus_on(a->s, ask->req, node)
	           : ask->need[dim];
}

bool future_is_odd(const struct future *a, uint32_t node,
                   const struct future_ask *ask)
{
	return !ask->goes_on && (ask->odd || a->view[node].odd);
}

static const int64_t *count_odd(struct future *a, uint32_t node,
                                const struct future_ask *ask)
{
	struct future_walk w;
	uint32_t n = 0;

	future_walk_begin(&w, a, node);
	do {
		a->count[n++] =
		    w.whose == ask->whose
			? fit_count(a->then, ask->req, node, 0, ask->most)
			: 0;
	} while (future_walk_on(&w));
	future_walk_end(&w);
	return a->count;
}

const int64_t *future_counts(struct future *a, uint32_t node,
                             const struct future_ask *ask)
{
	struct future_course c = future_course_of(a, node);

	if (c.n > a->count_cap) {
		a->count_cap = 2 * (size_t)c.n;
		a->count = arena_array(a->arena, int64_t, a->count_cap);
	}
	future_spend(a, c.n);
	if (ask->odd)
		return count_odd(a, node, ask);
	for (uint32_t i = 0; i < c.n; i++)
		a->count[i] = future_ask_count(ask, &c.point[i]);
	return a->count;
}

/* Returns the index of the point that begins at this time, after adding one if
 * there is none. */
static uint32_t split_at(struct future *a, struct future_view *v, int64_t at)
{
	struct future_course c = { v->npoints, v->at, v->point };
	uint32_t i = future_course_at(&c, at);

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
 * Subtract n tasks from the points of a node, from one time until another. If
 * amounts alone do not decide what fits there, mark the points as out of date
 * instead, so that they are computed again.
 */
static void take_amounts(struct future *a, struct future_view *v, uint32_t req,
                         int64_t n, int64_t from, int64_t until, bool kept)
{
	struct future_ask ask = future_ask_of(a, req, n);
	uint32_t i, end;

	v->is_new &= !v->odd && !ask.odd;
	if (!v->is_new)
		return;
	i = split_at(a, v, from);
	end = until == SNAP_NEVER ? v->npoints : split_at(a, v, until);
	for (; i < end; i++) {
		struct future_point *pt = &v->point[i];

		for (int d = 0; d < FUTURE_N; d++)
			pt->have[d] =
			    ask.exclusive ? -1 : pt->have[d] - n * ask.need[d];
		pt->ntasks += (uint32_t)n;
		pt->nkept += kept;
	}
}

/* Returns the first entry of a reservation (resv true) or of a job (resv false)
 * that is in force on the node at this time, or NULL. */
static const struct future_due *due_at(const struct future_view *v, int64_t at,
                                       bool resv)
{
	for (const struct future_due *d = v->due; d && d->start <= at;
	     d = d->next) {
		if (!future_due_is_over(d, at) &&
		    (d->resv != SNAP_NONE) == resv)
			return d;
	}
	return NULL;
}

static bool is_before(int64_t at, int64_t until)
{
	return until == SNAP_NEVER || at < until;
}

/* Continue the walk until the last entry has begun, or until an entry finds too
 * little free (w->cut). */
static void walk_dues(struct future_walk *w)
{
	int64_t last = INT64_MIN;

	for (const struct future_due *d = w->a->view[w->node].due; d;
	     d = d->next)
		last = d->start;
	while (!w->cut && w->at < last && future_walk_on(w))
		future_spend(w->a, 1);
}

/* Insert an entry for tasks on trial into the list of the node. Returns the
 * place in the list that points to the entry: the caller overwrites it to
 * remove the entry. */
static struct future_due **put_trial(struct future *a, uint32_t node,
                                     const struct future_due *trial)
{
	size_t ncpus = (size_t)trial->n * fit_max_cpus(a->s, trial->req);
	struct future_due **at = &a->view[node].due;

	if (trial->n > a->trial_cap) {
		a->trial_cap = 2 * (size_t)trial->n;
		a->trial_task =
		    arena_array(a->arena, struct snap_task, 2 * a->trial_cap);
		if (a->s->piece.n)
			a->trial_held =
			    arena_array(a->arena, uint64_t, a->trial_cap);
	}
	if (ncpus > a->use_cap) {
		a->use_cap = 2 * ncpus;
		a->use = arena_array(a->arena, struct snap_cpu_use, a->use_cap);
	}
	while (*at && (*at)->start <= trial->start)
		at = &(*at)->next;
	a->trial = *trial;
	a->trial.task = a->trial_task;
	a->trial.held = a->trial_held;
	a->trial.use = a->use;
	a->trial.next = *at;
	*at = &a->trial;
	return at;
}

/*
 * Whether n tasks fit on the node from one time until another, and all entries
 * of the node (struct future_due) still find the devices that they need. If the
 * tasks find too little, *ret is the first entry of a job that is in force when
 * they start. If an entry finds too little, *ret is that entry. It may begin
 * after the tasks have ended, because the devices of later entries depend on
 * those of earlier ones.
 */
static bool try_it(struct future *a, uint32_t node,
                   const struct future_ask *ask, int64_t n, int64_t from,
                   int64_t until, const struct future_due **ret)
{
	const struct future_due trial = { .start = from,
		                          .end = until,
		                          .resv = SNAP_NONE,
		                          .req = ask->req,
		                          .n = (uint32_t)n,
		                          .resumes = SNAP_NONE,
		                          .own = a->p->had[node].gpus };
	const struct future_due *due = due_at(&a->view[node], from, false);
	struct future_due **at = put_trial(a, node, &trial);
	struct future_walk w;

	future_walk_begin(&w, a, node);
	walk_dues(&w);
	/*
	 * Ignore entries that find too little even without the trial: they are
	 * void. (An entry can become void when jobs are evicted, because
	 * earlier entries then get other devices.) Ignore the trial itself if
	 * nothing is kept at its start: the caller checks what is free now.
	 */
	while (w.cut && (w.cut->is_void || (w.cut == &a->trial && !due))) {
		w.cut = NULL;
		walk_dues(&w);
	}
	future_walk_end(&w);
	*at = a->trial.next;
	*ret = w.cut == &a->trial ? due : w.cut;
	return !w.cut;
}

bool future_allows(struct future *a, uint32_t node,
                   const struct future_ask *ask, int64_t n, int64_t from,
                   int64_t until, const struct future_due **ret)
{
	const struct future_view *v = &a->view[node];
	struct future_course c;

	*ret = NULL;
	if (ask->whose == FUTURE_ANYBODY && until != SNAP_NEVER &&
	    (!v->due || until <= v->due->start))
		return true;
	c = future_course_of(a, node);
	for (uint32_t i = future_course_at(&c, from);
	     i < c.n && is_before(c.at[i], until); i++) {
		const struct future_point *pt = &c.point[i];
		bool fits = true;

		if (pt->whose != ask->whose && pt->whose != FUTURE_NOBODY) {
			*ret = due_at(v, c.at[i], true);
			return false;
		}
		if (!pt->nkept)
			continue;
		for (int d = 0; d < FUTURE_N; d++)
			fits &=
			    pt->have[d] >=
			    n * future_need(a, ask, node, (enum future_dim)d);
		if (!fits || ask->exclusive) {
			*ret = due_at(v, c.at[i], false);
			return false;
		}
	}
	return !future_is_odd(a, node, ask) ||
	       try_it(a, node, ask, n, from, until, ret);
}

/* Note which GPUs the jobs get that are promised a start on the node. */
static void note_awaited(struct future *a, uint32_t node)
{
	struct work *work = a->p->work;
	struct future_walk w;

	if (!work->awaited)
		work->awaited = arena_array(a->arena, uint64_t, a->s->node.n);
	future_walk_begin(&w, a, node);
	walk_dues(&w);
	future_walk_end(&w);
	work->awaited[node] = w.awaited;
}

void future_keep(struct future *a, uint32_t node, const struct future_due *due)
{
	struct future_view *v = &a->view[node];
	struct future_due **at = &v->due,
			  *d = copy(a->arena, due, 1, sizeof(*due));

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
		v->odd |= future_ask_of(a, d->req, 1).odd;
	a->changes |= d->end != SNAP_NEVER;
	a->p->watched[node] = 1;
	a->p->nkept++;
	if (d->resv == SNAP_NONE && v->odd && snap_node_ngpus(a->s, node))
		note_awaited(a, node);
}

void future_release(struct future *a, uint32_t node,
                    const struct future_due *due)
{
	struct future_view *v = &a->view[node];
	struct future_due **at = &v->due;

	while ((*at)->job != due->job || (*at)->start != due->start ||
	       (*at)->end != due->end || (*at)->n != due->n)
		at = &(*at)->next;
	*at = (*at)->next;
	v->is_new = false;
	if (v->odd && snap_node_ngpus(a->s, node))
		note_awaited(a, node);
}

void future_add_task(struct future *a, uint32_t req, size_t task)
{
	const struct place *p = a->p;
	struct future_view *v = &a->view[p->task[task].node];
	struct future_added *it = arena_push(a->arena, &a->added, sizeof(*it));

	*it = (struct future_added){ .job = p->job,
		                     .end = p->until,
		                     .req = req,
		                     .task = (uint32_t)task,
		                     .goes_on = p->run != SNAP_NONE,
		                     .next = v->added };
	v->added = (uint32_t)a->added.n;
	if (it->goes_on) {
		future_nodes_early(a->soon, p->task[task].node);
		v->is_new = false;
	} else {
		take_amounts(a, v, req, 1, a->s->now, p->until, false);
	}
}

void future_add(struct future *a, uint32_t req)
{
	const struct place *p = a->p;

	/* The end of a job that resumes is known from now on. */
	if (p->run != SNAP_NONE)
		future_runs_change(future_walk_runs(a), a->s, p->run, p->until);
	a->changes |= p->until != SNAP_NEVER;
	a->ntasks = a->ntasks > p->first_task ? a->ntasks : p->first_task;
	for (; a->ntasks < p->ntasks; a->ntasks++)
		future_add_task(a, req, a->ntasks);
}

size_t future_added(const struct future *a)
{
	return a->added.n;
}

void future_drop(struct future *a, size_t n)
{
	while (a->added.n > n) {
		const struct future_added *it =
		    future_added_at(a, (uint32_t)a->added.n);
		struct future_view *v = &a->view[a->p->task[it->task].node];

		v->added = it->next;
		v->is_new = false;
		a->added.n--;
	}
}

const struct future_due *future_lacking(struct future *a, uint32_t node)
{
	struct future_walk w;

	future_walk_begin(&w, a, node);
	walk_dues(&w);
	future_walk_end(&w);
	return w.cut;
}

void future_leave(struct future *a, uint32_t task, bool leaves)
{
	uint32_t node = a->s->task[task].node;

	a->gone[task] = leaves;
	a->changes |= leaves;
	a->view[node].is_new = false;
	if (a->soon)
		future_nodes_early(a->soon, node);
}
