/* promise.c - starts that are promised to jobs that cannot start now */
#include "aischedd/sched/promise.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/ahead.h"
#include "aischedd/sched/score.h"
#include "aischedd/sched/why.h"

/* For one search when somebody asks, see ahead_patience(). */
enum { PATIENCE_ASKED = 2000000 };

/* A job behind which nobody passes on certain nodes. */
struct barred {
	uint32_t req;
	uint64_t job;
};

struct bar {
	uint64_t *class;        /* by class: the job, or 0 */
	struct arena_list some; /* those that could use some nodes of one */
};

/* Why the last trial was refused a node. */
struct refusal {
	bool is;
	uint64_t bar; /* the job behind which it may not pass, or 0 */
	uint32_t node;
	const struct due *due;
};

/* A list of any type that is filled again and again. */
struct scratch {
	void *p;
	size_t cap;
};

struct promises {
	struct place *p;
	const struct snap *s;
	struct ahead *ahead;
	uint32_t nmade;
	struct bar **bar; /* by queue, and one for all */
	struct ask ask;   /* of the request that is being placed */
	struct refusal refusal;
	int64_t capacity[RES_N]; /* of all nodes that are not down */
	/* Of a search. */
	uint8_t *usable; /* by class: of the pool in which it looks */
	struct scratch step, best, with, room;
};

/* The search for a job's earliest start. */
struct seek {
	struct promises *ps;
	struct ask ask;
	int64_t tasks, length;   /* SNAP_NEVER: it never ends */
	uint32_t nodes;          /* exactly, or 0 */
	int64_t bound;           /* it starts no later than this */
	struct soon_order *soon; /* nodes by when they could have room */
	int64_t room;            /* tasks for which there is room then */
	size_t next_tighten;     /* with so many steps */
	struct step *step;
	size_t nsteps;
	struct step *best; /* those up to the bound where it starts then */
	size_t nbest;
	int64_t *with; /* nodes, by tasks for which they have room */
};

/* The count of tasks for which a node has room, at a time from which on it
 * is another. */
struct step {
	int64_t at;
	uint32_t node;
	int32_t was, is;
};

/* Room on one node. */
struct room {
	uint32_t node;
	int64_t n;
};

/* Room for n elements, the first `keep` of which stay. */
static void *reserve(struct promises *ps, struct scratch *it, size_t n,
                     size_t keep, size_t size)
{
	void *old = it->p;

	if (n <= it->cap)
		return it->p;
	it->cap = 2 * n;
	it->p = arena_alloc(ps->p->arena, it->cap, size);
	if (keep)
		memcpy(it->p, old, keep * size);
	return it->p;
}

#define RESERVE(ps, it, type, n) \
	((type *)reserve((ps), &(ps)->it, (n), 0, sizeof(type)))

/* --- reservations and bars --------------------------------------------- */

static void keep_reservation(struct promises *ps, uint32_t resv)
{
	const struct snap *s = ps->s;

	for (uint32_t i = s->resv.node_first[resv];
	     i < s->resv.node_first[resv + 1]; i++)
		ahead_keep(ps->ahead, s->resv_node[i],
		           &(struct due){ .start = s->resv.start[resv],
		                          .end = s->resv.end[resv],
		                          .resv = resv });
}

struct promises *promises_new(struct place *place)
{
	struct promises *ps = arena_array(place->arena, struct promises, 1);
	const struct snap *s = place->snap;

	ps->p = place;
	ps->s = s;
	ps->ahead = ahead_new(place);
	ps->bar = arena_array(place->arena, struct bar *, s->queue.n + 1);
	ps->ask.req = SNAP_NONE;
	ps->usable =
	    arena_array(place->arena, uint8_t, match_nclasses(place->match));
	snap_capacity(s, ps->capacity);
	for (uint32_t i = 0; i < s->resv.n; i++) {
		if (s->resv.end[i] > s->now)
			keep_reservation(ps, i);
	}
	place->promises = ps;
	return ps;
}

bool promise_is_open(const struct snap *s, uint32_t row, struct verdict *v)
{
	uint32_t resv = s->req.reservation[s->pend.req[row]];
	bool invited = false;

	if (resv == SNAP_NONE)
		return true;
	for (uint32_t i = s->resv.user_first[resv];
	     i < s->resv.user_first[resv + 1]; i++)
		invited |= s->resv_user[i] == s->pend.user[row];
	if (invited && s->resv.start[resv] <= s->now &&
	    s->now < s->resv.end[resv])
		return true;
	v->why = WHY_Reservation;
	v->name = resv;
	v->num[NUM_WHAT] = !invited                     ? RESV_OF_OTHERS
	                   : s->now < s->resv.end[resv] ? RESV_BEGINS
	                                                : RESV_IS_OVER;
	return false;
}

int64_t promise_wake(const struct snap *s)
{
	int64_t next = SNAP_NEVER;

	for (uint32_t i = 0; i < s->resv.n; i++) {
		int64_t at = s->resv.start[i] > s->now ? s->resv.start[i]
		                                       : s->resv.end[i];

		if (at > s->now && (next == SNAP_NEVER || at < next))
			next = at;
	}
	return next;
}

static struct bar *bar_of(struct promises *ps, uint32_t queue)
{
	struct bar **bar =
	    &ps->bar[queue == SNAP_NONE ? ps->s->queue.n : queue];

	if (!*bar) {
		*bar = arena_array(ps->p->arena, struct bar, 1);
		(*bar)->class = arena_array(ps->p->arena, uint64_t,
		                            match_nclasses(ps->p->match));
	}
	return *bar;
}

void promise_bar(struct promises *ps, uint32_t queue, uint32_t req,
                 uint64_t job)
{
	const struct allowed *a = match_req(ps->p->match, req);
	struct bar *bar = bar_of(ps, queue);

	for (uint32_t i = 0; !a->only && i < a->nclasses; i++) {
		uint32_t class = a->class[i];

		if (!bar->class[class] &&
		    !class_too_small(match_class(ps->p->match, class), ps->s,
		                     req))
			bar->class[class] = job;
	}
	if (a->only) {
		struct barred *b =
		    arena_push(ps->p->arena, &bar->some, sizeof(*b));

		*b = (struct barred){ req, job };
	}
}

static bool could_use(struct match *m, uint32_t req, uint32_t node)
{
	const struct allowed *a = match_req(m, req);

	if (!allowed_node(a, node))
		return false;
	for (uint32_t i = 0; i < a->nclasses; i++) {
		if (a->class[i] == match_class_of(m, node))
			return true;
	}
	return false;
}

static uint64_t barred_by(const struct promises *ps, const struct bar *bar,
                          uint32_t node)
{
	if (!bar)
		return 0;
	if (bar->class[match_class_of(ps->p->match, node)])
		return bar->class[match_class_of(ps->p->match, node)];
	for (size_t i = 0; i < bar->some.n; i++) {
		const struct barred *b = (struct barred *)bar->some.p + i;

		if (could_use(ps->p->match, b->req, node))
			return b->job;
	}
	return 0;
}

bool promise_begin(struct promises *ps, uint32_t req)
{
	ps->refusal = (struct refusal){ 0 };
	ps->ask = ahead_ask(ps->ahead, req, 0);
	if (ps->p->run != SNAP_NONE)
		ask_go_on(&ps->ask);
	return ps->s->req.reservation[req] != SNAP_NONE ||
	       ps->bar[ps->p->queue] || ps->bar[ps->s->queue.n];
}

/* When what is placed now has left a node: whoever has no limit leaves with
 * the reservation that it names. */
static int64_t ends_by(const struct promises *ps, uint32_t req, int64_t until)
{
	uint32_t resv = ps->s->req.reservation[req];

	return until == SNAP_NEVER && resv != SNAP_NONE ? ps->s->resv.end[resv]
	                                                : until;
}

bool promise_allows(struct promises *ps, uint32_t req, uint32_t node, int64_t n)
{
	struct refusal *r = &ps->refusal;

	r->bar = barred_by(ps, ps->bar[ps->p->queue], node);
	if (!r->bar)
		r->bar = barred_by(ps, ps->bar[ps->s->queue.n], node);
	if (ps->ask.req != req)
		promise_begin(ps, req);
	if (!r->bar && ahead_allows(ps->ahead, node, &ps->ask, n, ps->s->now,
	                            ends_by(ps, req, ps->p->until), &r->due))
		return true;
	r->is = true;
	r->node = node;
	return false;
}

void promise_started(struct promises *ps, uint32_t req)
{
	ahead_add(ps->ahead, req);
}

void promise_leave(struct promises *ps, uint32_t task, bool leaves)
{
	ahead_leave(ps->ahead, task, leaves);
}

uint64_t promise_blocker(struct promises *ps, uint32_t node, int64_t what)
{
	return ahead_blocker(ps->ahead, node, what);
}

/* --- the earliest time ------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* The last first; the one with most room first. */
static int by_node(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->at < y->at) - (x->at > y->at);
}

static int by_room(const void *a, const void *b)
{
	const struct room *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Whether an exact number of nodes, those with most room, has enough. */
static bool best_have_room(const struct seek *sk)
{
	int64_t nodes = sk->nodes, sum = 0;

	for (int64_t n = sk->ask.most; n > 0 && nodes; n--) {
		int64_t k = sk->with[n] < nodes ? sk->with[n] : nodes;

		sum += k * n;
		nodes -= k;
	}
	return !nodes && sum >= sk->tasks;
}

/* The first time at which the nodes that were looked at have room, or
 * SNAP_NEVER. */
static int64_t first_time(struct seek *sk)
{
	int64_t sum = 0;

	if (!sk->nsteps)
		return SNAP_NEVER;
	ahead_spend(sk->ps->ahead, 8 * sk->nsteps);
	qsort(sk->step, sk->nsteps, sizeof(*sk->step), by_time);
	if (sk->nodes)
		memset(sk->with, 0,
		       ((size_t)sk->ask.most + 1) * sizeof(*sk->with));
	for (size_t i = 0; i < sk->nsteps; i++) {
		const struct step *it = &sk->step[i];

		sum += it->is - it->was;
		if (sk->nodes) {
			sk->with[it->was]--;
			sk->with[it->is]++;
		}
		if (i + 1 < sk->nsteps && it[1].at == it->at)
			continue;
		if (sk->nodes ? best_have_room(sk) : sum >= sk->tasks)
			return it->at;
	}
	return SNAP_NEVER;
}

/* More nodes only make it earlier: forget what comes later than the ones
 * that are known need. */
static void tighten(struct seek *sk)
{
	int64_t at = first_time(sk);

	if (at == SNAP_NEVER)
		return;
	sk->bound = at;
	while (sk->nsteps && sk->step[sk->nsteps - 1].at > at)
		sk->nsteps--;
}

/* The same, if there may be room enough: with the first node for a single
 * task, and each time that there are twice as many steps. */
static void tighten_now_and_then(struct seek *sk)
{
	if (sk->room < sk->tasks || sk->nsteps < sk->next_tighten)
		return;
	tighten(sk);
	sk->next_tighten = sk->tasks > 1 ? 2 * sk->nsteps : 0;
}

static void make_room(struct seek *sk, size_t n)
{
	struct scratch *it = &sk->ps->step;

	if (sk->nsteps + n <= it->cap)
		return;
	tighten(sk);
	if (sk->nsteps + n > it->cap / 2)
		sk->step = reserve(sk->ps, it, sk->nsteps + n + it->cap / 2,
		                   sk->nsteps, sizeof(*sk->step));
}

static void add_step(struct seek *sk, int64_t at, uint32_t node, int64_t n,
                     int64_t *was)
{
	if (n == *was)
		return;
	sk->step[sk->nsteps++] =
	    (struct step){ at, node, (int32_t)*was, (int32_t)n };
	*was = n;
}

/* When it has ended if it starts then. */
static int64_t end_at(const struct seek *sk, int64_t at)
{
	return ends_by(sk->ps, sk->ask.req,
	               sk->length == SNAP_NEVER ? SNAP_NEVER : at + sk->length);
}

/* A node on which room is kept for others. */
struct kept {
	uint32_t node;
	struct course c;
	const int64_t *count; /* of tasks that fit, by point */
	bool odd;
	uint32_t more, less; /* the points at which there is, next */
};

/* How many fit there for all of its length. */
static int64_t room_for(struct seek *sk, const struct kept *k, int64_t from)
{
	int64_t until = end_at(sk, from), n = sk->ask.most;
	uint32_t first = course_at(&k->c, from), i;
	const struct due *due;

	for (i = first; i < k->c.n && n; i++) {
		if (until != SNAP_NEVER && k->c.at[i] >= until)
			break;
		n = k->count[i] < n ? k->count[i] : n;
	}
	ahead_spend(sk->ps->ahead, 8 + i - first);
	while (n > 0 && k->odd &&
	       !ahead_allows(sk->ps->ahead, k->node, &sk->ask, n, from, until,
	                     &due))
		n -= 1 + n / 8;
	return n;
}

/* The next time at which another number of tasks may be the most that fit for
 * all of its length: there is more room, or it is soon that there is less. */
static bool next_change(const struct seek *sk, struct kept *k, int64_t *ret)
{
	const struct course *c = &k->c;
	int64_t before = INT64_MAX;

	while (k->more < c->n && k->more &&
	       k->count[k->more] <= k->count[k->more - 1])
		k->more++;
	while (k->less < c->n && k->count[k->less] >= k->count[k->less - 1])
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

static void look_at_kept(struct seek *sk, uint32_t node, struct course c)
{
	struct kept k = { .node = node, .c = c, .less = 1 };
	uint32_t last = course_at(&c, sk->bound), i = 0;
	int64_t was = 0, at;

	while (i <= last && !ask_count(&sk->ask, &c.point[i]))
		i++;
	if (i > last)
		return;
	k.odd = ahead_is_odd(sk->ps->ahead, node, &sk->ask);
	k.count = ahead_counts(sk->ps->ahead, node, &sk->ask);
	make_room(sk, 2 * (size_t)c.n);
	while (next_change(sk, &k, &at)) {
		if (at >= c.at[i])
			add_step(sk, at, node, room_for(sk, &k, at), &was);
	}
	sk->room += was;
}

/* Where nothing is kept, room only grows. */
static void look_at(struct seek *sk, uint32_t node)
{
	struct ahead *ahead = sk->ps->ahead;
	struct course c = ahead_course(ahead, node);
	const int64_t *count = NULL;
	int64_t was = 0;
	uint32_t last;

	if (sk->ps->p->watched[node]) {
		look_at_kept(sk, node, c);
		return;
	}
	last = course_at(&c, sk->bound);
	if (!ask_count(&sk->ask, &c.point[last]))
		return;
	make_room(sk, last + 1);
	if (sk->ask.odd)
		count = ahead_counts(ahead, node, &sk->ask);
	for (uint32_t i = 0; i <= last; i++)
		add_step(sk, c.at[i], node,
		         count ? count[i] : ask_count(&sk->ask, &c.point[i]),
		         &was);
	sk->room += was;
}

static bool is_patient(const struct seek *sk)
{
	return ahead_patience(sk->ps->ahead) > 0;
}

static void look_begin(struct seek *sk)
{
	sk->nsteps = sk->next_tighten = 0;
	sk->room = 0;
}

/* What was found is the best so far: an earlier start is sought. */
static void look_end(struct seek *sk)
{
	int64_t at = first_time(sk);

	if (at == SNAP_NEVER)
		return;
	while (sk->nsteps && sk->step[sk->nsteps - 1].at > at)
		sk->nsteps--;
	sk->bound = at - 1;
	sk->nbest = sk->nsteps;
	sk->best = RESERVE(sk->ps, best, struct step, sk->nsteps);
	memcpy(sk->best, sk->step, sk->nsteps * sizeof(*sk->step));
}

/* Whether the request may ever run on a node of a pool that is ready. */
static bool may_be_used(const struct seek *sk, uint32_t node)
{
	const struct promises *ps = sk->ps;
	const struct allowed *a = match_req(ps->p->match, sk->ask.req);

	return ps->usable[match_class_of(ps->p->match, node)] &&
	       ps->s->node.state[node] == NODE_UP && allowed_node(a, node);
}

/* On all nodes of a pool together, those first that could have room first. */
static void look_in_pool(struct seek *sk)
{
	struct soon *soon = ahead_soon(sk->ps->ahead);
	uint32_t node;

	look_begin(sk);
	for (uint32_t i = 0;
	     is_patient(sk) && soon_get(soon, sk->soon, i, sk->bound, &node);
	     i++) {
		if (node == SNAP_NONE || !may_be_used(sk, node))
			continue;
		look_at(sk, node);
		tighten_now_and_then(sk);
	}
	look_end(sk);
}

/* In one of the domains of the level that it needs. */
static void look_in_domains(struct seek *sk, uint8_t level)
{
	struct promises *ps = sk->ps;
	const struct domains *d = ps->p->domains;
	struct soon *soon = ahead_soon(ps->ahead);

	for (uint32_t i = d->at_first[level]; i < d->at_first[level + 1]; i++) {
		look_begin(sk);
		for (uint32_t k = d->first[d->at[i]];
		     k < d->end[d->at[i]] && is_patient(sk); k++) {
			uint32_t node = d->node[k];

			if (soon_could(soon, sk->soon, node, sk->bound) &&
			    may_be_used(sk, node))
				look_at(sk, node);
		}
		look_end(sk);
	}
}

/* Of what a task needs the most as a part of all that there is. */
static enum resource scarcest(const struct promises *ps, const int64_t *need)
{
	enum resource most = RES_CPU;

	for (int r = 0; r < RES_N; r++) {
		if ((__int128)need[r] * ps->capacity[most] >
		    (__int128)need[most] * ps->capacity[r])
			most = r;
	}
	return most;
}

/* In one pool after the other: a later one has to have it earlier. */
static void look_everywhere(struct seek *sk)
{
	struct promises *ps = sk->ps;
	const struct snap *s = ps->s;
	const struct match *m = ps->p->match;
	uint32_t req = sk->ask.req;
	const struct allowed *a = match_req(ps->p->match, req);
	const int64_t need[RES_N] = { s->req.cpus[req], s->req.mem[req],
		                      s->req.gpus[req] };
	enum resource res = scarcest(ps, need);
	uint8_t level = s->req.need[req];
	bool is_new;

	sk->soon = soon_for(ahead_soon(ps->ahead), res, need[res], &is_new);
	if (is_new)
		ahead_spend(ps->ahead, s->node.n);
	for (uint32_t c = 0, from = 0; c < a->nclasses; from = c) {
		uint32_t pool = match_class(m, a->class[c])->pool;

		for (; c < a->nclasses &&
		       match_class(m, a->class[c])->pool == pool;
		     c++)
			ps->usable[a->class[c]] = s->pool.ready[pool];
		if (level == LEVEL_NONE)
			look_in_pool(sk);
		else
			look_in_domains(sk, level);
		for (; from < c; from++)
			ps->usable[a->class[from]] = 0;
	}
}

/* --- the promise ------------------------------------------------------- */

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The room that it gets, the most together; returns on how many nodes. */
static uint32_t choose(struct seek *sk, struct room **ret)
{
	struct room *room = RESERVE(sk->ps, room, struct room, sk->nbest);
	int64_t left = sk->tasks, even;
	uint32_t n = 0, used = 0;

	qsort(sk->best, sk->nbest, sizeof(*sk->best), by_node);
	for (size_t i = 0; i < sk->nbest; i++) {
		if ((!i || sk->best[i].node != sk->best[i - 1].node) &&
		    sk->best[i].is)
			room[n++] =
			    (struct room){ sk->best[i].node, sk->best[i].is };
	}
	qsort(room, n, sizeof(*room), by_room);
	even = sk->nodes ? (left + sk->nodes - 1) / sk->nodes : 0;
	for (; left; used++) {
		int64_t rest = sk->nodes ? sk->nodes - used - 1 : 0;

		assert(used < n && left > rest);
		if (sk->nodes && room[sk->nodes - 1].n >= even)
			room[used].n = (left + rest) / (rest + 1);
		else
			room[used].n = least(room[used].n, left - rest);
		left -= room[used].n;
	}
	*ret = room;
	return used;
}

static int64_t promise_room(struct seek *sk, int64_t at, bool keep,
                            uint64_t *ret_blocker)
{
	struct promises *ps = sk->ps;
	struct room *room;
	uint32_t n = choose(sk, &room);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t job = ahead_ends(ps->ahead, room[i].node, at);

		if (job && (!*ret_blocker || job < *ret_blocker))
			*ret_blocker = job;
	}
	/* What would fit now but does not start is not understood here. */
	if (at == ps->s->now && !*ret_blocker)
		return SNAP_NEVER;
	for (uint32_t i = 0; keep && i < n; i++)
		ahead_keep(ps->ahead, room[i].node,
		           &(struct due){ .start = at,
		                          .end = end_at(sk, at),
		                          .job = ps->p->job,
		                          .resv = SNAP_NONE,
		                          .req = sk->ask.req,
		                          .n = (uint32_t)room[i].n,
		                          .resumes = SNAP_NONE });
	return at;
}

static int64_t seek_start(struct seek *sk, bool keep, uint64_t *ret_blocker)
{
	const struct snap *s = sk->ps->s;
	uint32_t req = sk->ask.req, per_node = s->req.tasks_per_node[req];

	sk->tasks = s->req.min_tasks[req];
	sk->nodes = s->req.nodes[req];
	sk->ask = ahead_ask(sk->ps->ahead, req, sk->tasks);
	if (per_node && per_node < sk->tasks)
		sk->ask.most = per_node;
	sk->with = RESERVE(sk->ps, with, int64_t, (size_t)sk->ask.most + 1);
	look_everywhere(sk);
	if (!sk->nbest || ahead_patience(sk->ps->ahead) <= 0)
		return SNAP_NEVER;
	return promise_room(sk, sk->best[sk->nbest - 1].at, keep, ret_blocker);
}

/* --- a job that goes on where it was ----------------------------------- */

/* Whether its CPUs are free on a node for all of its length. */
static bool goes_on(struct seek *sk, uint32_t node, int64_t n, int64_t from)
{
	struct course c = ahead_course(sk->ps->ahead, node);
	int64_t until = end_at(sk, from);

	for (uint32_t i = course_at(&c, from); i < c.n; i++) {
		const struct point *pt = &c.point[i];

		if (until != SNAP_NEVER && c.at[i] >= until)
			break;
		if (pt->have[AHEAD_CPU] < n * sk->ask.need[AHEAD_CPU] ||
		    pt->have[AHEAD_IDLE] < n * sk->ask.need[AHEAD_IDLE] ||
		    pt->whose != sk->ask.whose ||
		    (sk->ask.exclusive && pt->ntasks != n))
			return false;
	}
	return true;
}

/* Its tasks on each node. */
static uint32_t count_tasks(const struct seek *sk, uint32_t run,
                            struct room **ret)
{
	const struct snap *s = sk->ps->s;
	uint32_t ntasks = run_ntasks(s, run), n = 0;

	*ret = RESERVE(sk->ps, room, struct room, ntasks);
	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		uint32_t i = 0;

		while (i < n && (*ret)[i].node != s->task[t].node)
			i++;
		n += i == n;
		(*ret)[i].node = s->task[t].node;
		(*ret)[i].n++;
	}
	return n;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t seek_resume(struct seek *sk, uint32_t run, bool keep,
                           uint64_t *ret_blocker)
{
	struct promises *ps = sk->ps;
	const struct snap *s = ps->s;
	struct arena_list times = { 0 };
	struct room *room;
	uint32_t nnodes = count_tasks(sk, run, &room);
	int64_t at = SNAP_NEVER;

	sk->ask = ahead_ask(ps->ahead, sk->ask.req, 1);
	ask_go_on(&sk->ask);
	for (uint32_t i = 0; i < nnodes; i++) {
		struct course c = ahead_course(ps->ahead, room[i].node);

		for (uint32_t k = 0; k < c.n; k++)
			*(int64_t *)arena_push(ps->p->arena, &times,
			                       sizeof(int64_t)) = c.at[k];
	}
	if (times.n)
		qsort(times.p, times.n, sizeof(int64_t), by_value);
	for (size_t t = 0;
	     t < times.n && at == SNAP_NEVER && ahead_patience(ps->ahead) > 0;
	     t++) {
		uint32_t i = 0;

		at = ((int64_t *)times.p)[t];
		while (i < nnodes && goes_on(sk, room[i].node, room[i].n, at))
			i++;
		at = i == nnodes ? at : SNAP_NEVER;
	}
	for (uint32_t i = 0; at != SNAP_NEVER && i < nnodes; i++) {
		uint64_t job = ahead_ends(ps->ahead, room[i].node, at);

		if (job && (!*ret_blocker || job < *ret_blocker))
			*ret_blocker = job;
	}
	if (at == s->now && !*ret_blocker)
		return SNAP_NEVER;
	for (uint32_t t = s->run.task_first[run];
	     keep && at != SNAP_NEVER && t < s->run.task_first[run + 1]; t++)
		ahead_keep(ps->ahead, s->task[t].node,
		           &(struct due){ .start = at,
		                          .end = end_at(sk, at),
		                          .job = ps->p->job,
		                          .resv = SNAP_NONE,
		                          .req = sk->ask.req,
		                          .n = 1,
		                          .resumes = t });
	return at;
}

/* --- for the pass ------------------------------------------------------ */

static int64_t seek(struct promises *ps, uint32_t row, bool keep,
                    uint64_t *ret_blocker)
{
	const struct snap *s = ps->s;
	uint32_t run = s->pend.resumes[row];
	struct seek sk = { .ps = ps,
		           .ask = { .req = s->pend.req[row] },
		           .bound = INT64_MAX,
		           .step = ps->step.p,
		           .length = ps->p->until == SNAP_NEVER
		                         ? SNAP_NEVER
		                         : ps->p->until - s->now };

	*ret_blocker = 0;
	if (!ahead_changes(ps->ahead) || ahead_patience(ps->ahead) <= 0)
		return SNAP_NEVER;
	if (run != SNAP_NONE)
		return seek_resume(&sk, run, keep, ret_blocker);
	return seek_start(&sk, keep, ret_blocker);
}

int64_t promise_make(struct promises *ps, uint32_t row, uint64_t *ret_blocker)
{
	const struct snap *s = ps->s;
	int64_t at;

	*ret_blocker = 0;
	if (ps->nmade == s->policy.backfill_depth)
		return SNAP_NEVER;
	at = seek(ps, row, true, ret_blocker);
	ps->nmade += at != SNAP_NEVER;
	return at;
}

int64_t promise_expect(struct promises *ps, uint32_t row, uint64_t *ret_blocker)
{
	int64_t left = ahead_set_patience(ps->ahead, PATIENCE_ASKED);
	int64_t at = seek(ps, row, false, ret_blocker);

	ahead_set_patience(ps->ahead, left);
	return at;
}

/* Try the row as if nothing were promised. */
static bool try_anyway(struct promises *ps, uint32_t row)
{
	struct place *p = ps->p;
	uint32_t req = ps->s->pend.req[row], run = ps->s->pend.resumes[row];
	bool fits;

	p->heedless = true;
	fits = run != SNAP_NONE ? place_try_resume(p, run, NULL)
	                        : place_try(p, req, ps->s->req.min_tasks[req],
	                                    IN_OPEN, NULL);
	p->heedless = false;
	return fits;
}

/* The first node of the trial that is refused. */
static void find_refusal(struct promises *ps, uint32_t req)
{
	const struct place *p = ps->p;

	for (size_t i = p->first_task; i < p->ntasks; i++) {
		uint32_t node = p->task[i].node;
		int64_t n = 0;

		for (size_t k = p->first_task; k < p->ntasks; k++)
			n += p->task[k].node == node;
		if (!promise_allows(ps, req, node, n))
			return;
	}
}

bool promise_in_the_way(struct promises *ps, uint32_t row, struct verdict *v)
{
	const struct snap *s = ps->s;
	struct refusal *r = &ps->refusal;

	if (!r->is || !try_anyway(ps, row))
		return false;
	find_refusal(ps, s->pend.req[row]);
	place_undo(ps->p);
	v->why = WHY_Priority;
	v->name = r->node;
	v->job = 0;
	v->num[NUM_WHAT] = WAY_IS_CLOSED;
	v->num[NUM_NEED] = s->req.reservation[s->pend.req[row]];
	if (r->bar) {
		v->num[NUM_WHAT] = WAY_IS_BARRED;
		v->job = r->bar;
	} else if (r->due && r->due->resv != SNAP_NONE) {
		v->num[NUM_WHAT] = WAY_IS_RESERVED;
		v->num[NUM_NEED] = r->due->resv;
		v->num[NUM_HAVE] = ps->p->until;
	} else if (r->due) {
		v->num[NUM_WHAT] = WAY_IS_PROMISED;
		v->num[NUM_NEED] = r->due->start;
		v->job = r->due->job;
	}
	return true;
}
