/*
 * place_topology.c - place a gang in one domain of the topology
 *
 * Among the domains of a level that can hold the whole gang, choose the one
 * with the least room. Proceed in the same way among its kids, which are the
 * domains directly below it. If some kids can hold all tasks, use the one of
 * them with the least room. If none can, fill the kids with the most room, and
 * put the rest into the kid with the least room that can hold it. Tasks are
 * counted node by node, but only in domains where the sum of all free resources
 * is enough.
 *
 * A gang of segments needs a domain for each of them. All segments have the
 * same size, so count for each domain of the needed level how many whole
 * segments it can hold. Then choose the narrowest domain that can hold all
 * segments, and in it use as few domains of the needed level as possible.
 *
 * A gang that is spread gets a share of its tasks in each domain, and each
 * share is placed as if it were a whole gang.
 */
#include <string.h>

#include "aischedd/sched/place_topology.h"
#include "aischedd/sched/verdict.h"

enum {
	MOST_TASKS = 1 << 20, /* the most tasks that are counted on one node */
	/* In a domain with more nodes than this, the search goes through all
	 * nodes and skips those of other domains. In a smaller one, it is
	 * cheaper to move the domain's nodes to TREE_PART first. */
	LARGE_DOMAIN = 128,
	/* If n segments cannot be placed, n - 1 are tried next if n is at most
	 * this, else n / 2. */
	ONE_BY_ONE = 8
};

/* Values that affect how many tasks fit in each domain. If one of them changes,
 * the counts are void. */
struct counted_for {
	const struct allowed *allowed;
	uint32_t req, class, nkept;
	unsigned trees;
	bool heedless, loose;
};

/* How many tasks fit on a node. when: place_index_changes() plus 1 when that
 * was counted; round: count_for() has not voided it since. */
struct node_room {
	int64_t room;
	uint64_t when, round;
};

struct place_topology {
	struct place *p;
	struct place_trial *t;
	const struct domains *d;
	int64_t *room;  /* by domain, the whole cluster last: how many tasks
	                   fit */
	int64_t *own;   /* by domain: how many tasks fit on nodes that are in
	                   none of its kids */
	uint64_t *when; /* by domain: place_index_changes() plus 1 when `own`
	                   was counted; 0: not counted */
	struct node_room *on; /* by node */
	uint64_t round;
	int64_t most; /* tasks of the request to count on one node */
	bool keeps;   /* numbers of tasks are kept in `on` */
	/* by node: the tree in which it was before put_aside() */
	uint8_t *from;
	uint8_t *usable; /* by class: 1 if the trial may use it */
	struct counted_for counted;
	/* The tasks may be divided among nodes in any way: neither a number of
	 * nodes nor a count in the constraint is given. */
	bool divisible;
	bool spread; /* the order of the pool is spread: use all nodes of a
	                domain evenly */
};

struct place_topology *place_topology_new(struct place *p)
{
	struct place_topology *g =
	    arena_array(p->arena, struct place_topology, 1);
	uint32_t ndomains = p->snap->domain.n + 1;

	g->p = p;
	g->d = p->domains;
	g->room = arena_array(p->arena, int64_t, ndomains);
	g->own = arena_array(p->arena, int64_t, ndomains);
	g->when = arena_array(p->arena, uint64_t, ndomains);
	g->on = arena_array(p->arena, struct node_room, p->snap->node.n);
	g->from = arena_array(p->arena, uint8_t, p->snap->node.n);
	g->usable = arena_array(p->arena, uint8_t, match_nclasses(p->match));
	return g;
}

static bool is_same(const struct counted_for *a, const struct counted_for *b)
{
	return a->req == b->req && a->allowed == b->allowed &&
	       a->class == b->class && a->nkept == b->nkept &&
	       a->trees == b->trees && a->heedless == b->heedless &&
	       a->loose == b->loose;
}

/* Forget what was counted if the request or other circumstances differ. */
static void count_for(struct place_topology *g, const struct place_trial *t)
{
	const struct place *p = g->p;
	struct counted_for now = {
		.req = t->req,
		.allowed = t->allowed,
		.class = t->class,
		.nkept = p->nkept,
		.trees = t->trees,
		.heedless = p->heedless,
		.loose = p->work->loose,
	};

	if (!is_same(&g->counted, &now) || p->careful ||
	    p->within != SNAP_NONE) {
		memset(g->when, 0,
		       ((size_t)p->snap->domain.n + 1) * sizeof(*g->when));
		g->round++;
	}
	g->counted = now;
}

/* Returns the most tasks to count on one node. Tasks that ask for no CPUs,
 * memory, disk or devices fit any number of times; for these it is the number
 * of tasks of the job. */
static int64_t most_tasks(const struct snap *s, uint32_t req)
{
	bool needs = s->req.cpus[req] || s->req.mem[req] || s->req.tmp[req] ||
	             s->req.gpus[req] || devices_any(&s->req.devs[req]);

	return needs ? MOST_TASKS : s->req.tasks[req];
}

static struct place_topology *gather_for(struct place_trial *t)
{
	struct place_topology *g = t->p->topology;
	const struct snap *s = g->p->snap;
	const uint32_t *class = t->allowed->class;
	uint32_t pool = match_class(g->p->match, class[t->class])->pool;

	count_for(g, t);
	g->t = t;
	g->most = most_tasks(s, t->req);
	g->keeps = s->req.numa[t->req] != NUMA_ANY ||
	           s->req.links[t->req] == LINKS_STRICT;
	g->divisible = !s->req.nodes[t->req] && !t->allowed->ncounts;
	g->spread = s->pool.order[pool] == ORDER_SPREAD &&
	            !s->req.nodes[t->req] && !s->req.exclusive[t->req];
	for (uint32_t c = t->class; c < t->class_end; c++)
		g->usable[class[c]] = 1;
	return g;
}

static void gather_done(struct place_topology *g)
{
	const struct place_trial *t = g->t;

	for (uint32_t c = t->class; c < t->class_end; c++)
		g->usable[t->allowed->class[c]] = 0;
	/* The job grows, and these counts depend on the tasks that it already
	 * has: do not use them for another job. */
	if (g->p->within != SNAP_NONE)
		g->counted.req = SNAP_NONE;
}

/* Whether the sum of what is free in a domain is enough for n tasks. */
static bool may_hold(const struct place_topology *g, uint32_t domain, int64_t n)
{
	const struct snap_reqs *r = &g->p->snap->req;
	uint32_t req = g->t->req;
	const int64_t *sum;

	if (domain == g->p->snap->domain.n)
		return true; /* no sum is kept for the whole cluster */
	sum = place_index_domain_sum(g->p->index, domain);
	return sum[RES_CPU] >= n * r->cpus[req] &&
	       sum[RES_MEM] >= n * r->mem[req] &&
	       sum[RES_GPU] >= n * snap_gpus_least(g->p->snap, req);
}

/* Returns how many tasks fit on a node by what is free there. For requests that
 * are placed on trial to count them, the number is kept until the node changes;
 * but not for nodes with tasks of the job, which the next job does not have,
 * nor for those of promises, which change with time. */
static int64_t count_on(const struct place_topology *g, uint32_t node)
{
	const struct place *p = g->p;
	uint32_t req = g->t->req;
	struct node_room *on = &g->on[node];

	if (!g->keeps || p->own[node] || p->watched[node])
		return place_room(p, req, node, g->most);
	if (on->round != g->round ||
	    on->when <= place_index_changed(p->index, node)) {
		on->room = place_room(p, req, node, g->most);
		on->when = place_index_changes(p->index) + 1;
		on->round = g->round;
	}
	return on->room;
}

static int64_t room_on(const struct place_topology *g, uint32_t node)
{
	const struct place_trial *t = g->t;

	if (!g->usable[match_class_of(g->p->match, node)] ||
	    !(t->trees >> place_index_tree(g->p->index, node) & 1) ||
	    !match_allows(t->allowed, node))
		return 0;
	return count_on(g, node);
}

/* Returns how many tasks of a node count for its domain. If the job asks for a
 * number of nodes, its segments or shares consist of whole nodes, so a node
 * with room for fewer tasks than one such part counts as 0. */
static int64_t counted_on(const struct place_topology *g, uint32_t node)
{
	const struct snap *s = g->p->snap;
	uint32_t req = g->t->req;
	int64_t room = room_on(g, node);

	if ((s->req.segment[req] || snap_is_spread(s, req)) &&
	    room < snap_segment_part(s, req))
		return 0;
	return room;
}

/* Count the tasks that fit on the domain's own nodes. If something on one of
 * these nodes is kept for other jobs, mark the count as not reusable: it
 * changes with time, so the promises must be checked again in each trial. */
static void count_own(struct place_topology *g, uint32_t domain)
{
	const struct domains *d = g->d;
	bool watched = false, any = may_hold(g, domain, 1);
	int64_t sum = 0;

	for (uint32_t i = d->first[domain]; any && i < d->own_end[domain];
	     i++) {
		sum += counted_on(g, d->node[i]);
		watched |= g->p->watched[d->node[i]];
	}
	g->own[domain] = sum;
	g->when[domain] = watched ? 0 : place_index_changes(g->p->index) + 1;
}

/* Whether the domain has been counted, and nothing in it has changed since. */
static bool is_counted(const struct place_topology *g, uint32_t domain)
{
	uint64_t changed =
	    domain == g->p->snap->domain.n
		? place_index_changes(g->p->index)
		: place_index_domain_changed(g->p->index, domain);

	return g->when[domain] > changed;
}

/* Returns how many tasks fit in a domain. Sets g->room for the domain and for
 * all domains below it. */
static int64_t count(struct place_topology *g, uint32_t domain)
{
	const struct domains *d = g->d;
	int64_t sum;

	if (!is_counted(g, domain))
		count_own(g, domain);
	sum = g->own[domain];
	for (uint32_t i = d->kid_first[domain]; i < d->kid_first[domain + 1];
	     i++)
		sum += count(g, d->kid[i]);
	g->room[domain] = sum;
	return sum;
}

/* Go through a range of g->d->node, and move each node that has room to
 * TREE_PART. The search then finds only these nodes. */
static void put_aside(struct place_topology *g, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		uint32_t node = g->d->node[i];

		if (!room_on(g, node))
			continue;
		g->from[node] = (uint8_t)place_index_tree(g->p->index, node);
		place_index_move(g->p->index, node, TREE_PART);
	}
}

static void put_back(struct place_topology *g, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		uint32_t node = g->d->node[i];

		if (place_index_tree(g->p->index, node) == TREE_PART)
			place_index_move(g->p->index, node, g->from[node]);
	}
}

/* Try to place n tasks in a domain: if `end` is own_end[domain], on the nodes
 * that are in none of its kids; if it is end[domain], on all of its nodes. */
static bool fill_nodes(struct place_topology *g, uint32_t domain, uint32_t end,
                       int64_t n)
{
	uint32_t first = g->d->first[domain];
	struct place_trial part = *g->t;
	bool filled;

	part.tasks = (uint32_t)n;
	if (end == g->d->end[domain] && domain < g->p->snap->domain.n &&
	    end - first > LARGE_DOMAIN) {
		part.inside = domain;
		return place_trial_fill(&part);
	}
	put_aside(g, first, end);
	part.trees = IN_PART;
	filled = place_trial_fill(&part);
	put_back(g, first, end);
	return filled;
}

/* Whether a domain in which `room` tasks fit is better for n tasks than one in
 * which `other` fit: if n fit, the one with less room; else the one with more.
 */
static bool is_better(int64_t room, int64_t other, int64_t n)
{
	if ((room >= n) != (other >= n))
		return room >= n;
	return room >= n ? room < other : room > other;
}

/* Whether less is free in domain a than in domain b. */
static bool is_fuller(const struct place_topology *g, uint32_t a, uint32_t b)
{
	const int64_t *x = place_index_domain_sum(g->p->index, a);
	const int64_t *y = place_index_domain_sum(g->p->index, b);

	if (x[RES_GPU] != y[RES_GPU])
		return x[RES_GPU] < y[RES_GPU];
	return x[RES_CPU] < y[RES_CPU];
}

/* Returns the better domain for n tasks, either d or `best`, the best so far
 * (SNAP_NONE: none yet). Returns SNAP_NONE if no task fits in either. */
static uint32_t better_of(const struct place_topology *g, uint32_t d,
                          uint32_t best, int64_t n)
{
	const int64_t *room = g->room;

	if (room[d] > 0 &&
	    (best == SNAP_NONE || is_better(room[d], room[best], n) ||
	     (room[d] == room[best] && is_fuller(g, d, best))))
		return d;
	return best;
}

/* Returns the best of some domains for n tasks; SNAP_NONE if no task fits in
 * any. */
static uint32_t best_of(const struct place_topology *g, const uint32_t *domain,
                        uint32_t ndomains, int64_t n)
{
	uint32_t best = SNAP_NONE;

	for (uint32_t i = 0; i < ndomains; i++)
		best = better_of(g, domain[i], best, n);
	return best;
}

static uint32_t best_kid(const struct place_topology *g, uint32_t domain,
                         int64_t n)
{
	uint32_t first = g->d->kid_first[domain];

	return best_of(g, g->d->kid + first,
	               g->d->kid_first[domain + 1] - first, n);
}

/* Place n tasks in a domain that has room for them: on its own nodes, which are
 * in none of its kids, and in as few kids as possible. */
static bool divide(struct place_topology *g, uint32_t domain, int64_t n)
{
	int64_t *room = g->room, own = g->own[domain];

	while (n > 0) {
		uint32_t kid = best_kid(g, domain, n);
		int64_t *from = kid == SNAP_NONE || is_better(own, room[kid], n)
		                    ? &own
		                    : &room[kid];
		int64_t here = *from < n ? *from : n;

		if (!here ||
		    !(from == &own
		          ? fill_nodes(g, domain, g->d->own_end[domain], here)
		          : divide(g, kid, here)))
			return false;
		*from = 0;
		n -= here;
	}
	return true;
}

/*
 * Place all tasks in a domain. A gang whose tasks cannot be divided freely is
 * tried in each kid that has room for all of them, the kid with the least room
 * first, before it is placed across kids. A failed trial can be undone, because
 * no other task has been placed in it before.
 */
static bool place_in(struct place_topology *g, uint32_t domain)
{
	int64_t n = g->t->tasks, *room = g->room;
	uint32_t kid;

	if (g->divisible && !g->spread)
		return divide(g, domain, n);
	while (!g->spread && (kid = best_kid(g, domain, n)) != SNAP_NONE &&
	       room[kid] >= n) {
		if (place_in(g, kid))
			return true;
		place_undo(g->p);
		room[kid] = 0;
	}
	return fill_nodes(g, domain, g->d->end[domain], n);
}

/* Whether the domain is of the level that the request needs, or inside a domain
 * of that level. A domain may be in no domain of that level: for example, nodes
 * may have a label for their rack but none for a zone. */
static bool is_where_needed(const struct place_topology *g, uint32_t domain)
{
	const struct snap *s = g->p->snap;
	uint8_t need = s->req.need[g->t->req];

	return need == LEVEL_NONE || s->domain.level[domain] == need ||
	       domain_above(s, domain, need) != SNAP_NONE;
}

/* Place all tasks in the best domain of a level. */
static bool place_at(struct place_topology *g, uint8_t level)
{
	const uint32_t *at = g->d->at + g->d->at_first[level];
	uint32_t n = g->d->at_first[level + 1] - g->d->at_first[level], best;
	int64_t tasks = g->t->tasks, *room = g->room;

	for (uint32_t i = 0; i < n; i++) {
		room[at[i]] = 0;
		if (may_hold(g, at[i], tasks) && is_where_needed(g, at[i]))
			count(g, at[i]);
	}
	while ((best = best_of(g, at, n, tasks)) != SNAP_NONE &&
	       room[best] >= tasks) {
		if (place_in(g, best))
			return true;
		place_undo(g->p);
		room[best] = 0;
	}
	return false;
}

/* --- segments ---------------------------------------------------------- */

/* Set g->room of each domain of the needed level to the number of tasks
 * of the whole segments that fit in it, and g->room of each wider
 * domain to the sum of these. */
static void count_segments(struct place_topology *g)
{
	const struct snap *s = g->p->snap;
	uint32_t req = g->t->req, end = g->d->at_first[s->req.need[req] + 1];

	for (uint32_t i = 0; i < g->d->at_first[s->req.need[req]]; i++)
		g->room[g->d->at[i]] = 0;
	g->room[s->domain.n] = 0;
	for (uint32_t i = g->d->at_first[s->req.need[req]]; i < end; i++) {
		uint32_t at = g->d->at[i];
		int64_t n = snap_segments(s, req, count(g, at));

		g->room[at] = n;
		g->room[s->domain.n] += n;
		for (uint32_t d = s->domain.parent[at]; d != SNAP_NONE;
		     d = s->domain.parent[d])
			g->room[d] += n;
	}
}

/* Place n tasks in a domain, either all or none: some of the segments of a job,
 * or its share of a job that is spread. Tasks that the trial has placed in
 * other domains stay placed. */
static bool place_part_in(struct place_topology *g, uint32_t domain, int64_t n)
{
	struct place *p = g->p;
	struct place_trial *all = g->t, part = *all;
	size_t task = p->first_task, use = p->first_use, mark = p->mark;
	bool placed;

	part.tasks = (uint32_t)n;
	if (part.nodes)
		part.nodes = part.tasks / snap_segment_part(p->snap, part.req);
	g->t = &part;
	place_begin(p);
	count(g, domain);
	placed = place_in(g, domain);
	if (!placed)
		place_undo(p);
	g->t = all;
	p->first_task = task;
	p->first_use = use;
	p->mark = mark;
	return placed;
}

/* Returns the best domain of the needed level for n tasks inside the domain
 * `wide`, or in the whole cluster if `wide` is domain.n. */
static uint32_t best_in(const struct place_topology *g, uint32_t wide,
                        int64_t n)
{
	const struct snap *s = g->p->snap;
	uint8_t need = s->req.need[g->t->req];
	uint32_t best = SNAP_NONE;

	for (uint32_t i = g->d->at_first[need]; i < g->d->at_first[need + 1];
	     i++) {
		uint32_t at = g->d->at[i];

		if (wide == s->domain.n ||
		    domain_above(s, at, s->domain.level[wide]) == wide)
			best = better_of(g, at, best, n);
	}
	return best;
}

/* Returns how many tasks to try next in a domain where n tasks fit by their
 * count, but could not be placed. This happens if tasks depend on each other's
 * devices: then they may fit in one order only. */
static int64_t fewer_segments(const struct place_topology *g, int64_t n)
{
	int64_t segment = g->p->snap->req.segment[g->t->req];

	return n / segment <= ONE_BY_ONE
	           ? n - segment
	           : snap_segments(g->p->snap, g->t->req, n / 2);
}

/* Place all segments in the domain `wide`, which is of the needed level or a
 * wider one, in as few domains of the needed level as possible. */
static bool place_segments_within(struct place_topology *g, uint32_t wide)
{
	int64_t left = g->t->tasks, here;
	bool placed;

	while (left) {
		uint32_t at = best_in(g, wide, left);

		if (at == SNAP_NONE)
			return false;
		here = smaller(g->room[at], left);
		placed = place_part_in(g, at, here);
		g->room[at] = placed ? 0 : fewer_segments(g, here);
		left -= placed ? here : 0;
	}
	return true;
}

/* Place all segments in the narrowest domain that has room for them. */
static bool place_segments(struct place_topology *g)
{
	const struct snap *s = g->p->snap;
	int64_t tasks = g->t->tasks;

	for (int level = s->req.need[g->t->req]; level >= 0; level--) {
		const uint32_t *at = g->d->at + g->d->at_first[level];
		uint32_t n = g->d->at_first[level + 1] - g->d->at_first[level];
		uint32_t best;

		count_segments(g);
		best = best_of(g, at, n, tasks);
		if (best == SNAP_NONE || g->room[best] < tasks)
			continue;
		if (place_segments_within(g, best))
			return true;
		place_undo(g->p);
	}
	count_segments(g);
	return g->room[s->domain.n] >= tasks &&
	       place_segments_within(g, s->domain.n);
}

/* Set lack->got to the number of tasks of whole segments that fit. Also find
 * the domain with the most room for a part of one more segment: lack->have
 * tasks fit in lack->domain. */
static void lack_segments(struct place_topology *g, struct place_lack *lack)
{
	const struct snap *s = g->p->snap;
	uint32_t req = g->t->req;
	uint8_t need = s->req.need[req];
	int64_t got = 0;

	lack->have = 0;
	lack->domain = SNAP_NONE;
	for (uint32_t i = g->d->at_first[need]; i < g->d->at_first[need + 1];
	     i++) {
		int64_t n = count(g, g->d->at[i]);
		int64_t whole = snap_segments(s, req, n);

		got += whole;
		if (n - whole <= lack->have)
			continue;
		lack->have = n - whole;
		lack->domain = g->d->at[i];
	}
	lack->got = (uint32_t)smaller(got, g->t->tasks);
}

/* Place the gang in as narrow a domain as possible: try one level after the
 * other, from the narrowest that is preferred to the widest that is allowed. */
static bool place_upwards(struct place_topology *g)
{
	const struct snap *s = g->p->snap;
	uint8_t need = s->req.need[g->t->req], like = s->req.like[g->t->req];
	int from = like != LEVEL_NONE   ? like
	           : need != LEVEL_NONE ? need
	                                : (int)s->nlevels - 1;
	int to = need != LEVEL_NONE ? need : 0;

	if (s->req.segment[g->t->req])
		return place_segments(g);
	for (int level = from; level >= to; level--) {
		if (place_at(g, (uint8_t)level))
			return true;
	}
	if (need != LEVEL_NONE)
		return false;
	if (!g->divisible || g->spread)
		return place_trial_fill(g->t);
	count(g, s->domain.n);
	return place_in(g, s->domain.n);
}

/* --- jobs that are spread over domains --------------------------------- */

/* Count the parts of the job that fit in each domain. */
static void count_spread(struct place_topology *g, struct spread *sp)
{
	for (uint32_t i = 0; i < sp->n; i++)
		sp->room[i] =
		    (sp->level == LEVEL_NODE ? counted_on(g, sp->node[i])
		                             : count(g, sp->domain[i])) /
		    sp->part;
}

/* Place the remaining n tasks one by one, at most `cap` of the job on a
 * node. With `rises`, raise the cap by one whenever all nodes with fewer
 * tasks are full. */
static bool place_one_by_one(struct place_topology *g, int64_t n, uint32_t cap,
                             bool rises)
{
	struct place_trial rest = *g->t;
	struct place *p = g->p;
	bool filled;

	rest.tasks = (uint32_t)n;
	rest.cap = rises ? CAP_RISE : CAP_KEEP;
	p->cap = cap;
	p->capped = p->job;
	filled = place_trial_fill(&rest);
	p->cap = 0;
	g->t->left = rest.left;
	return filled;
}

/* Place sp->low tasks on each node, and one more on sp->extra of the nodes. */
static bool place_on_each(struct place_topology *g, const struct spread *sp)
{
	for (uint32_t i = 0; sp->low && i < sp->n; i++)
		place_put(g->p, g->t->req, sp->node[i], sp->low);
	return !sp->extra ||
	       place_one_by_one(g, sp->extra, (uint32_t)sp->low + 1, false);
}

static bool place_shares(struct place_topology *g, const struct spread *sp)
{
	for (uint32_t i = 0; i < sp->n; i++) {
		if (sp->give[i] &&
		    !place_part_in(g, sp->domain[i], sp->give[i] * sp->part))
			return false;
	}
	return true;
}

/* Write to sp->give how many parts each domain gets, so that the largest share
 * is as small as possible. Returns false if there is not enough room. */
static bool share_evenly(const struct spread *sp, int64_t parts)
{
	int64_t lo = 0, hi = parts, sum = 0;

	while (lo < hi) {
		int64_t most = lo + (hi - lo) / 2;

		sum = 0;
		for (uint32_t i = 0; i < sp->n; i++)
			sum += smaller(sp->room[i], most);
		if (sum >= parts)
			hi = most;
		else
			lo = most + 1;
	}
	sum = 0;
	for (uint32_t i = 0; i < sp->n; i++) {
		sp->give[i] = smaller(sp->room[i], hi);
		sum += sp->give[i];
	}
	for (uint32_t i = sp->n; i-- > 0 && sum > parts;) {
		if (sp->give[i] == hi) {
			sp->give[i]--;
			sum--;
		}
	}
	return sum == parts;
}

static bool place_spread(struct place_topology *g, struct spread *sp)
{
	bool wish = g->p->snap->req.spread[g->t->req] == LEVEL_NONE;

	if (wish && sp->level == LEVEL_NODE)
		return place_one_by_one(g, g->t->tasks, 1, true);
	count_spread(g, sp);
	if (wish)
		return share_evenly(sp, g->t->tasks / sp->part) &&
		       place_shares(g, sp);
	if (!spread_fits(sp))
		return false;
	if (sp->level == LEVEL_NODE)
		return place_on_each(g, sp);
	spread_share(sp);
	return place_shares(g, sp);
}

static struct spread *spread_for(const struct place_trial *t)
{
	const struct place *p = t->p;
	uint32_t class = t->allowed->class[t->class];

	spread_make(p->spread, t->req, match_class(p->match, class)->pool,
	            false);
	return p->spread;
}

bool place_topology_spread(struct place_trial *t)
{
	struct place_topology *g = gather_for(t);
	bool filled = place_spread(g, spread_for(t));

	gather_done(g);
	return filled;
}

/* Describe in `lack` why the job cannot be spread. If some domain has room for
 * fewer than sp->low parts, describe the domain with the least room; otherwise
 * say how many domains have room for sp->low + 1 parts. */
static void lack_spread(struct place_topology *g, struct place_lack *lack)
{
	struct spread *sp = spread_for(g->t);
	uint32_t worst = SNAP_NONE;

	count_spread(g, sp);
	lack->why = WHY_Topology;
	lack->got = (uint32_t)spread_got(sp);
	lack->sum = sp->n;
	lack->need = sp->low + 1;
	lack->total = sp->extra;
	lack->have = 0;
	for (uint32_t i = 0; i < sp->n; i++) {
		lack->have += sp->room[i] > sp->low;
		if (sp->room[i] < sp->low &&
		    (worst == SNAP_NONE || sp->room[i] < sp->room[worst]))
			worst = i;
	}
	if (worst == SNAP_NONE)
		return;
	lack->need = sp->low;
	lack->total = 0;
	lack->have = sp->room[worst];
	if (sp->level == LEVEL_NODE)
		lack->node = sp->node[worst];
	else
		lack->domain = sp->domain[worst];
}

bool place_topology_fill(struct place_trial *t)
{
	struct place_topology *g = gather_for(t);
	bool filled = place_upwards(g);

	gather_done(g);
	return filled;
}

bool place_topology_fill_in(struct place_trial *t, uint32_t domain)
{
	struct place_topology *g = gather_for(t);
	bool filled = count(g, domain) >= t->tasks && place_in(g, domain);

	gather_done(g);
	return filled;
}

/* Set lack->domain to that domain of the level in which the most tasks fit. */
static void lack_domain(struct place_topology *g, uint8_t level,
                        struct place_lack *lack)
{
	const uint32_t *at = g->d->at + g->d->at_first[level];
	uint32_t n = g->d->at_first[level + 1] - g->d->at_first[level];
	int64_t room;

	for (uint32_t i = 0; i < n; i++)
		count(g, at[i]);
	lack->domain = best_of(g, at, n, INT64_MAX);
	room = lack->domain == SNAP_NONE ? 0 : g->room[lack->domain];
	lack->got = (uint32_t)smaller(room, g->t->tasks);
}

void place_topology_lack(struct place_trial *t, struct place_lack *lack)
{
	struct place_topology *g = gather_for(t);
	const struct snap_reqs *r = &t->p->snap->req;

	if (r->spread[t->req] != LEVEL_NONE)
		lack_spread(g, lack);
	else if (r->segment[t->req])
		lack_segments(g, lack);
	else
		lack_domain(g, r->need[t->req], lack);
	gather_done(g);
}
