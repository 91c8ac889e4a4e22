/* ever.c - what would fit were the cluster empty */
#include "aischedd/sched/ever.h"

#include <string.h>

#include "aischedd/sched/fit.h"
#include "libcommon/limits.h"

struct ever *ever_new(const struct snap *snap, struct match *match,
                      struct arena *arena)
{
	struct ever *e = arena_array(arena, struct ever, 1);

	e->snap = snap;
	e->match = match;
	e->empty = work_new(snap, WORK_EMPTY, arena);
	e->nodes_with = arena_array(arena, uint32_t, LIMIT_TASKS + 1);
	return e;
}

static bool counts(const struct ever *e, const struct allowed *a, uint32_t node,
                   enum ever_nodes which)
{
	const struct snap *s = e->snap;

	if (!allowed_node(a, node))
		return false;
	if (which != EVER_ALL && s->node.state[node] != NODE_UP)
		return false;
	return which != EVER_USABLE || s->pool.ready[s->node.pool[node]];
}

static bool too_large(const struct snap *s, uint32_t req,
                      const struct node_class *c)
{
	return s->req.cpus[req] > c->most[RES_CPU] ||
	       s->req.mem[req] > c->most[RES_MEM] ||
	       s->req.gpus[req] > c->most[RES_GPU];
}

/* Add the tasks that fit on the nodes of a class, until there are enough. */
static uint32_t count_class(const struct ever *e, uint32_t req, uint32_t class,
                            enum ever_nodes which, uint32_t got)
{
	const struct snap_reqs *r = &e->snap->req;
	const struct allowed *a = match_req(e->match, req);
	const struct node_class *c = match_class(e->match, class);
	uint32_t tasks = r->tasks[req], most = tasks;

	if (r->tasks_per_node[req] && r->tasks_per_node[req] < most)
		most = r->tasks_per_node[req];
	if (too_large(e->snap, req, c))
		return got;
	for (uint32_t i = 0; i < c->nnodes && got < tasks; i++) {
		uint32_t fit;

		if (!counts(e, a, c->node[i], which))
			continue;
		fit = (uint32_t)fit_count(e->empty, req, c->node[i], 0, most);
		if (r->nodes[req])
			e->nodes_with[fit]++;
		else
			got = fit < tasks - got ? got + fit : tasks;
	}
	return got;
}

/* Tasks on the best n nodes, from the counts that count_class() left. */
static uint32_t take_best(const struct ever *e, uint32_t req)
{
	uint32_t tasks = e->snap->req.tasks[req], n = e->snap->req.nodes[req];
	uint64_t got = 0;

	for (uint32_t fit = tasks; fit > 0 && n; fit--) {
		uint32_t k = e->nodes_with[fit] < n ? e->nodes_with[fit] : n;

		got += (uint64_t)k * fit;
		n -= k;
	}
	/* Too few nodes: the tasks that find none are missing. */
	return (uint32_t)(got < tasks - n ? got : tasks - n);
}

uint32_t ever_count(const struct ever *e, uint32_t req, enum ever_nodes which)
{
	const struct allowed *a = match_req(e->match, req);
	uint32_t tasks = e->snap->req.tasks[req], best = 0;

	for (uint32_t i = 0, end; i < a->nclasses && best < tasks; i = end) {
		uint32_t pool = match_class(e->match, a->class[i])->pool;
		uint32_t got = 0;

		if (e->snap->req.nodes[req])
			memset(e->nodes_with, 0,
			       (tasks + 1) * sizeof(*e->nodes_with));
		for (end = i; end < a->nclasses; end++) {
			if (match_class(e->match, a->class[end])->pool != pool)
				break;
			got = count_class(e, req, a->class[end], which, got);
		}
		if (e->snap->req.nodes[req])
			got = take_best(e, req);
		best = got > best ? got : best;
	}
	return best;
}

uint32_t ever_first_down(const struct ever *e, uint32_t req)
{
	const struct allowed *a = match_req(e->match, req);
	uint32_t first = SNAP_NONE;

	for (uint32_t c = 0; c < a->nclasses; c++) {
		const struct node_class *nc =
		    match_class(e->match, a->class[c]);

		for (uint32_t i = 0; i < nc->nnodes; i++) {
			if (nc->node[i] < first &&
			    allowed_node(a, nc->node[i]) &&
			    !counts(e, a, nc->node[i], EVER_UP))
				first = nc->node[i];
		}
	}
	return first;
}

uint32_t ever_largest(const struct ever *e, uint32_t req, enum resource res,
                      int64_t *ret_amount)
{
	const struct allowed *a = match_req(e->match, req);
	uint32_t best = SNAP_NONE;

	*ret_amount = 0;
	for (uint32_t c = 0; c < a->nclasses; c++) {
		const struct node_class *nc =
		    match_class(e->match, a->class[c]);

		for (uint32_t i = 0; i < nc->nnodes; i++) {
			uint32_t node = nc->node[i];
			int64_t has = res == RES_CPU   ? e->empty->cpu[node]
			              : res == RES_MEM ? e->empty->mem[node]
			                               : e->empty->gpu[node];

			if (allowed_node(a, node) &&
			    (best == SNAP_NONE || has > *ret_amount)) {
				best = node;
				*ret_amount = has;
			}
		}
	}
	return best;
}
