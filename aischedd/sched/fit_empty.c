/* fit_empty.c - what would fit if no job ran */
#include "aischedd/sched/fit_empty.h"

#include <string.h>

#include "aischedd/sched/fit.h"
#include "aischedd/sched/verdict.h"

/* Which nodes count. */
enum ever_nodes {
	EVER_ALL,
	EVER_UP,    /* up, whether or not their runner is ready */
	EVER_USABLE /* up, and their runner is ready */
};

struct fit_empty *fit_empty_new(const struct snap *snap, struct match *match,
                                const struct domains *domains,
                                struct arena *arena)
{
	struct fit_empty *e = arena_array(arena, struct fit_empty, 1);
	uint32_t most = 0;

	for (uint32_t i = 0; i < snap->req.n; i++)
		if (snap->req.tasks[i] > most)
			most = snap->req.tasks[i];
	e->snap = snap;
	e->match = match;
	e->empty = work_new_blank(snap, NULL, arena);
	e->like = arena_array(arena, uint32_t, snap->node.n);
	e->nodes_with = arena_array(arena, uint32_t, most + 1);
	e->domains = domains;
	e->fits = arena_array(arena, uint8_t, snap->req.n);
	e->usable = arena_array(arena, uint8_t, match_nclasses(match));
	e->spread = spread_new(snap, match, arena);
	return e;
}

/* Whether n elements from index a on equal those from index b on. */
#define SAME(column, a, b, n) \
	(!memcmp((column) + (a), (column) + (b), (n) * sizeof(*(column))))

static bool has_same_gpus(const struct snap *s, uint32_t a, uint32_t b)
{
	const struct snap_gpus *g = &s->gpu;
	uint32_t at = s->node.gpu_first[a], to = s->node.gpu_first[b];
	uint32_t n = snap_node_ngpus(s, a);

	return snap_node_ngpus(s, b) == n && SAME(g->type, at, to, n) &&
	       SAME(g->numa, at, to, n) && SAME(g->link, at, to, n) &&
	       (!g->parts || SAME(g->parts, at, to, n)) &&
	       s->node.mig[a] == s->node.mig[b] &&
	       s->node.gpu_mem[a] == s->node.gpu_mem[b];
}

static bool has_same_cpus(const struct snap *s, uint32_t a, uint32_t b)
{
	uint32_t at = s->node.cpu_first[a], to = s->node.cpu_first[b];
	uint32_t n = snap_node_ncpus(s, a);

	return snap_node_ncpus(s, b) == n && SAME(s->cpu.numa, at, to, n) &&
	       SAME(s->cpu.core, at, to, n) &&
	       s->node.cpu_total[a] == s->node.cpu_total[b];
}

static bool has_same_pieces(const struct snap *s, uint32_t a, uint32_t b)
{
	uint32_t n = snap_node_npieces(s, a), ngpus = snap_node_ngpus(s, a);
	uint32_t at, to;

	if (!s->piece.n)
		return true;
	at = s->node.piece_first[a];
	to = s->node.piece_first[b];
	return snap_node_npieces(s, b) == n && SAME(s->piece.kind, at, to, n) &&
	       SAME(s->piece.numa, at, to, n) &&
	       SAME(s->piece.root, at, to, n) &&
	       (!s->gpu.root || SAME(s->gpu.root, s->node.gpu_first[a],
	                             s->node.gpu_first[b], ngpus));
}

/* Whether tasks that fit on one of the nodes while it is empty also fit on the
 * other one. */
static bool is_like(const struct snap *s, uint32_t a, uint32_t b)
{
	const struct snap_nodes *n = &s->node;
	uint32_t nnumas = snap_node_nnumas(s, a);

	return n->mem_total[a] == n->mem_total[b] &&
	       n->tmp_total[a] == n->tmp_total[b] &&
	       n->slot_total[a] == n->slot_total[b] &&
	       SAME(n->dev_total, a, b, 1) && has_same_cpus(s, a, b) &&
	       snap_node_nnumas(s, b) == nnumas &&
	       SAME(s->numa_mem, n->numa_first[a], n->numa_first[b], nnumas) &&
	       has_same_gpus(s, a, b) && has_same_pieces(s, a, b);
}

static void get_to_know(struct fit_empty *e, uint32_t node)
{
	uint32_t before = node ? e->like[node - 1] : 0;

	work_fill(e->empty, node, WORK_EMPTY);
	e->like[node] =
	    before && is_like(e->snap, node - 1, node) ? before : node + 1;
}

/* Returns how many tasks fit on the node while it is empty, at most max. */
static int64_t count_on(struct fit_empty *e, uint32_t req, uint32_t node,
                        int64_t max)
{
	if (!e->like[node])
		get_to_know(e, node);
	if (e->last_like == e->like[node] && e->last_req == req &&
	    e->last_max == max && e->last_loose == e->empty->loose)
		return e->last_fit;
	e->last_like = e->like[node];
	e->last_req = req;
	e->last_max = max;
	e->last_loose = e->empty->loose;
	e->last_fit = fit_count(e->empty, req, node, 0, max);
	return e->last_fit;
}

static bool counts(struct fit_empty *e, const struct allowed *a, uint32_t node,
                   enum ever_nodes which)
{
	const struct snap *s = e->snap;

	if (!match_ever_allows(a, node))
		return false;
	if (which != EVER_ALL && s->node.state[node] != NODE_UP)
		return false;
	return which != EVER_USABLE || s->pool.ready[s->node.pool[node]];
}

/* Returns `got` plus the number of tasks that fit on these nodes while they are
 * empty, but at most the job's minimum. If the job asks for a number of nodes,
 * returns `got`, and counts in nodes_with[k] the nodes that hold k tasks. */
static uint32_t count_nodes(struct fit_empty *e, uint32_t req,
                            const uint32_t *node, uint32_t n,
                            enum ever_nodes which, uint32_t got)
{
	const struct snap_reqs *r = &e->snap->req;
	const struct allowed *a = match_req(e->match, req);
	uint32_t tasks = r->min_tasks[req], most = tasks;

	if (r->tasks_per_node[req] && r->tasks_per_node[req] < most)
		most = r->tasks_per_node[req];
	for (uint32_t i = 0; i < n && got < tasks; i++) {
		uint32_t fit;

		if (!e->usable[match_class_of(e->match, node[i])] ||
		    !counts(e, a, node[i], which))
			continue;
		fit = (uint32_t)count_on(e, req, node[i], most);
		if (r->nodes[req])
			e->nodes_with[fit]++;
		else
			got = fit < tasks - got ? got + fit : tasks;
	}
	return got;
}

/* Returns how many tasks fit if the job uses exactly its number of nodes, the
 * best of those that count_nodes() has counted. */
static uint32_t take_best(struct fit_empty *e, uint32_t req)
{
	uint32_t tasks = e->snap->req.min_tasks[req],
		 n = e->snap->req.nodes[req];
	uint64_t got = 0;

	for (uint32_t fit = tasks; fit > 0 && n; fit--) {
		uint32_t k = e->nodes_with[fit] < n ? e->nodes_with[fit] : n;

		got += (uint64_t)k * fit;
		n -= k;
	}
	/* If n nodes are missing, at least n tasks have no node. */
	return (uint32_t)(got < tasks - n ? got : tasks - n);
}

static void count_begin(struct fit_empty *e, uint32_t req)
{
	if (e->snap->req.nodes[req])
		memset(e->nodes_with, 0,
		       ((size_t)e->snap->req.min_tasks[req] + 1) *
		           sizeof(*e->nodes_with));
}

static uint32_t count_end(struct fit_empty *e, uint32_t req, uint32_t got)
{
	return e->snap->req.nodes[req] ? take_best(e, req) : got;
}

/* Returns how many tasks of whole segments fit on the nodes that count_nodes()
 * has counted. */
static uint32_t count_segments(struct fit_empty *e, uint32_t req, uint32_t got)
{
	const struct snap *s = e->snap;
	uint32_t part = snap_segment_part(s, req);

	/* Each node holds one whole part of a segment, or none. */
	if (s->req.nodes[req])
		got = e->nodes_with[part] * part;
	return (uint32_t)snap_segments(s, req, got);
}

/* Returns how many tasks would fit in that domain of the level that holds the
 * most; if the job has segments, in all domains of the level together. */
static uint32_t count_at(struct fit_empty *e, uint32_t req, uint8_t level,
                         enum ever_nodes which)
{
	const struct domains *d = e->domains;
	uint32_t tasks = e->snap->req.min_tasks[req], best = 0;

	for (uint32_t i = d->at_first[level];
	     i < d->at_first[level + 1] && best < tasks; i++) {
		uint32_t first = d->first[d->at[i]], end = d->end[d->at[i]];
		uint32_t got;

		count_begin(e, req);
		got =
		    count_nodes(e, req, d->node + first, end - first, which, 0);
		if (e->snap->req.segment[req]) {
			best += count_segments(e, req, got);
			continue;
		}
		got = count_end(e, req, got);
		best = got > best ? got : best;
	}
	return best < tasks ? best : tasks;
}

/* Returns how many tasks would fit in the domains over which the job is spread.
 */
static uint32_t count_spread(struct fit_empty *e, uint32_t req,
                             const uint32_t *class, uint32_t n,
                             enum ever_nodes which)
{
	const struct allowed *a = match_req(e->match, req);
	struct spread *sp = e->spread;
	uint32_t most = e->snap->req.tasks[req];

	if (e->snap->req.tasks_per_node[req])
		most = e->snap->req.tasks_per_node[req];
	spread_make(sp, req, match_class(e->match, class[0])->pool,
	            which == EVER_ALL);
	for (uint32_t c = 0; c < n; c++) {
		const struct node_class *nc = match_class(e->match, class[c]);

		for (uint32_t i = 0; e->usable[class[c]] && i < nc->nnodes;
		     i++) {
			uint32_t at = spread_number(sp, nc->node[i]);

			if (at != SNAP_NONE && counts(e, a, nc->node[i], which))
				sp->room[at] +=
				    count_on(e, req, nc->node[i], most) /
				    sp->part;
		}
	}
	return (uint32_t)spread_got(sp);
}

/* Returns how many tasks would fit in the pool that has these classes. */
static uint32_t count_in_pool(struct fit_empty *e, uint32_t req, uint8_t level,
                              const uint32_t *class, uint32_t n,
                              enum ever_nodes which)
{
	uint32_t got = 0;

	if (level != LEVEL_NONE && e->snap->req.spread[req] != LEVEL_NONE)
		return count_spread(e, req, class, n, which);
	if (level != LEVEL_NONE)
		return count_at(e, req, level, which);
	count_begin(e, req);
	for (uint32_t c = 0; c < n; c++) {
		const struct node_class *nc = match_class(e->match, class[c]);

		if (e->usable[class[c]])
			got = count_nodes(e, req, nc->node, nc->nnodes, which,
			                  got);
	}
	return count_end(e, req, got);
}

/* Returns the level of the topology that the request needs, or over which it is
 * spread. */
static uint8_t level_of(struct fit_empty *e, uint32_t req)
{
	const struct snap_reqs *r = &e->snap->req;

	return r->need[req] != LEVEL_NONE ? r->need[req] : r->spread[req];
}

/* Returns how many of the request's tasks would fit in the pool that
 * holds the most: in one domain of the level, spread over its
 * domains, or (LEVEL_NONE) anywhere. */
static uint32_t count_tasks(struct fit_empty *e, uint32_t req, uint8_t level,
                            enum ever_nodes which)
{
	const struct allowed *a = match_req(e->match, req);
	uint32_t tasks = e->snap->req.min_tasks[req], best = 0;

	for (uint32_t i = 0, end; i < a->nclasses && best < tasks; i = end) {
		uint32_t pool = match_class(e->match, a->class[i])->pool, got;

		for (end = i; end < a->nclasses; end++) {
			const struct node_class *c =
			    match_class(e->match, a->class[end]);

			if (c->pool != pool)
				break;
			e->usable[a->class[end]] =
			    !match_class_too_small(c, e->snap, req);
		}
		got =
		    count_in_pool(e, req, level, a->class + i, end - i, which);
		best = got > best ? got : best;
		for (uint32_t c = i; c < end; c++)
			e->usable[a->class[c]] = 0;
	}
	return best;
}

/* A part of the constraint, such as "ib*2", must hold on a number of nodes.
 * Count the nodes on which it holds and which have room for a task. */
static uint32_t count_counted(struct fit_empty *e, uint32_t req, uint32_t part,
                              enum ever_nodes which)
{
	const struct allowed *a = match_req(e->match, req);
	uint32_t n = 0;

	for (uint32_t c = 0; c < a->nclasses; c++) {
		const struct node_class *nc =
		    match_class(e->match, a->class[c]);

		for (uint32_t i = 0;
		     a->counted[c] >> part & 1 && i < nc->nnodes; i++)
			n += counts(e, a, nc->node[i], which) &&
			     count_on(e, req, nc->node[i], 1);
	}
	return n;
}

/* Returns the first part of the constraint, such as "ib*2", that holds on too
 * few nodes, and sets *ret_nodes to the number of these nodes. Returns ncounts
 * if there is no such part. */
static uint32_t too_few(struct fit_empty *e, uint32_t req,
                        enum ever_nodes which, uint32_t *ret_nodes)
{
	const struct allowed *a = match_req(e->match, req);

	for (uint32_t i = 0; i < a->ncounts; i++) {
		*ret_nodes = count_counted(e, req, i, which);
		if (*ret_nodes < a->count[i])
			return i;
	}
	return a->ncounts;
}

static bool could_hold(struct fit_empty *e, uint32_t req, enum ever_nodes which,
                       uint32_t *ret_got)
{
	uint32_t nodes;

	*ret_got = count_tasks(e, req, level_of(e, req), which);
	return *ret_got == e->snap->req.min_tasks[req] &&
	       too_few(e, req, which, &nodes) ==
	           match_req(e->match, req)->ncounts;
}

/* Returns the first node that is not up but that the request may
 * use, or SNAP_NONE. */
static uint32_t first_down(struct fit_empty *e, uint32_t req)
{
	const struct allowed *a = match_req(e->match, req);
	uint32_t first = SNAP_NONE;

	for (uint32_t c = 0; c < a->nclasses; c++) {
		const struct node_class *nc =
		    match_class(e->match, a->class[c]);

		for (uint32_t i = 0; i < nc->nnodes; i++) {
			if (nc->node[i] < first &&
			    match_ever_allows(a, nc->node[i]) &&
			    !counts(e, a, nc->node[i], EVER_UP))
				first = nc->node[i];
		}
	}
	return first;
}

/* Returns the node's total of a resource (enum resource or WHAT_TMP). */
static int64_t total_of(const struct snap *s, uint32_t node, int res)
{
	return res == RES_CPU    ? s->node.cpu_total[node]
	       : res == RES_MEM  ? s->node.mem_total[node]
	       : res == WHAT_TMP ? s->node.tmp_total[node]
	                         : (int64_t)1000 * snap_node_ngpus(s, node);
}

/* Find the largest total of a resource among the nodes that the request may
 * use. Sets *ret_amount to it and returns the first such node; 0 and SNAP_NONE
 * if the request may use no node. */
static uint32_t largest(struct fit_empty *e, uint32_t req, int res,
                        int64_t *ret_amount)
{
	const struct allowed *a = match_req(e->match, req);
	uint32_t best = SNAP_NONE;

	*ret_amount = 0;
	for (uint32_t c = 0; c < a->nclasses; c++) {
		const struct node_class *nc =
		    match_class(e->match, a->class[c]);
		int64_t most = res < RES_N ? nc->most[res] : nc->most_tmp;

		for (uint32_t i = 0; i < nc->nnodes; i++) {
			uint32_t node = nc->node[i];

			if (best != SNAP_NONE && *ret_amount >= most)
				break;
			if (match_ever_allows(a, node) &&
			    (best == SNAP_NONE ||
			     total_of(e->snap, node, res) > *ret_amount)) {
				best = node;
				*ret_amount = total_of(e->snap, node, res);
			}
		}
	}
	return best;
}

/* Returns a pool of the request whose runner is not ready, or SNAP_NONE. */
static uint32_t unready_pool(const struct snap *s, uint32_t req)
{
	for (uint32_t i = 0; i < s->pool.n; i++) {
		if (s->req.pools[req] >> i & 1 && !s->pool.ready[i])
			return i;
	}
	return SNAP_NONE;
}

/* Whether a task would fit on some empty node without NUMA alignment. If so,
 * name in *v the node that has the most on one NUMA node. */
static bool explain_numa(struct fit_empty *e, uint32_t req, struct verdict *v)
{
	const struct allowed *a = match_req(e->match, req);
	struct fit_numa best = { -1, -1, -1 };
	uint32_t like = 0;
	bool found = false;

	e->empty->loose = LOOSE_NUMA | LOOSE_LINKS;
	for (uint32_t c = 0; c < a->nclasses; c++) {
		const struct node_class *nc =
		    match_class(e->match, a->class[c]);

		for (uint32_t i = 0; i < nc->nnodes; i++) {
			uint32_t node = nc->node[i];
			struct fit_numa it;

			if (!match_ever_allows(a, node) ||
			    !count_on(e, req, node, 1) || e->like[node] == like)
				continue;
			like = e->like[node];
			it = fit_best_numa(e->empty, req, node);
			if (found && !fit_numa_is_more(&it, &best))
				continue;
			best = it;
			v->name = node;
			found = true;
		}
	}
	e->empty->loose = 0;
	v->lack.need = 1;
	v->lack.numa_gpus = best.gpus;
	v->lack.numa_cpus = best.cpus;
	v->lack.numa_mem = best.mem;
	return found;
}

/* Whether a task would fit on some node if it did not ask for links. */
static bool needs_no_links(struct fit_empty *e, uint32_t req)
{
	bool fits;

	e->empty->loose = LOOSE_LINKS;
	fits = count_tasks(e, req, LEVEL_NONE, EVER_ALL) > 0;
	e->empty->loose = 0;
	return fits;
}

/* Say in *v why one task would not fit on any node, even on an empty one. */
static void explain_never(struct fit_empty *e, uint32_t req, struct verdict *v)
{
	static const int by_scarcity[] = { RES_GPU, RES_CPU, RES_MEM,
		                           WHAT_TMP };
	const struct snap_reqs *r = &e->snap->req;
	const int64_t need[] = { r->gpus[req], r->cpus[req], r->mem[req],
		                 r->tmp[req] };

	v->name = largest(e, req, RES_CPU, &v->lack.have);
	if (v->name == SNAP_NONE) {
		v->what = WHAT_FEATURES;
		v->lack.kind = match_closest(e->match, req);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(by_scarcity); i++) {
		v->name = largest(e, req, by_scarcity[i], &v->lack.have);
		v->what = by_scarcity[i];
		v->lack.need = need[i];
		if (need[i] > v->lack.have)
			return;
		v->what = WHAT_DEVICES;
	}
	if (r->gpus[req] > 1000 && r->gpus[req] % 1000)
		v->what = WHAT_PART_OF_GPU;
	else if (r->links[req] == LINKS_STRICT && needs_no_links(e, req))
		v->what = WHAT_LINKS;
	else if (r->numa[req] == NUMA_STRICT && explain_numa(e, req, v))
		v->what = WHAT_NUMA;
}

/* Whether fewer nodes have room for a task than the request needs; if so, says
 * so in *v. */
static bool too_few_nodes(struct fit_empty *e, uint32_t req, struct verdict *v)
{
	const struct allowed *a = match_req(e->match, req);
	uint32_t n = 0;

	for (uint32_t c = 0; e->snap->req.nodes[req] && c < a->nclasses; c++) {
		const struct node_class *nc =
		    match_class(e->match, a->class[c]);

		for (uint32_t i = 0; i < nc->nnodes; i++)
			n += counts(e, a, nc->node[i], EVER_ALL) &&
			     count_on(e, req, nc->node[i], 1);
	}
	if (n >= e->snap->req.nodes[req])
		return false;
	v->what = WHAT_NODE;
	v->lack.need = e->snap->req.nodes[req];
	v->lack.have = n;
	return true;
}

/* Say in *v which need of the job cannot be met even if all nodes are empty. */
static void explain(struct fit_empty *e, uint32_t req, struct verdict *v)
{
	const struct allowed *a = match_req(e->match, req);
	uint32_t got = v->lack.got, part, nodes;

	if (level_of(e, req) != LEVEL_NONE &&
	    count_tasks(e, req, LEVEL_NONE, EVER_ALL) > got) {
		v->what = WHAT_DOMAIN;
		return;
	}
	if (!got) {
		explain_never(e, req, v);
		return;
	}
	if (too_few_nodes(e, req, v))
		return;
	v->what = WHAT_GANG;
	part = too_few(e, req, EVER_ALL, &nodes);
	if (got == e->snap->req.min_tasks[req] && part < a->ncounts) {
		v->what = WHAT_COUNTS;
		v->lack.need = a->count[part];
		v->lack.have = nodes;
	}
}

bool fit_empty_holds(struct fit_empty *e, uint32_t row, struct verdict *v)
{
	uint32_t req = e->snap->pend.req[row], got, up;
	uint32_t pool;

	/* A job need not be spread over a domain that is down. So also accept a
	 * job that can be spread over the domains that are up, but not over all
	 * domains. */
	if (!e->fits[req])
		e->fits[req] = could_hold(e, req, EVER_ALL, &got) ||
		               (e->snap->req.spread[req] != LEVEL_NONE &&
		                could_hold(e, req, EVER_UP, &up));
	if (e->fits[req])
		return true;
	pool = unready_pool(e->snap, req);
	v->lack.got = got;
	v->why = WHY_NeverFits;
	if (pool != SNAP_NONE) {
		/* The pool may have more nodes than are known so far. */
		v->why = WHY_RunnerDown;
		v->name = pool;
	} else {
		explain(e, req, v);
	}
	return false;
}

bool fit_empty_holds_up(struct fit_empty *e, uint32_t row, struct verdict *v)
{
	uint32_t req = e->snap->pend.req[row], got, up;

	if (could_hold(e, req, EVER_USABLE, &got))
		return true;
	v->lack.got = got;
	if (could_hold(e, req, EVER_UP, &up)) {
		v->why = WHY_RunnerDown;
		v->name = unready_pool(e->snap, req);
	} else {
		v->why = WHY_NodeDown;
		v->name = first_down(e, req);
	}
	return false;
}
