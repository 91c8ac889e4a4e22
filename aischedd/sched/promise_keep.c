/* promise_keep.c - keep nodes for a job that is promised a start */
#include "aischedd/sched/promise_keep.h"

#include "aischedd/sched/future/walk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Order by node, with the last step of each node first. */
static int by_node(const void *a, const void *b)
{
	const struct promise_step *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->at < y->at) - (x->at > y->at);
}

static int by_room(const void *a, const void *b)
{
	const struct promise_room *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* List the nodes that have room at the start time that was found. Returns how
 * many there are. */
static uint32_t list_room(struct promise_seek *sk, struct promise_room **ret)
{
	struct promise_room *room =
	    RESERVE(sk->sr, room, struct promise_room, sk->nbest);
	uint32_t n = 0;

	qsort(sk->best, sk->nbest, sizeof(*sk->best), by_node);
	for (size_t i = 0; i < sk->nbest; i++) {
		if ((!i || sk->best[i].node != sk->best[i - 1].node) &&
		    sk->best[i].is)
			room[n++] =
			    (struct promise_room){ .node = sk->best[i].node,
				                   .n = sk->best[i].is };
	}
	*ret = room;
	return n;
}

/* If the nodes of the last promise still have room, reduce the list to them and
 * return their number; otherwise return 0. */
static uint32_t choose_last(const struct promise_seek *sk,
                            struct promise_room *room, uint32_t n)
{
	const uint32_t *node = sk->sr->s->promise_node + sk->last->node_first;
	int64_t found = 0;
	uint32_t used = 0;

	for (uint32_t i = 0; i < n; i++) {
		int64_t tasks = 0;

		for (uint32_t k = 0; k < sk->last->n; k++)
			tasks += node[k] == room[i].node;
		found += least(tasks, room[i].n);
	}
	if (found < sk->tasks)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		int64_t tasks = 0;

		for (uint32_t k = 0; k < sk->last->n; k++)
			tasks += node[k] == room[i].node;
		if (tasks)
			room[used++] =
			    (struct promise_room){ .node = room[i].node,
				                   .n = tasks };
	}
	return used;
}

/* Order: nodes that must be asked for come last; among equals, nodes with more
 * room come first. */
static int by_cost(const void *a, const void *b)
{
	const struct promise_room *x = a, *y = b;

	return x->extra != y->extra ? x->extra - y->extra : by_room(a, b);
}

/* Among the nodes that would have to be asked for, keep only as many as the job
 * needs. Returns how many nodes stay in the list. */
static uint32_t drop_extra(struct promise_seek *sk, struct promise_room *room,
                           uint32_t n)
{
	const struct snap *s = sk->sr->s;
	bool any = false, enough = false;
	int64_t sum = 0;
	uint32_t used = 0;

	for (uint32_t i = 0; i < n; i++) {
		/* A watched node is asked for anyway, for the job to which it
		 * is promised. */
		room[i].extra = s->node.coming[room[i].node] == NODE_OFF &&
		                !sk->sr->p->watched[room[i].node];
		any |= room[i].extra;
	}
	if (!any)
		return n;
	qsort(room, n, sizeof(*room), by_cost);
	memset(sk->with, 0, ((size_t)sk->ask.most + 1) * sizeof(*sk->with));
	while (used < n && (!enough || !room[used].extra)) {
		sum += room[used].n;
		sk->with[room[used++].n]++;
		enough =
		    sk->nodes ? promise_start_suffices(sk) : sum >= sk->tasks;
	}
	return used;
}

/* Choose nodes from the list, those with the most room first, and the number of
 * tasks for each. If the number of nodes is exact, divide the tasks evenly if
 * possible. Returns how many nodes are used. */
static uint32_t choose(struct promise_seek *sk, struct promise_room *room,
                       uint32_t n)
{
	int64_t left = sk->tasks, even;
	uint32_t used = 0;

	n = drop_extra(sk, room, n);
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
	return used;
}

/* Order by domain, and in each domain the node with the most room first. */
static int by_domain(const void *a, const void *b)
{
	const struct promise_room *x = a, *y = b;

	if (x->domain != y->domain)
		return x->domain < y->domain ? -1 : 1;
	return by_room(a, b);
}

/* Returns how many tasks of whole segments, at most `left`, fit on the nodes of
 * the first domain in the list. Sets *ret_n to the number of these nodes. */
static int64_t in_first_domain(const struct promise_seek *sk,
                               const struct promise_room *room, uint32_t n,
                               int64_t left, uint32_t *ret_n)
{
	int64_t sum = 0;
	uint32_t i = 0;

	for (; i < n && room[i].domain == room->domain; i++)
		sum += room[i].n;
	*ret_n = i;
	return least(snap_segments(sk->sr->s, sk->ask.req, sum), left);
}

/* Find the domain with the least room of those that can hold all `left` tasks,
 * or if there is none, the domain with the most room. Returns the index in the
 * list at which its nodes begin. */
static uint32_t best_domain(const struct promise_seek *sk,
                            const struct promise_room *room, uint32_t n,
                            int64_t left)
{
	int64_t best_n = 0;
	uint32_t best = n, nodes;

	for (uint32_t i = 0; i < n; i += nodes) {
		int64_t has =
		    in_first_domain(sk, room + i, n - i, INT64_MAX, &nodes);
		bool better =
		    has >= left ? best_n < left || has < best_n : has > best_n;

		if (!better)
			continue;
		best = i;
		best_n = has;
	}
	return best;
}

/* Choose domains for all segments, and nodes in these; nodes of one domain
 * follow each other in the list. Returns how many nodes are used. */
static uint32_t choose_segments(struct promise_seek *sk,
                                struct promise_room **room, uint32_t n)
{
	const struct snap *s = sk->sr->s;
	int64_t part = snap_segment_part(s, sk->ask.req), left = sk->tasks;
	struct promise_room *from = *room;
	struct promise_room *to =
	    arena_array(sk->sr->p->arena, struct promise_room, n);
	uint32_t used = 0, nodes;

	for (uint32_t i = 0; i < n; i++) {
		from[i].domain =
		    domain_of(s, from[i].node, s->req.need[sk->ask.req]);
		from[i].n -= from[i].n % part;
	}
	qsort(from, n, sizeof(*from), by_domain);
	while (left) {
		uint32_t i = best_domain(sk, from, n, left);
		int64_t here =
		    in_first_domain(sk, from + i, n - i, left, &nodes);

		assert(here);
		left -= here;
		for (uint32_t k = i; k < i + nodes; k++) {
			int64_t tasks = least(from[k].n, here);

			if (tasks)
				to[used++] =
				    (struct promise_room){ .node = from[k].node,
					                   .n = tasks };
			here -= tasks;
			from[k].n = 0;
		}
	}
	*room = to;
	return used;
}

/* Give each domain its share of a spread job, on the nodes that have the most
 * room there. Returns how many nodes are used. */
static uint32_t choose_spread(struct promise_seek *sk,
                              struct promise_room *room, uint32_t n)
{
	struct spread *sp = sk->spread;
	uint32_t used = 0;

	spread_make(sp, sk->ask.req, sk->best_pool, false);
	for (uint32_t i = 0; i < n; i++) {
		room[i].domain = spread_number(sp, room[i].node);
		sp->room[room[i].domain] += room[i].n / sp->part;
	}
	spread_share(sp);
	qsort(room, n, sizeof(*room), by_domain);
	for (uint32_t i = 0; i < n; i++) {
		int64_t *give = &sp->give[room[i].domain];
		int64_t here = least(*give, room[i].n / sp->part);

		*give -= here;
		room[used] = room[i];
		room[used].n = here * sp->part;
		used += here > 0;
	}
	return used;
}

/* Whether the last promise divides a spread job among the domains as it would
 * be divided now. */
static bool is_last_even(const struct promise_seek *sk)
{
	const struct snap *s = sk->sr->s;
	const uint32_t *node = s->promise_node + sk->last->node_first;

	if (!sk->spread)
		return true;
	spread_make(sk->spread, sk->ask.req, s->node.pool[*node], false);
	return spread_suits(sk->spread, node, sk->last->n);
}

/* Make a list of the nodes of the last promise in its order, in which the nodes
 * of a segment or domain follow each other. Returns how many there are, or 0 if
 * one of them has too little room now. */
static uint32_t choose_last_segments(const struct promise_seek *sk,
                                     struct promise_room **room, uint32_t n)
{
	const uint32_t *node = sk->sr->s->promise_node + sk->last->node_first;
	struct promise_room *to =
	    arena_array(sk->sr->p->arena, struct promise_room, sk->last->n);
	uint32_t used = 0, same;

	for (uint32_t i = 0; i < sk->last->n; i += same) {
		uint32_t k = 0;

		same = place_same(node + i, sk->last->n - i);
		while (k < n && (*room)[k].node != node[i])
			k++;
		if (k == n || (*room)[k].n < same)
			return 0;
		to[used++] =
		    (struct promise_room){ .node = node[i], .n = same };
	}
	*room = to;
	return used;
}

/* Add the promise to the list for the plan. */
static void note_made(struct promise_seek *sk, int64_t at,
                      const struct promise_room *room, uint32_t n)
{
	struct promise_seeker *sr = sk->sr;
	struct snap_promise *it =
	    arena_push(sr->p->arena, &sr->made, sizeof(*it));

	*it = (struct snap_promise){ .job = sr->p->job,
		                     .start = at,
		                     .node_first = (uint32_t)sr->made_node.n,
		                     .n = (uint32_t)sk->tasks };
	for (uint32_t i = 0; i < n; i++)
		for (int64_t k = 0; k < room[i].n; k++)
			*(uint32_t *)arena_push(sr->p->arena, &sr->made_node,
			                        sizeof(uint32_t)) =
			    room[i].node;
}

/* Returns what is kept on a node for a job that starts at this time. */
static struct future_due due_of(const struct promise_seek *sk, int64_t at,
                                const struct promise_room *room)
{
	return (struct future_due){ .start = at,
		                    .end = promise_start_end_at(sk, at),
		                    .job = sk->sr->p->job,
		                    .resv = SNAP_NONE,
		                    .req = sk->ask.req,
		                    .n = (uint32_t)room->n,
		                    .resumes = SNAP_NONE };
}

/* Keep these nodes, and what the job takes of limits and licences, from `at` on
 * for as long as it runs, and add the promise to the list. */
static void keep_at(struct promise_seek *sk, int64_t at,
                    const struct promise_room *room, uint32_t n)
{
	struct promise_seeker *sr = sk->sr;

	for (uint32_t i = 0; i < n; i++) {
		struct future_due due = due_of(sk, at, &room[i]);

		future_keep(sr->future, room[i].node, &due);
	}
	limit_future_keep(sr->limits, &sk->demand, at,
	                  promise_start_end_at(sk, at), sr->p->job);
	note_made(sk, at, room, n);
}

static int64_t keep_room(struct promise_seek *sk, int64_t at,
                         uint64_t *ret_blocker)
{
	struct promise_seeker *sr = sk->sr;
	struct promise_room *room;
	uint32_t nroom = list_room(sk, &room), n = 0;

	if (sk->last && sk->last->n == sk->tasks && sk->last->start >= at &&
	    is_last_even(sk))
		n = sk->segment || sk->spread
		        ? choose_last_segments(sk, &room, nroom)
		        : choose_last(sk, room, nroom);
	if (!n)
		n = sk->segment  ? choose_segments(sk, &room, nroom)
		    : sk->spread ? choose_spread(sk, room, nroom)
		                 : choose(sk, room, nroom);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t job = future_walk_ends(sr->future, room[i].node, at);

		if (job && (!*ret_blocker || job < *ret_blocker))
			*ret_blocker = job;
	}
	if (!*ret_blocker)
		*ret_blocker =
		    limit_future_blocker(sr->limits, &sk->demand, at);
	/* The job would fit now but was not started, for a reason that is not
	 * known here: make no promise. */
	if (at == sr->s->now && !*ret_blocker)
		return SNAP_NEVER;
	keep_at(sk, at, room, n);
	return at;
}

/* seek_time() gives up after this many rounds. It needs another round if a
 * limit leaves too little at the time at which nodes have room. */
enum { ROUNDS = 16 };

/* Returns the first time from sk->from on at which the job would be within its
 * limits, and have its licences, for as long as it runs. */
static int64_t within_limits_from(struct promise_seek *sk)
{
	size_t looks = 0;
	int64_t at = limit_future_start(sk->sr->limits, &sk->demand, sk->from,
	                                sk->length, &looks);

	future_spend(sk->sr->future, looks);
	return at;
}

/* Whether the job would end before it starts: without a time limit it ends with
 * its reservation. */
static bool is_too_late(const struct promise_seek *sk, int64_t at)
{
	int64_t end = promise_start_end_at(sk, at);

	return end != SNAP_NEVER && end <= at;
}

/* Find the first time at which nodes have room and the job is within
 * its limits. */
static int64_t seek_time(struct promise_seek *sk)
{
	sk->from = within_limits_from(sk);
	for (int i = 0; i < ROUNDS && sk->from != SNAP_NEVER; i++) {
		int64_t at;

		sk->bound = INT64_MAX;
		sk->nbest = 0;
		promise_start_search(sk);
		if (!sk->nbest || future_patience(sk->sr->future) <= 0)
			return SNAP_NEVER;
		at = sk->from = sk->best[sk->nbest - 1].at;
		if (is_too_late(sk, at))
			return SNAP_NEVER;
		sk->from = within_limits_from(sk);
		if (sk->from == at)
			return at;
	}
	return SNAP_NEVER;
}

static int64_t seek_room(struct promise_seek *sk, uint64_t *ret_blocker)
{
	const struct snap *s = sk->sr->s;
	uint32_t req = sk->ask.req, per_node = s->req.tasks_per_node[req];
	int64_t at;

	sk->tasks = s->req.min_tasks[req];
	sk->nodes = s->req.nodes[req];
	sk->ask = future_ask_of(sk->sr->future, req, sk->tasks);
	if (per_node && per_node < sk->tasks)
		sk->ask.most = per_node;
	sk->with = RESERVE(sk->sr, with, int64_t, (size_t)sk->ask.most + 1);
	if (s->req.segment[req]) {
		sk->segment = s->req.segment[req] / snap_segment_part(s, req);
		sk->parts = RESERVE(sk->sr, parts, int64_t, s->domain.n);
	}
	if (s->req.spread[req] != LEVEL_NONE)
		sk->spread = sk->sr->p->spread;
	at = seek_time(sk);
	return at == SNAP_NEVER ? SNAP_NEVER : keep_room(sk, at, ret_blocker);
}

/* --- the start of a job that resumes on its nodes ---------------------- */

/* Whether the CPUs for n tasks are free on a node from this time on, for as
 * long as the job runs. */
static bool goes_on(struct promise_seek *sk, uint32_t node, int64_t n,
                    int64_t from)
{
	struct future_course c = future_course_of(sk->sr->future, node);
	int64_t until = promise_start_end_at(sk, from);

	for (uint32_t i = future_course_at(&c, from); i < c.n; i++) {
		const struct future_point *pt = &c.point[i];

		if (until != SNAP_NEVER && c.at[i] >= until)
			break;
		if (pt->have[FUTURE_CPU] < n * sk->ask.need[FUTURE_CPU] ||
		    pt->have[FUTURE_IDLE] < n * sk->ask.need[FUTURE_IDLE] ||
		    pt->whose != sk->ask.whose ||
		    (sk->ask.exclusive && pt->ntasks != n))
			return false;
	}
	return true;
}

/* Count the tasks of a run on each of its nodes. Returns how many nodes
 * these are. */
static uint32_t count_tasks(const struct promise_seek *sk, uint32_t run,
                            struct promise_room **ret)
{
	const struct snap *s = sk->sr->s;
	uint32_t ntasks = snap_run_ntasks(s, run), n = 0;

	*ret = RESERVE(sk->sr, room, struct promise_room, ntasks);
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

static int64_t seek_resume(struct promise_seek *sk, uint32_t run,
                           uint64_t *ret_blocker)
{
	struct promise_seeker *sr = sk->sr;
	const struct snap *s = sr->s;
	struct arena_list times = { 0 };
	struct promise_room *room;
	uint32_t nnodes = count_tasks(sk, run, &room);
	int64_t at = SNAP_NEVER;

	sk->ask = future_ask_of(sr->future, sk->ask.req, 1);
	future_ask_go_on(&sk->ask);
	for (uint32_t i = 0; i < nnodes; i++) {
		struct future_course c =
		    future_course_of(sr->future, room[i].node);

		for (uint32_t k = 0; k < c.n; k++)
			*(int64_t *)arena_push(sr->p->arena, &times,
			                       sizeof(int64_t)) = c.at[k];
	}
	if (times.n)
		qsort(times.p, times.n, sizeof(int64_t), by_value);
	for (size_t t = 0;
	     t < times.n && at == SNAP_NEVER && future_patience(sr->future) > 0;
	     t++) {
		uint32_t i = 0;

		at = ((int64_t *)times.p)[t];
		while (i < nnodes && goes_on(sk, room[i].node, room[i].n, at))
			i++;
		sk->from = at;
		if (i < nnodes || is_too_late(sk, at) ||
		    within_limits_from(sk) != at)
			at = SNAP_NEVER;
	}
	for (uint32_t i = 0; at != SNAP_NEVER && i < nnodes; i++) {
		uint64_t job = future_walk_ends(sr->future, room[i].node, at);

		if (job && (!*ret_blocker || job < *ret_blocker))
			*ret_blocker = job;
	}
	if (at != SNAP_NEVER && !*ret_blocker)
		*ret_blocker =
		    limit_future_blocker(sr->limits, &sk->demand, at);
	if (at == s->now && !*ret_blocker)
		return SNAP_NEVER;
	if (at != SNAP_NEVER)
		limit_future_keep(sr->limits, &sk->demand, at,
		                  promise_start_end_at(sk, at), sr->p->job);
	for (uint32_t t = s->run.task_first[run];
	     at != SNAP_NEVER && t < s->run.task_first[run + 1]; t++)
		future_keep(
		    sr->future, s->task[t].node,
		    &(struct future_due){ .start = at,
		                          .end = promise_start_end_at(sk, at),
		                          .job = sr->p->job,
		                          .resv = SNAP_NONE,
		                          .req = sk->ask.req,
		                          .n = 1,
		                          .resumes = t });
	return at;
}

/* Begin the search for a start of the row's next job. */
static struct promise_seek seek_of(struct promise_seeker *sr, uint32_t row,
                                   int64_t from)
{
	const struct snap *s = sr->s;
	struct promise_seek sk = { .sr = sr,
		                   .ask = { .req = s->pend.req[row] },
		                   .from = from,
		                   .step = sr->step.p,
		                   .length = sr->p->until == SNAP_NEVER
		                                 ? SNAP_NEVER
		                                 : sr->p->until - s->now };

	sk.demand = admit_demand_start(s, row, s->req.min_tasks[sk.ask.req]);
	return sk;
}

int64_t promise_keep_start(struct promise_seeker *sr, uint32_t row,
                           int64_t from, const struct snap_promise *last,
                           uint64_t *ret_blocker)
{
	uint32_t run = sr->s->pend.resumes[row];
	struct promise_seek sk = seek_of(sr, row, from);

	sk.last = last;
	*ret_blocker = 0;
	if (!future_changes(sr->future) || future_patience(sr->future) <= 0)
		return SNAP_NEVER;
	if (run != SNAP_NONE)
		return seek_resume(&sk, run, ret_blocker);
	return seek_room(&sk, ret_blocker);
}

int64_t promise_keep_after(struct promise_seeker *sr, uint32_t row,
                           size_t *looks)
{
	struct promise_seek sk = seek_of(sr, row, sr->s->now);

	return limit_future_start(sr->limits, &sk.demand, sk.from, sk.length,
	                          looks);
}

/* Count the tasks on each node of a list, in which the tasks of a node follow
 * each other. Returns how many nodes these are. */
static uint32_t count_nodes(const struct promise_seek *sk, const uint32_t *node,
                            uint32_t n, struct promise_room **ret)
{
	uint32_t nnodes = 0, same;

	*ret = RESERVE(sk->sr, room, struct promise_room, n);
	for (uint32_t i = 0; i < n; i += same) {
		same = place_same(node + i, n - i);
		(*ret)[nnodes++] =
		    (struct promise_room){ .node = node[i], .n = same };
	}
	return nnodes;
}

/* Begin the search for room for this many jobs, one after the other. */
static struct promise_seek seek_of_chain(struct promise_seeker *sr,
                                         uint32_t row, int64_t at,
                                         uint32_t times)
{
	struct promise_seek sk = seek_of(sr, row, at);

	if (sk.length != SNAP_NEVER)
		sk.length *= times;
	return sk;
}

bool promise_keep_there(struct promise_seeker *sr, uint32_t row, int64_t at,
                        uint32_t times, const uint32_t *node, uint32_t n)
{
	struct promise_seek sk = seek_of_chain(sr, row, at, times);
	struct promise_room *room;
	uint32_t nnodes = count_nodes(&sk, node, n, &room);

	sk.tasks = n;
	sk.ask = future_ask_of(sr->future, sk.ask.req, n);
	if (future_patience(sr->future) <= 0 || is_too_late(&sk, at) ||
	    within_limits_from(&sk) != at)
		return false;
	for (uint32_t i = 0; i < nnodes; i++) {
		if (promise_start_room(&sk, room[i].node, at) < room[i].n)
			return false;
	}
	keep_at(&sk, at, room, nnodes);
	return true;
}

void promise_keep_release(struct promise_seeker *sr, uint32_t row, int64_t at,
                          uint32_t times, const uint32_t *node, uint32_t n)
{
	struct promise_seek sk = seek_of_chain(sr, row, at, times);
	struct promise_room *room;
	uint32_t nnodes = count_nodes(&sk, node, n, &room);

	for (uint32_t i = 0; i < nnodes; i++) {
		struct future_due due = due_of(&sk, at, &room[i]);

		future_release(sr->future, room[i].node, &due);
	}
	limit_future_release(sr->limits, &sk.demand, at,
	                     promise_start_end_at(&sk, at), sr->p->job);
}
