/* domain.c - the topology as a tree over the nodes */
#include "aischedd/sched/domain.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/fit_devices.h"

static uint32_t domain_or_whole(const struct snap *s, uint32_t domain)
{
	return domain == SNAP_NONE ? s->domain.n : domain;
}

/* Returns the indices 0 .. n - 1 sorted by their key, which is below nkeys. In
 * the returned list, those with key k are from first[k] up to first[k + 1];
 * `first` must have nkeys + 1 entries, all 0. */
static const uint32_t *sort_by(const uint32_t *key, uint32_t n, uint32_t nkeys,
                               uint32_t *first, struct arena *arena)
{
	uint32_t *item = arena_array(arena, uint32_t, n);
	uint32_t *next = arena_array(arena, uint32_t, nkeys);

	for (uint32_t i = 0; i < n; i++)
		first[key[i] + 1]++;
	for (uint32_t k = 0; k < nkeys; k++)
		first[k + 1] += first[k];
	memcpy(next, first, nkeys * sizeof(*next));
	for (uint32_t i = 0; i < n; i++)
		item[next[key[i]]++] = i;
	return item;
}

/* List the nodes of each domain. Parents precede their kids, so one walk
 * backwards adds the nodes of kids to their parents, and one walk forwards
 * gives each domain its slice of the list. */
static void list_nodes(struct domains *d, const uint32_t *parent,
                       struct arena *arena)
{
	const struct snap *s = d->snap;
	uint32_t n = s->domain.n;
	uint32_t *node = arena_array(arena, uint32_t, s->node.n);
	uint32_t *next = arena_array(arena, uint32_t, n + 1);
	uint32_t *first = arena_array(arena, uint32_t, n + 1);
	uint32_t *own_end = arena_array(arena, uint32_t, n + 1);
	uint32_t *end = arena_array(arena, uint32_t, n + 1);

	for (uint32_t i = 0; i < s->node.n; i++)
		own_end[domain_or_whole(s, s->node.domain[i])]++;
	memcpy(end, own_end, (n + 1) * sizeof(*end));
	for (uint32_t i = n; i-- > 0;)
		end[parent[i]] += end[i];
	/* Turn counts into positions: the nodes of the kids follow those of the
	 * domain itself. */
	next[n] = own_end[n];
	for (uint32_t i = 0; i < n; i++) {
		first[i] = next[parent[i]];
		next[parent[i]] += end[i];
		own_end[i] += first[i];
		end[i] += first[i];
		next[i] = own_end[i];
	}
	memcpy(next, first, (n + 1) * sizeof(*next));
	for (uint32_t i = 0; i < s->node.n; i++)
		node[next[domain_or_whole(s, s->node.domain[i])]++] = i;
	d->node = node;
	d->first = first;
	d->own_end = own_end;
	d->end = end;
}

const struct domains *domain_new(const struct snap *snap, struct arena *arena)
{
	struct domains *d = arena_array(arena, struct domains, 1);
	uint32_t n = snap->domain.n;
	uint32_t *level = arena_array(arena, uint32_t, n);
	uint32_t *parent = arena_array(arena, uint32_t, n);
	uint32_t *at_first = arena_array(arena, uint32_t, snap->nlevels + 1);
	uint32_t *kid_first = arena_array(arena, uint32_t, n + 2);

	for (uint32_t i = 0; i < n; i++) {
		level[i] = snap->domain.level[i];
		parent[i] = domain_or_whole(snap, snap->domain.parent[i]);
	}
	d->snap = snap;
	d->at = sort_by(level, n, snap->nlevels, at_first, arena);
	d->kid = sort_by(parent, n, n + 1, kid_first, arena);
	d->at_first = at_first;
	d->kid_first = kid_first;
	list_nodes(d, parent, arena);
	return d;
}

uint32_t domain_above(const struct snap *snap, uint32_t d, uint8_t level)
{
	while (d != SNAP_NONE && snap->domain.level[d] > level)
		d = snap->domain.parent[d];
	return d != SNAP_NONE && snap->domain.level[d] == level ? d : SNAP_NONE;
}

uint32_t domain_of(const struct snap *snap, uint32_t node, uint8_t level)
{
	return domain_above(snap, snap->node.domain[node], level);
}

bool domain_has(const struct snap *snap, uint32_t domain, uint32_t node)
{
	return domain == SNAP_NONE ||
	       domain_of(snap, node, snap->domain.level[domain]) == domain;
}

bool domain_may_grow(const struct snap *s, uint32_t run, uint32_t node)
{
	uint32_t req = s->run.req[run], first = s->run.task_first[run];
	uint8_t need = s->req.need[req];

	if (first == s->run.task_first[run + 1])
		return false;
	first = s->task[first].node;
	return s->node.pool[node] == s->node.pool[first] &&
	       (need == LEVEL_NONE ||
	        domain_has(s, domain_of(s, first, need), node));
}

/* --- jobs that are spread over domains ----------------------------------- */

struct spread *spread_new(const struct snap *snap, struct match *match,
                          struct arena *arena)
{
	struct spread *sp = arena_array(arena, struct spread, 1);
	uint32_t most = 0;

	sp->snap = snap;
	sp->match = match;
	for (uint32_t i = 0; i < snap->req.n; i++) {
		if (snap_is_spread(snap, i))
			most = snap->node.n;
	}
	sp->node = arena_array(arena, uint32_t, most);
	sp->domain = arena_array(arena, uint32_t, most);
	sp->room = arena_array(arena, int64_t, most);
	sp->give = arena_array(arena, int64_t, most);
	sp->order = arena_array(arena, struct spread_room, most);
	sp->number =
	    arena_array(arena, uint32_t, most ? snap->domain.n + most : 0);
	return sp;
}

/* Returns how many GPUs of the node the request may use. */
static int64_t typed_gpus(const struct snap *s, uint32_t req, uint32_t node)
{
	int64_t n = 0;

	for (uint32_t i = s->node.gpu_first[node];
	     i < s->node.gpu_first[node + 1]; i++)
		n += fit_devices_may(s, req, node, i);
	return n;
}

static bool is_reserved(const struct snap *s, uint32_t resv, uint32_t node)
{
	uint32_t i = s->resv.node_first[resv];

	while (i < s->resv.node_first[resv + 1] && s->resv_node[i] != node)
		i++;
	return i < s->resv.node_first[resv + 1];
}

/* Whether a node of one of the request's classes is large enough for a task.
 * The node must be up, unless `all` is set. */
static bool could_hold(const struct snap *s, uint32_t req, uint32_t node,
                       bool all)
{
	const struct snap_reqs *r = &s->req;

	return (all || s->node.state[node] == NODE_UP) &&
	       s->node.cpu_total[node] >= r->cpus[req] &&
	       s->node.mem_total[node] >= r->mem[req] &&
	       s->node.tmp_total[node] >= r->tmp[req] &&
	       1000 * typed_gpus(s, req, node) >= r->gpus[req] &&
	       snap_has_devs(s, req, 1, &s->node.dev_total[node]) &&
	       (r->reservation[req] == SNAP_NONE ||
	        is_reserved(s, r->reservation[req], node));
}

/* Returns the index of a node's domain; with LEVEL_NODE, the number of all
 * domains plus the index of the node. Returns SNAP_NONE if the node is in no
 * domain of the level. */
static uint32_t place_of(const struct spread *sp, uint32_t node)
{
	return sp->level == LEVEL_NODE ? sp->snap->domain.n + node
	                               : domain_of(sp->snap, node, sp->level);
}

uint32_t spread_number(const struct spread *sp, uint32_t node)
{
	uint32_t at = place_of(sp, node);

	/* An entry of 0 stands for no number: 0 - 1 is SNAP_NONE. */
	return at == SNAP_NONE ? SNAP_NONE : sp->number[at] - 1;
}

static void forget(struct spread *sp)
{
	for (uint32_t i = 0; i < sp->n; i++)
		sp->number[place_of(sp, sp->node[i])] = 0;
	sp->n = 0;
}

static void add_nodes(struct spread *sp, const struct allowed *a,
                      const struct node_class *class)
{
	for (uint32_t i = 0; i < class->nnodes; i++) {
		uint32_t node = class->node[i], at = place_of(sp, node);

		if (at == SNAP_NONE || sp->number[at] ||
		    !match_ever_allows(a, node) ||
		    !could_hold(sp->snap, sp->req, node, sp->all))
			continue;
		sp->node[sp->n] = node;
		sp->domain[sp->n] = at;
		sp->number[at] = ++sp->n;
	}
}

void spread_make(struct spread *sp, uint32_t req, uint32_t pool, bool all)
{
	const struct snap *s = sp->snap;
	const struct allowed *a = match_req(sp->match, req);
	int64_t parts;

	memset(sp->room, 0, sp->n * sizeof(*sp->room));
	if (sp->is_made && sp->req == req && sp->pool == pool && sp->all == all)
		return;
	forget(sp);
	sp->level = s->req.spread[req] != LEVEL_NONE ? s->req.spread[req]
	                                             : s->req.spread_like[req];
	sp->part = snap_segment_part(s, req);
	sp->req = req;
	sp->pool = pool;
	sp->all = all;
	sp->is_made = true;
	for (uint32_t c = 0; c < a->nclasses; c++) {
		if (match_class(sp->match, a->class[c])->pool == pool)
			add_nodes(sp, a, match_class(sp->match, a->class[c]));
	}
	parts = s->req.tasks[req] / sp->part;
	sp->low = sp->n ? parts / sp->n : 0;
	sp->extra = sp->n ? parts % sp->n : parts;
	memset(sp->room, 0, sp->n * sizeof(*sp->room));
}

bool spread_fits(const struct spread *sp)
{
	int64_t more = 0;

	for (uint32_t i = 0; i < sp->n; i++) {
		if (sp->room[i] < sp->low)
			return false;
		more += sp->room[i] > sp->low;
	}
	return more >= sp->extra;
}

int64_t spread_got(const struct spread *sp)
{
	int64_t more = 0, got = 0;

	for (uint32_t i = 0; i < sp->n; i++) {
		got += sp->room[i] < sp->low ? sp->room[i] : sp->low;
		more += sp->room[i] > sp->low;
	}
	return (got + (more < sp->extra ? more : sp->extra)) * sp->part;
}

static int by_room(const void *a, const void *b)
{
	const struct spread_room *x = a, *y = b;

	if (x->room != y->room)
		return x->room < y->room ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

void spread_share(struct spread *sp)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < sp->n; i++) {
		sp->give[i] = sp->low;
		if (sp->extra && sp->room[i] > sp->low)
			sp->order[n++] = (struct spread_room){ sp->room[i], i };
	}
	if (n > 1)
		qsort(sp->order, n, sizeof(*sp->order), by_room);
	for (int64_t k = 0; k < sp->extra; k++)
		sp->give[sp->order[k].number]++;
}

bool spread_suits(struct spread *sp, const uint32_t *node, uint32_t n)
{
	int64_t more = 0;

	memset(sp->room, 0, sp->n * sizeof(*sp->room));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = spread_number(sp, node[i]);

		if (at == SNAP_NONE)
			return false;
		sp->room[at]++;
	}
	for (uint32_t i = 0; i < sp->n; i++) {
		int64_t parts = sp->room[i] / sp->part;

		if (parts < sp->low || parts > sp->low + 1)
			return false;
		more += parts > sp->low;
	}
	return more == sp->extra;
}
