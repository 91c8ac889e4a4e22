/* domain.c - the topology as a tree over the nodes */
#include "aischedd/sched/domain.h"

#include <string.h>

static uint32_t domain_or_whole(const struct snap *s, uint32_t domain)
{
	return domain == SNAP_NONE ? s->domain.n : domain;
}

/* Returns the indices 0 .. n - 1 sorted by their key, which is below nkeys.
 * Those with key k are from first[k] up to first[k + 1]; first has nkeys + 1
 * zeros on entry. */
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
 * backwards sums up the nodes of kids, and one forwards gives each domain its
 * slice. */
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

	if (first == s->run.task_first[run + 1] || s->req.nodes[req])
		return false;
	first = s->task[first].node;
	return s->node.pool[node] == s->node.pool[first] &&
	       (need == LEVEL_NONE ||
	        domain_has(s, domain_of(s, first, need), node));
}
