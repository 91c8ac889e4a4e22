/* promise_start.c - the earliest time at which a job can start */
#include "aischedd/sched/promise_start.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/order_score.h"

void *promise_start_reserve(struct promise_seeker *sr,
                            struct promise_scratch *it, size_t n, size_t keep,
                            size_t size)
{
	void *old = it->p;

	if (n <= it->cap)
		return it->p;
	it->cap = 2 * n;
	it->p = arena_alloc(sr->p->arena, it->cap, size);
	if (keep)
		memcpy(it->p, old, keep * size);
	return it->p;
}

struct promise_seeker *promise_start_new(struct place *place,
                                         struct future *future)
{
	struct promise_seeker *sr =
	    arena_array(place->arena, struct promise_seeker, 1);

	sr->p = place;
	sr->s = place->snap;
	sr->future = future;
	sr->limits = limit_future_new(place);
	sr->usable =
	    arena_array(place->arena, uint8_t, match_nclasses(place->match));
	snap_capacity(place->snap, sr->capacity);
	return sr;
}

int64_t promise_start_ends_by(const struct snap *s, uint32_t req, int64_t until)
{
	uint32_t resv = s->req.reservation[req];

	return until == SNAP_NEVER && resv != SNAP_NONE ? s->resv.end[resv]
	                                                : until;
}

static int by_time(const void *a, const void *b)
{
	const struct promise_step *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

bool promise_start_suffices(const struct promise_seek *sk)
{
	int64_t nodes = sk->nodes, sum = 0;

	for (int64_t n = sk->ask.most; n > 0 && nodes; n--) {
		int64_t k = sk->with[n] < nodes ? sk->with[n] : nodes;

		sum += k * n;
		nodes -= k;
	}
	return !nodes && sum >= sk->tasks;
}

/* Returns how many parts of the job a node can hold if n tasks fit on it. */
static int64_t parts_of(const struct promise_seek *sk, int64_t n)
{
	return n / snap_segment_part(sk->sr->s, sk->ask.req);
}

/* Apply a step to the parts that fit in its node's domain. Returns how many
 * more whole segments fit there now (< 0: fewer). */
static int64_t take_step(struct promise_seek *sk, const struct promise_step *it)
{
	const struct snap *s = sk->sr->s;
	uint8_t level = s->req.need[sk->ask.req];
	int64_t *parts = &sk->parts[domain_of(s, it->node, level)];
	int64_t before = *parts / sk->segment;

	*parts += parts_of(sk, it->is) - parts_of(sk, it->was);
	return *parts / sk->segment - before;
}

/* Returns the first time at which all segments have room, or SNAP_NEVER. The
 * steps must be sorted by time. */
static int64_t first_time_of_segments(struct promise_seek *sk)
{
	const struct snap *s = sk->sr->s;
	int64_t left = sk->tasks / s->req.segment[sk->ask.req];

	memset(sk->parts, 0, s->domain.n * sizeof(*sk->parts));
	future_spend(sk->sr->future, s->domain.n);
	for (size_t i = 0; i < sk->nsteps; i++) {
		const struct promise_step *it = &sk->step[i];

		left -= take_step(sk, it);
		if (left <= 0 && (i + 1 == sk->nsteps || it[1].at != it->at))
			return it->at;
	}
	return SNAP_NEVER;
}

/* Returns the first time at which each domain has room for its share of a
 * spread job, or SNAP_NEVER. The steps must be sorted by time. */
static int64_t first_time_of_spread(struct promise_seek *sk)
{
	struct spread *sp = sk->spread;
	int64_t low = sp->low ? sp->n : 0, more = 0;

	memset(sp->room, 0, sp->n * sizeof(*sp->room));
	future_spend(sk->sr->future, sp->n);
	/* low: domains with room for fewer than sp->low parts; more: domains
	 * with room for more than sp->low parts. */
	for (size_t i = 0; i < sk->nsteps; i++) {
		const struct promise_step *it = &sk->step[i];
		int64_t *parts = &sp->room[spread_number(sp, it->node)];

		low += *parts >= sp->low;
		more -= *parts > sp->low;
		*parts += parts_of(sk, it->is) - parts_of(sk, it->was);
		low -= *parts >= sp->low;
		more += *parts > sp->low;
		if (!low && more >= sp->extra &&
		    (i + 1 == sk->nsteps || it[1].at != it->at))
			return it->at;
	}
	return SNAP_NEVER;
}

/* Sort the steps by time. Returns the first time at which the nodes seen so far
 * have room for the job, or SNAP_NEVER. */
static int64_t first_time(struct promise_seek *sk)
{
	int64_t sum = 0;

	if (!sk->nsteps)
		return SNAP_NEVER;
	future_spend(sk->sr->future, 8 * sk->nsteps);
	qsort(sk->step, sk->nsteps, sizeof(*sk->step), by_time);
	if (sk->segment)
		return first_time_of_segments(sk);
	if (sk->spread)
		return first_time_of_spread(sk);
	if (sk->nodes)
		memset(sk->with, 0,
		       ((size_t)sk->ask.most + 1) * sizeof(*sk->with));
	for (size_t i = 0; i < sk->nsteps; i++) {
		const struct promise_step *it = &sk->step[i];

		sum += it->is - it->was;
		if (sk->nodes) {
			sk->with[it->was]--;
			sk->with[it->is]++;
		}
		if (i + 1 < sk->nsteps && it[1].at == it->at)
			continue;
		if (sk->nodes ? promise_start_suffices(sk) : sum >= sk->tasks)
			return it->at;
	}
	return SNAP_NEVER;
}

/* If the nodes seen so far have room at some time, lower the bound to
 * that time, because further nodes can only make the start earlier;
 * drop later steps. */
static void tighten(struct promise_seek *sk)
{
	int64_t at = first_time(sk);

	if (at == SNAP_NEVER)
		return;
	sk->bound = at;
	while (sk->nsteps && sk->step[sk->nsteps - 1].at > at)
		sk->nsteps--;
}

/* Call tighten() if there may be enough room: after each node if the job has a
 * single task, else whenever the number of steps has doubled. */
static void tighten_now_and_then(struct promise_seek *sk)
{
	if (sk->room < sk->tasks || sk->nsteps < sk->next_tighten)
		return;
	tighten(sk);
	sk->next_tighten = sk->tasks > 1 ? 2 * sk->nsteps : 0;
}

static void make_room(struct promise_seek *sk, size_t n)
{
	struct promise_scratch *it = &sk->sr->step;

	if (sk->nsteps + n <= it->cap)
		return;
	tighten(sk);
	if (sk->nsteps + n > it->cap / 2)
		sk->step = promise_start_reserve(sk->sr, it,
		                                 sk->nsteps + n + it->cap / 2,
		                                 sk->nsteps, sizeof(*sk->step));
}

static void add_step(struct promise_seek *sk, int64_t at, uint32_t node,
                     int64_t n, int64_t *was)
{
	if (n == *was)
		return;
	sk->step[sk->nsteps++] =
	    (struct promise_step){ at, node, (int32_t)*was, (int32_t)n };
	*was = n;
}

int64_t promise_start_end_at(const struct promise_seek *sk, int64_t at)
{
	return promise_start_ends_by(
	    sk->sr->s, sk->ask.req,
	    sk->length == SNAP_NEVER ? SNAP_NEVER : at + sk->length);
}

/* A node on which something is kept for other jobs. */
struct kept {
	uint32_t node;
	struct future_course c;
	/* by point: how many tasks fit until the next point */
	const int64_t *count;
	bool odd;
	/* The next point at which more tasks may fit, and the next point at
	 * which fewer tasks may fit. */
	uint32_t more, less;
};

/* Returns how many tasks fit on the node from this time on, for as long as the
 * job runs. */
static int64_t room_for(struct promise_seek *sk, const struct kept *k,
                        int64_t from)
{
	int64_t until = promise_start_end_at(sk, from), n = sk->ask.most;
	uint32_t first = future_course_at(&k->c, from), i;
	const struct future_due *due;

	for (i = first; i < k->c.n && n; i++) {
		if (until != SNAP_NEVER && k->c.at[i] >= until)
			break;
		n = k->count[i] < n ? k->count[i] : n;
	}
	future_spend(sk->sr->future, 8 + i - first);
	while (n > 0 && k->odd &&
	       !future_allows(sk->sr->future, k->node, &sk->ask, n, from, until,
	                      &due))
		n -= 1 + n / 8;
	return n;
}

int64_t promise_start_room(struct promise_seek *sk, uint32_t node, int64_t at)
{
	struct promise_seeker *sr = sk->sr;
	struct kept k = { .node = node,
		          .c = future_course_of(sr->future, node) };

	if (!match_could_use(sr->p->match, sk->ask.req, node) ||
	    sr->s->node.state[node] != NODE_UP ||
	    !sr->s->pool.ready[sr->s->node.pool[node]])
		return 0;
	k.odd = future_is_odd(sr->future, node, &sk->ask);
	k.count = future_counts(sr->future, node, &sk->ask);
	return room_for(sk, &k, at);
}

/* Find the next start time for which room_for() may give another result: either
 * more tasks fit from then on, or a job that starts then still runs when fewer
 * fit. If amounts do not decide what fits, every point counts, because other
 * devices may be free from then on. Returns false if there is no such time up
 * to the bound. */
static bool next_change(const struct promise_seek *sk, struct kept *k,
                        int64_t *ret)
{
	const struct future_course *c = &k->c;
	int64_t before = INT64_MAX;

	while (k->more < c->n && k->more && !k->odd &&
	       k->count[k->more] <= k->count[k->more - 1])
		k->more++;
	while (k->less < c->n && !k->odd &&
	       k->count[k->less] >= k->count[k->less - 1])
		k->less++;
	if (sk->length != SNAP_NEVER && k->less < c->n)
		before = c->at[k->less] - sk->length + 1;
	if (k->more < c->n && c->at[k->more] <= before)
		*ret = c->at[k->more++];
	else
		*ret = before;
	if (*ret == before)
		k->less++;
	return *ret != INT64_MAX && *ret <= sk->bound;
}

static void look_at_kept(struct promise_seek *sk, uint32_t node,
                         struct future_course c)
{
	struct kept k = { .node = node, .c = c, .less = 1 };
	uint32_t last = future_course_at(&c, sk->bound), i = 0;
	int64_t was = 0, at;

	while (i <= last && !future_ask_count(&sk->ask, &c.point[i]))
		i++;
	if (i > last)
		return;
	k.odd = future_is_odd(sk->sr->future, node, &sk->ask);
	k.count = future_counts(sk->sr->future, node, &sk->ask);
	make_room(sk, 2 * (size_t)c.n + 1);
	if (sk->from > c.at[0])
		add_step(sk, sk->from, node, room_for(sk, &k, sk->from), &was);
	/* Once all tasks fit on this node, further steps change nothing, unless
	 * the tasks must be on several nodes. */
	while ((sk->nodes || sk->spread || was < sk->tasks) &&
	       next_change(sk, &k, &at)) {
		if (at >= c.at[i] && (at > sk->from || sk->from <= c.at[0]))
			add_step(sk, at, node, room_for(sk, &k, at), &was);
	}
	sk->room += was;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Add the steps of one node. Unless something is kept there for other jobs, its
 * room only grows with time. */
static void look_at(struct promise_seek *sk, uint32_t node)
{
	struct future *future = sk->sr->future;
	struct future_course c = future_course_of(future, node);
	const int64_t *count = NULL;
	int64_t was = 0;
	uint32_t last;

	if (sk->sr->p->watched[node]) {
		look_at_kept(sk, node, c);
		return;
	}
	last = future_course_at(&c, sk->bound);
	if (!future_ask_count(&sk->ask, &c.point[last]))
		return;
	make_room(sk, last + 1);
	if (sk->ask.odd)
		count = future_counts(future, node, &sk->ask);
	for (uint32_t i = future_course_at(&c, sk->from); i <= last; i++)
		add_step(sk, later(c.at[i], sk->from), node,
		         count ? count[i]
		               : future_ask_count(&sk->ask, &c.point[i]),
		         &was);
	sk->room += was;
}

/* Whether an earlier start than the best so far may still be found. */
static bool may_improve(const struct promise_seek *sk)
{
	return sk->bound >= sk->from && future_patience(sk->sr->future) > 0;
}

static void look_begin(struct promise_seek *sk)
{
	sk->nsteps = sk->next_tighten = 0;
	sk->room = 0;
}

/* If the nodes seen so far have room for the job, keep their steps as the best
 * ones, and from now on search only for an earlier start. */
static void look_end(struct promise_seek *sk)
{
	int64_t at = first_time(sk);

	if (at == SNAP_NEVER)
		return;
	while (sk->nsteps && sk->step[sk->nsteps - 1].at > at)
		sk->nsteps--;
	sk->bound = at - 1;
	sk->nbest = sk->nsteps;
	sk->best_pool = sk->pool;
	sk->best = RESERVE(sk->sr, best, struct promise_step, sk->nsteps);
	memcpy(sk->best, sk->step, sk->nsteps * sizeof(*sk->step));
}

/* Whether the job may use the node: the request allows it, the node is up, and
 * its pool is ready and is the one being searched. If the job has segments or
 * is spread, the node must also be in a domain of the level that the request
 * names for this. */
static bool may_be_used(const struct promise_seek *sk, uint32_t node)
{
	const struct promise_seeker *sr = sk->sr;
	const struct allowed *a = match_req(sr->p->match, sk->ask.req);

	if (sk->segment &&
	    domain_of(sr->s, node, sr->s->req.need[sk->ask.req]) == SNAP_NONE)
		return false;
	if (sk->spread && spread_number(sk->spread, node) == SNAP_NONE)
		return false;
	return sr->usable[match_class_of(sr->p->match, node)] &&
	       sr->s->node.state[node] == NODE_UP && match_allows(a, node);
}

/* Look at all nodes of a pool together, in the order in which they could first
 * have room. */
static void look_in_pool(struct promise_seek *sk)
{
	struct future_nodes *soon = future_nodes_of(sk->sr->future);
	uint32_t node;

	look_begin(sk);
	for (uint32_t i = 0;
	     may_improve(sk) &&
	     future_nodes_get(soon, sk->soon, i, sk->bound, &node);
	     i++) {
		if (node == SNAP_NONE || !may_be_used(sk, node))
			continue;
		look_at(sk, node);
		tighten_now_and_then(sk);
	}
	look_end(sk);
}

/* Look at each domain of the needed level separately. */
static void look_in_domains(struct promise_seek *sk, uint8_t level)
{
	struct promise_seeker *sr = sk->sr;
	const struct domains *d = sr->p->domains;
	struct future_nodes *soon = future_nodes_of(sr->future);

	for (uint32_t i = d->at_first[level]; i < d->at_first[level + 1]; i++) {
		look_begin(sk);
		for (uint32_t k = d->first[d->at[i]];
		     k < d->end[d->at[i]] && may_improve(sk); k++) {
			uint32_t node = d->node[k];

			if (future_nodes_could(soon, sk->soon, node,
			                       sk->bound) &&
			    may_be_used(sk, node))
				look_at(sk, node);
		}
		look_end(sk);
	}
}

/* Returns the resource of which a task needs the largest fraction of the
 * cluster's total. */
static enum resource scarcest(const struct promise_seeker *sr,
                              const int64_t *need)
{
	enum resource most = RES_CPU;

	for (int r = 0; r < RES_N; r++) {
		if ((__int128)need[r] * sr->capacity[most] >
		    (__int128)need[most] * sr->capacity[r])
			most = r;
	}
	return most;
}

/* Search the pools one after the other. A start in a later pool counts only if
 * it is earlier than the best one so far. */
void promise_start_search(struct promise_seek *sk)
{
	struct promise_seeker *sr = sk->sr;
	const struct snap *s = sr->s;
	const struct match *m = sr->p->match;
	uint32_t req = sk->ask.req;
	const struct allowed *a = match_req(sr->p->match, req);
	const int64_t need[RES_N] = { s->req.cpus[req], s->req.mem[req],
		                      snap_gpus_least(s, req) };
	enum resource res = scarcest(sr, need);
	uint8_t level = s->req.need[req];
	bool is_new;

	sk->soon = future_nodes_order_for(future_nodes_of(sr->future), res,
	                                  need[res], &is_new);
	if (is_new)
		future_spend(sr->future, s->node.n);
	for (uint32_t c = 0, from = 0; c < a->nclasses; from = c) {
		uint32_t pool = match_class(m, a->class[c])->pool;

		for (; c < a->nclasses &&
		       match_class(m, a->class[c])->pool == pool;
		     c++)
			sr->usable[a->class[c]] = s->pool.ready[pool];
		sk->pool = pool;
		if (sk->spread)
			spread_make(sk->spread, req, pool, false);
		if (level == LEVEL_NONE || sk->segment)
			look_in_pool(sk);
		else
			look_in_domains(sk, level);
		for (; from < c; from++)
			sr->usable[a->class[from]] = 0;
	}
}
