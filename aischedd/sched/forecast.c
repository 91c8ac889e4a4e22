/* forecast.c - when enough jobs end for those that wait */
#include "aischedd/sched/forecast.h"

#include <stdlib.h>

#include "aischedd/sched/fit.h"
#include "aischedd/sched/why.h"

/* A job that holds something: it runs, or starts with this plan. */
struct holder {
	uint64_t job;
	int64_t end; /* SNAP_NEVER: nobody knows */
	uint32_t req, ntasks;
	bool suspended;
	const struct snap_task *task;
	const struct snap_cpu_use *use;
};

struct forecast {
	struct place *p;
	struct holder *holder;
	uint32_t nholders;
};

/* One row that waits, and how far what is free goes by now. */
struct wish {
	uint32_t row, req, run; /* run: what resumes, or SNAP_NONE */
	const struct allowed *allowed;
	uint8_t *class; /* by class: may it run there */
	int64_t *have;  /* by pool: tasks or nodes that fit */
	int64_t want;   /* so many of them */
	int64_t ask;    /* most tasks that count on one node */
	bool done;
};

static void list_holders(struct forecast *f, const struct plan *plan)
{
	const struct snap *s = f->p->snap;
	struct holder *h;

	f->holder = arena_array(f->p->arena, struct holder,
	                        (size_t)s->run.n + plan->nstarts);
	h = f->holder;
	for (uint32_t i = 0; i < s->run.n; i++)
		*h++ = (struct holder){ .job = s->run.job[i],
			                .end = s->run.end[i],
			                .req = s->run.req[i],
			                .ntasks = run_ntasks(s, i),
			                .suspended = s->run.suspended[i],
			                .task = s->task + s->run.task_first[i],
			                .use = s->cpu_use };
	for (uint32_t i = 0; i < plan->nstarts; i++) {
		const struct start *start = &plan->start[i];
		uint32_t req = s->pend.req[start->row];
		int64_t limit = s->req.time_limit[req];

		/* What resumes is among the running jobs already. */
		if (s->pend.resumes[start->row] != SNAP_NONE)
			continue;
		*h++ = (struct holder){ .job = s->member[start->member].job,
			                .end = limit == SNAP_NEVER
			                           ? SNAP_NEVER
			                           : s->now + limit,
			                .req = req,
			                .ntasks = start->ntasks,
			                .task = plan->task + start->task_first,
			                .use = plan->cpu_use };
	}
	f->nholders = (uint32_t)(h - f->holder);
}

/* What the node counts for: tasks that fit, or 1 if its share of an exact
 * number of nodes fits. */
static int64_t worth(const struct place *p, const struct wish *w, uint32_t node)
{
	int64_t n;

	if (w->run != SNAP_NONE || !w->class[match_class_of(p->match, node)] ||
	    !allowed_node(w->allowed, node) ||
	    shelf_tree(p->shelf, node) == SHELF_NONE)
		return 0;
	n = fit_count(p->work, w->req, node, 0, w->ask);
	return p->snap->req.nodes[w->req] ? n == w->ask : n;
}

static void begin_wish(struct place *p, uint32_t row, struct wish *w)
{
	const struct snap *s = p->snap;
	uint32_t req = s->pend.req[row], per_node = s->req.tasks_per_node[req];
	uint32_t tasks = s->req.tasks[req], nodes = s->req.nodes[req];

	*w = (struct wish){ .row = row,
		            .req = req,
		            .run = s->pend.resumes[row],
		            .allowed = match_req(p->match, req),
		            .want = nodes ? nodes : tasks,
		            .ask = tasks };
	if (nodes)
		w->ask = (tasks + nodes - 1) / nodes;
	else if (per_node && per_node < tasks)
		w->ask = per_node;
	w->class = arena_array(p->arena, uint8_t, match_nclasses(p->match));
	w->have = arena_array(p->arena, int64_t, s->pool.n);
	for (uint32_t c = 0; c < w->allowed->nclasses; c++) {
		const struct node_class *nc =
		    match_class(p->match, w->allowed->class[c]);

		w->class[w->allowed->class[c]] = 1;
		for (uint32_t i = 0; tasks > 1 && i < nc->nnodes; i++)
			w->have[nc->pool] += worth(p, w, nc->node[i]);
	}
}

static void release_task(struct place *p, const struct holder *h,
                         const struct snap_task *t)
{
	struct work *w = p->work;

	work_cpus(w, h->req, t->node, h->use + t->cpu_first,
	          t[1].cpu_first - t->cpu_first, 1);
	work_rest(w, h->req, t, 1);
	if (p->snap->req.exclusive[h->req])
		work_add(w, &w->sealed[t->node], -w->sealed[t->node]);
	work_commit(w);
}

/* Whether what is free now is enough for a job that resumes. */
static bool resumes(struct place *p, uint32_t run)
{
	if (!place_try_resume(p, run, true, NULL))
		return false;
	place_undo(p);
	return true;
}

static bool came_true(struct place *p, const struct wish *w)
{
	if (w->run != SNAP_NONE)
		return resumes(p, w->run);
	for (uint32_t pool = 0; pool < p->snap->pool.n; pool++) {
		if (w->have[pool] >= w->want)
			return true;
	}
	return false;
}

/* A job ends; returns how many more wishes come true by that. */
static uint32_t release(struct place *p, const struct holder *h,
                        struct wish *wish, uint32_t n, struct verdict *verdict)
{
	const struct snap *s = p->snap;
	uint32_t done = 0;

	for (uint32_t i = 0; i < h->ntasks; i++) {
		uint32_t node = h->task[i].node;
		uint32_t pool = s->node.pool[node];

		for (uint32_t k = 0; k < n; k++) {
			/* Of a wish for one task nothing is there yet. */
			if (!wish[k].done && wish[k].want > 1)
				wish[k].have[pool] -= worth(p, &wish[k], node);
		}
		release_task(p, h, &h->task[i]);
		for (uint32_t k = 0; k < n; k++) {
			if (!wish[k].done)
				wish[k].have[pool] += worth(p, &wish[k], node);
		}
	}
	for (uint32_t k = 0; k < n; k++) {
		struct verdict *v = &verdict[wish[k].row];

		if (wish[k].done || !came_true(p, &wish[k]))
			continue;
		wish[k].done = true;
		v->expected = h->end > s->now ? h->end : s->now;
		v->job = h->job;
		done++;
	}
	return done;
}

/* By end; one that never ends is last. */
static int by_end(const struct holder *a, const struct holder *b)
{
	if (a->end != b->end) {
		if (a->end == SNAP_NEVER || b->end == SNAP_NEVER)
			return a->end == SNAP_NEVER ? 1 : -1;
		return a->end < b->end ? -1 : 1;
	}
	return a->job < b->job ? -1 : a->job > b->job;
}

static int compare_holders(const void *a, const void *b)
{
	return by_end(*(const struct holder *const *)a,
	              *(const struct holder *const *)b);
}

static void fulfil(struct forecast *f, struct wish *wish, uint32_t n,
                   struct verdict *verdict)
{
	const struct holder **ending =
	    arena_array(f->p->arena, const struct holder *, f->nholders);
	uint32_t nendings = 0, left = n;

	for (uint32_t i = 0; i < f->nholders; i++) {
		if (f->holder[i].end != SNAP_NEVER && !f->holder[i].suspended)
			ending[nendings++] = &f->holder[i];
	}
	qsort(ending, nendings, sizeof(*ending), compare_holders);
	for (uint32_t i = 0; i < nendings && left; i++)
		left -= release(f->p, ending[i], wish, n, verdict);
}

static bool names_node(const struct verdict *v)
{
	return (v->why == WHY_Resources || v->why == WHY_Fragmentation ||
	        v->why == WHY_GangPartial) &&
	       !v->job && v->name != SNAP_NONE;
}

static bool holds(const struct snap *s, const struct holder *h, int64_t what)
{
	if (what == RES_GPU)
		return s->req.gpus[h->req];
	if (what == RES_MEM)
		return s->req.mem[h->req];
	return s->req.cpus[h->req] && !h->suspended;
}

/* The job in the way of each verdict that names none yet. */
static void name_blockers(const struct forecast *f, struct verdict *verdict)
{
	const struct snap *s = f->p->snap;
	const struct holder *(*first)[RES_N] =
	    arena_alloc(f->p->arena, s->node.n, sizeof(*first));

	for (uint32_t i = 0; i < f->nholders; i++) {
		const struct holder *h = &f->holder[i];

		for (uint32_t t = 0; t < h->ntasks; t++) {
			uint32_t node = h->task[t].node;

			for (int r = 0; r < RES_N; r++) {
				if (holds(s, h, r) &&
				    (!first[node][r] ||
				     by_end(h, first[node][r]) < 0))
					first[node][r] = h;
			}
		}
	}
	for (uint32_t i = 0; i < s->pend.n; i++) {
		struct verdict *v = &verdict[i];
		const struct holder *h = NULL;

		if (names_node(v) && v->num[NUM_WHAT] < RES_N)
			h = first[v->name][v->num[NUM_WHAT]];
		else if (names_node(v))
			h = first[v->name][RES_CPU];
		if (h)
			v->job = h->job;
	}
}

void forecast(struct place *place, const struct plan *plan, const uint32_t *row,
              uint32_t n, struct verdict *verdict)
{
	struct forecast f = { .p = place };
	struct wish *wish = arena_array(place->arena, struct wish, n);

	if (!n)
		return;
	list_holders(&f, plan);
	for (uint32_t i = 0; i < n; i++)
		begin_wish(place, row[i], &wish[i]);
	fulfil(&f, wish, n, verdict);
	name_blockers(&f, verdict);
}
