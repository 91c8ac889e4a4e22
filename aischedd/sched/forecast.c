/* forecast.c - when enough running jobs end for those that wait */
#include "aischedd/sched/forecast.h"

#include <stdlib.h>

#include "aischedd/sched/fit.h"
#include "aischedd/sched/why.h"

/* One request that waits, and how far what is free goes by now. */
struct wish {
	uint32_t req;
	const struct allowed *allowed;
	uint8_t *class; /* by class: may it run there */
	int64_t *have;  /* by pool: tasks or nodes that fit */
	int64_t want;   /* so many of them */
	int64_t ask;    /* most tasks that count on one node */
	bool fits;
	int64_t at;   /* when it fits ... */
	uint64_t job; /* ... after the end of this job */
};

/* What the node counts for: tasks that fit, or 1 if its share of an exact
 * number of nodes fits. */
static int64_t worth(const struct place *p, const struct wish *w, uint32_t node)
{
	int64_t n;

	if (!w->class[match_class_of(p->match, node)] ||
	    !allowed_node(w->allowed, node) ||
	    shelf_tree(p->shelf, node) == SHELF_NONE)
		return 0;
	n = fit_count(p->work, w->req, node, 0, w->ask);
	return p->snap->req.nodes[w->req] ? n == w->ask : n;
}

static void begin_wish(struct place *p, uint32_t req, struct wish *w)
{
	const struct snap *s = p->snap;
	uint32_t tasks = s->req.tasks[req], nodes = s->req.nodes[req];
	uint32_t per_node = s->req.tasks_per_node[req];

	*w = (struct wish){ .req = req,
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

/* A task ends: what it held is free. */
static void release_task(struct place *p, uint32_t run,
                         const struct snap_task *t)
{
	const struct snap *s = p->snap;
	uint32_t req = s->run.req[run];

	work_cpus(p->work, req, t->node, s->cpu_use + t->cpu_first,
	          t[1].cpu_first - t->cpu_first, 1);
	work_rest(p->work, req, t, 1);
	work_add(p->work, &p->work->sealed[t->node],
	         -p->work->sealed[t->node] * s->req.exclusive[req]);
	work_commit(p->work);
}

/* Let a job end; returns how many more wishes are fulfilled then. */
static uint32_t release_run(struct place *p, uint32_t run, struct wish *wish,
                            uint32_t nwishes)
{
	const struct snap *s = p->snap;
	int64_t end = s->run.end[run];
	uint32_t done = 0;

	for (uint32_t i = s->run.task_first[run];
	     i < s->run.task_first[run + 1]; i++) {
		uint32_t node = s->task[i].node;
		uint32_t pool = s->node.pool[node];

		for (uint32_t k = 0; k < nwishes; k++) {
			if (!wish[k].fits)
				wish[k].have[pool] -= worth(p, &wish[k], node);
		}
		release_task(p, run, &s->task[i]);
		for (uint32_t k = 0; k < nwishes; k++) {
			struct wish *w = &wish[k];

			if (w->fits)
				continue;
			w->have[pool] += worth(p, w, node);
			if (w->have[pool] < w->want)
				continue;
			w->fits = true;
			w->at = end > s->now ? end : s->now;
			w->job = s->run.job[run];
			done++;
		}
	}
	return done;
}

struct ending {
	int64_t at;
	uint64_t job;
	uint32_t run;
};

static int by_end(const void *a, const void *b)
{
	const struct ending *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static uint32_t sort_endings(const struct snap *s, struct ending *ret)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->run.n; i++) {
		if (s->run.end[i] != SNAP_NEVER && !s->run.suspended[i])
			ret[n++] =
			    (struct ending){ s->run.end[i], s->run.job[i], i };
	}
	qsort(ret, n, sizeof(*ret), by_end);
	return n;
}

void forecast_rows(struct place *p, const uint32_t *row, uint32_t n,
                   struct verdict *verdict)
{
	const struct snap *s = p->snap;
	struct wish *wish = arena_array(p->arena, struct wish, n);
	struct ending *ending = arena_array(p->arena, struct ending, s->run.n);
	uint32_t nendings = n ? sort_endings(s, ending) : 0, left = n;

	for (uint32_t i = 0; i < n; i++)
		begin_wish(p, s->pend.req[row[i]], &wish[i]);
	for (uint32_t i = 0; i < nendings && left; i++)
		left -= release_run(p, ending[i].run, wish, n);
	for (uint32_t i = 0; i < n; i++) {
		if (wish[i].fits) {
			verdict[row[i]].expected = wish[i].at;
			verdict[row[i]].job = wish[i].job;
		}
	}
}

/* Whether a ends before b; one that never ends is last. */
static bool ends_before(const struct snap *s, uint32_t a, uint32_t b)
{
	int64_t x = s->run.end[a], y = s->run.end[b];

	if (x != y)
		return y == SNAP_NEVER || (x != SNAP_NEVER && x < y);
	return s->run.job[a] < s->run.job[b];
}

static void note_blocker(const struct snap *s, uint32_t run, uint32_t node,
                         uint32_t (*first)[RES_N])
{
	uint32_t req = s->run.req[run];
	const bool holds[RES_N] = {
		[RES_CPU] = s->req.cpus[req] && !s->run.suspended[run],
		[RES_MEM] = s->req.mem[req],
		[RES_GPU] = s->req.gpus[req],
	};

	for (int r = 0; r < RES_N; r++) {
		if (holds[r] && (first[node][r] == SNAP_NONE ||
		                 ends_before(s, run, first[node][r])))
			first[node][r] = run;
	}
}

static bool waits_for_node(const struct verdict *v)
{
	return (v->why == WHY_Resources || v->why == WHY_Fragmentation ||
	        v->why == WHY_GangPartial) &&
	       !v->job && v->name != SNAP_NONE && v->num[NUM_WHAT] < RES_N;
}

void forecast_blockers(const struct snap *s, struct verdict *verdict,
                       struct arena *arena)
{
	uint32_t(*first)[RES_N] = arena_alloc(arena, s->node.n, sizeof(*first));

	for (uint32_t i = 0; i < s->node.n; i++) {
		for (int r = 0; r < RES_N; r++)
			first[i][r] = SNAP_NONE;
	}
	for (uint32_t run = 0; run < s->run.n; run++) {
		for (uint32_t t = s->run.task_first[run];
		     t < s->run.task_first[run + 1]; t++)
			note_blocker(s, run, s->task[t].node, first);
	}
	for (uint32_t i = 0; i < s->pend.n; i++) {
		struct verdict *v = &verdict[i];
		uint32_t run;

		if (!waits_for_node(v))
			continue;
		run = first[v->name][v->num[NUM_WHAT]];
		if (run != SNAP_NONE)
			v->job = s->run.job[run];
	}
}
