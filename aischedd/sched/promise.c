/* promise.c - starts that are promised to jobs that cannot start now */
#include "aischedd/sched/promise.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/future/arrays.h"
#include "aischedd/sched/future/coming.h"
#include "aischedd/sched/future/unsure.h"
#include "aischedd/sched/future/walk.h"
#include "aischedd/sched/promise_keep.h"
#include "aischedd/sched/promise_start.h"
#include "aischedd/sched/verdict.h"

/* A job whose nodes no later job may use (promise_bar()). */
struct barred {
	uint32_t req;
	uint64_t job;
};

struct bar {
	uint64_t *class; /* by class: the job that bars its nodes, or 0 */
	/* struct barred: jobs that name nodes, and so bar only these */
	struct arena_list some;
};

/* Why the last trial could not use a node. */
struct promise_refusal {
	bool is;
	uint64_t bar; /* the job that bars the node by promise_bar(), or 0 */
	uint32_t node;
	const struct future_due *due;
};

struct promises {
	struct place *p;
	const struct snap *s;
	struct future *future;
	uint32_t nmade[2]; /* promises made; [1]: to jobs that wait for limits
	                      or licences */
	struct bar **bar;  /* by queue; the last is for all queues */
	struct future_ask ask; /* of the request being placed */
	struct promise_refusal refusal;
	struct promise_seeker *seeker;
	struct future_arrays *arrays; /* NULL: no array has a limit */
	struct future_unsure *unsure; /* NULL: all starts are known */
	size_t open_looks;            /* at limits, by promise_open() */
};

/* --- reservations and bars --------------------------------------------- */

static void keep_reservation(struct promises *ps, uint32_t resv)
{
	const struct snap *s = ps->s;

	for (uint32_t i = s->resv.node_first[resv];
	     i < s->resv.node_first[resv + 1]; i++)
		future_keep(ps->future, s->resv_node[i],
		            &(struct future_due){ .start = s->resv.start[resv],
		                                  .end = s->resv.end[resv],
		                                  .resv = resv });
}

struct promises *promise_new(struct place *place, const struct tally *tally)
{
	struct promises *ps = arena_array(place->arena, struct promises, 1);
	const struct snap *s = place->snap;

	ps->p = place;
	ps->s = s;
	ps->future = future_new(place, tally->ends || coming_any(s));
	ps->bar = arena_array(place->arena, struct bar *, s->queue.n + 1);
	ps->ask.req = SNAP_NONE;
	ps->seeker = promise_start_new(place, ps->future);
	if (s->array.n)
		ps->arrays = future_arrays_new(ps->seeker);
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
	v->resv = !invited                     ? RESV_OF_OTHERS
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
		    !match_class_too_small(match_class(ps->p->match, class),
		                           ps->s, req))
			bar->class[class] = job;
	}
	if (a->only) {
		struct barred *b =
		    arena_push(ps->p->arena, &bar->some, sizeof(*b));

		*b = (struct barred){ req, job };
	}
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

		if (match_could_use(ps->p->match, b->req, node))
			return b->job;
	}
	return 0;
}

bool promise_begin(struct promises *ps, uint32_t req)
{
	ps->refusal = (struct promise_refusal){ 0 };
	ps->ask = future_ask_of(ps->future, req, 0);
	if (ps->p->run != SNAP_NONE)
		future_ask_go_on(&ps->ask);
	return ps->s->req.reservation[req] != SNAP_NONE ||
	       ps->bar[ps->p->queue] || ps->bar[ps->s->queue.n];
}

bool promise_allows(struct promises *ps, uint32_t req, uint32_t node, int64_t n)
{
	struct promise_refusal *r = &ps->refusal;

	r->bar = barred_by(ps, ps->bar[ps->p->queue], node);
	if (!r->bar)
		r->bar = barred_by(ps, ps->bar[ps->s->queue.n], node);
	if (ps->ask.req != req)
		promise_begin(ps, req);
	if (!r->bar &&
	    future_allows(ps->future, node, &ps->ask, n, ps->s->now,
	                  promise_start_ends_by(ps->s, req, ps->p->until),
	                  &r->due))
		return true;
	r->is = true;
	r->node = node;
	return false;
}

void promise_started(struct promises *ps, uint32_t req)
{
	future_add(ps->future, req);
}

void promise_claimed(struct promises *ps, uint32_t req, size_t task)
{
	future_add_task(ps->future, req, task);
}

size_t promise_mark(const struct promises *ps)
{
	return future_added(ps->future);
}

void promise_back(struct promises *ps, size_t mark)
{
	future_drop(ps->future, mark);
}

bool promise_allows_trial(struct promises *ps, uint32_t req)
{
	const struct place *p = ps->p;
	size_t mark = promise_mark(ps);
	bool ret = true;

	for (size_t i = p->first_task; i < p->ntasks && ret; i++) {
		uint32_t node = p->task[i].node;
		const struct future_due *due;
		bool held;

		if (!p->watched[node])
			continue;
		held = promise_holds(ps, node);
		promise_claimed(ps, req, i);
		due = future_lacking(ps->future, node);
		ret = !held || !due;
		if (!ret)
			ps->refusal = (struct promise_refusal){ .is = true,
				                                .node = node,
				                                .due = due };
	}
	promise_back(ps, mark);
	return ret;
}

bool promise_holds(struct promises *ps, uint32_t node)
{
	return !future_lacking(ps->future, node);
}

bool promise_leaves_limits(struct promises *ps, const struct demand *d,
                           int64_t until, struct verdict *v)
{
	struct limit_lack lack;

	if (limit_future_allows(ps->seeker->limits, d,
	                        promise_start_ends_by(ps->s, d->req, until),
	                        &lack))
		return true;
	*v = (struct verdict){ .why = WHY_Priority,
		               .name = lack.name,
		               .job = lack.job,
		               .expected = SNAP_NEVER };
	v->keep.whom = KEPT_LIMIT;
	v->keep.license = lack.license;
	return false;
}

void promise_took(struct promises *ps, uint32_t row, const struct demand *d,
                  int64_t until)
{
	const struct snap *s = ps->s;
	uint32_t run = row == SNAP_NONE ? row : s->pend.resumes[row];
	struct demand back; /* what a job that resumes gives back: all that it
	                       holds */

	until = promise_start_ends_by(s, d->req, until);
	if (run != SNAP_NONE) {
		back = admit_demand_more(s, run, snap_run_ntasks(s, run));
		back.starts = true;
	}
	limit_future_take(ps->seeker->limits, d, run != SNAP_NONE ? &back : d,
	                  until);
}

void promise_grew(struct promises *ps, uint32_t run, uint32_t ntasks)
{
	struct demand d = admit_demand_more(ps->s, run, ntasks);

	promise_took(ps, SNAP_NONE, &d, future_runs_end(ps->s, run));
}

void promise_left(struct promises *ps, uint32_t run, uint32_t ntasks,
                  bool whole, bool suspend)
{
	limit_future_leave(ps->seeker->limits, run, ntasks, whole, suspend);
	if (ps->arrays && suspend)
		future_arrays_change(ps->arrays, run, SNAP_NEVER);
}

void promise_moved(struct promises *ps, uint32_t run, int64_t until)
{
	until = promise_start_ends_by(ps->s, ps->s->run.req[run], until);
	limit_future_move(ps->seeker->limits, run, until);
	if (ps->arrays)
		future_arrays_change(ps->arrays, run, until);
}

bool promise_may_move(const struct promises *ps, uint32_t run, size_t nmoves)
{
	return (!ps->arrays || future_arrays_may_change(ps->arrays, run)) &&
	       limit_future_may_move(ps->seeker->limits, run,
	                             promise_start_ends_by(ps->s,
	                                                   ps->s->run.req[run],
	                                                   ps->p->until),
	                             nmoves);
}

bool promise_may_suspend(const struct promises *ps, uint32_t run)
{
	return (!ps->arrays || future_arrays_may_change(ps->arrays, run)) &&
	       limit_future_may_suspend(ps->seeker->limits, run);
}

void promise_leave(struct promises *ps, uint32_t task, bool leaves)
{
	future_leave(ps->future, task, leaves);
}

uint64_t promise_blocker(struct promises *ps, uint32_t node, int64_t what)
{
	return future_walk_blocker(ps->future, node, what);
}

/* --- make promises ----------------------------------------------------- */

void promise_made(const struct promises *ps, const struct arena_list **ret,
                  const struct arena_list **ret_node)
{
	*ret = &ps->seeker->made;
	*ret_node = &ps->seeker->made_node;
}

/* Whether a node of the last promise made is not there yet. */
static bool last_is_coming(const struct promises *ps)
{
	const struct arena_list *made = &ps->seeker->made;
	const uint32_t *node = ps->seeker->made_node.p;
	const struct snap_promise *it;
	uint32_t first;

	if (!made->n)
		return false;
	it = (const struct snap_promise *)made->p + made->n - 1;
	return coming_count(ps->s, node + it->node_first, it->n, &first) > 0;
}

void promise_began(struct promises *ps, uint32_t row, int64_t until,
                   const struct snap_task *task, uint32_t n)
{
	uint32_t *node;

	if (!ps->arrays || ps->s->pend.array[row] == SNAP_NONE)
		return;
	node = arena_array_raw(ps->p->arena, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++)
		node[i] = task[i].node;
	future_arrays_add(
	    ps->arrays, row,
	    promise_start_ends_by(ps->s, ps->s->pend.req[row], until), node, n);
}

/* Returns when the row's job, for which place_for() was called, ends if it
 * starts at this time. */
static int64_t end_of(const struct promises *ps, uint32_t row, int64_t at)
{
	int64_t until = ps->p->until;

	if (until != SNAP_NEVER)
		until += at - ps->s->now;
	return promise_start_ends_by(ps->s, ps->s->pend.req[row], until);
}

/* Note what the last promise made means for the tasks of the row's array. */
static void add_promised_task(struct promises *ps, uint32_t row)
{
	const struct arena_list *made = &ps->seeker->made;
	const struct snap_promise *it;

	if (!ps->arrays || ps->s->pend.array[row] == SNAP_NONE ||
	    ps->s->pend.resumes[row] != SNAP_NONE)
		return;
	it = (const struct snap_promise *)made->p + made->n - 1;
	future_arrays_add(
	    ps->arrays, row, end_of(ps, row, it->start),
	    (const uint32_t *)ps->seeker->made_node.p + it->node_first, it->n);
}

bool promise_is_full(const struct promises *ps, bool limited,
                     const struct snap_promise *last)
{
	uint64_t depth = ps->s->policy.backfill_depth;

	return ps->nmade[limited] >= depth &&
	       (!last || (uint64_t)ps->nmade[0] + ps->nmade[1] >= 2 * depth);
}

int64_t promise_make(struct promises *ps, uint32_t row, bool limited,
                     const struct snap_promise *last, uint64_t *ret_blocker)
{
	const struct snap *s = ps->s;
	int64_t at;

	*ret_blocker = 0;
	if (promise_is_full(ps, limited, last))
		return SNAP_NEVER;
	at = promise_keep_start(ps->seeker, row, s->now, last, ret_blocker);
	ps->nmade[limited] += at != SNAP_NEVER && !last_is_coming(ps);
	if (at != SNAP_NEVER)
		add_promised_task(ps, row);
	return at;
}

/* Whether the job counts against limits or licences. */
static bool is_limited(const struct promises *ps, uint32_t row)
{
	uint32_t req = ps->s->pend.req[row];
	struct demand d =
	    admit_demand_start(ps->s, row, ps->s->req.min_tasks[req]);

	return limit_future_counts(ps->seeker->limits, &d);
}

static struct future_unsure *unsure_of(struct promises *ps)
{
	if (!ps->unsure)
		ps->unsure = future_unsure_new(ps->p);
	return ps->unsure;
}

/* Beyond that, promise_open() assumes that a job is within its limits now. */
enum { OPEN_LOOKS = 100000 };

void promise_open(struct promises *ps, uint32_t row)
{
	int64_t from = ps->s->now;

	if (ps->open_looks < OPEN_LOOKS)
		from = promise_keep_after(ps->seeker, row, &ps->open_looks);
	if (from != SNAP_NEVER)
		future_unsure_note(unsure_of(ps), ps->s->pend.req[row],
		                   is_limited(ps, row), from);
}

void promise_bars_from(struct promises *ps, uint32_t row, int64_t from)
{
	future_unsure_bar(unsure_of(ps), ps->s->pend.queue[row],
	                  ps->s->pend.req[row], from);
}

void promise_holds_limits(struct promises *ps, uint32_t row, int64_t from,
                          int64_t until)
{
	if (is_limited(ps, row))
		future_unsure_hold(unsure_of(ps), from, until);
}

static struct unsure_promise unsure_promise_of(const struct promises *ps,
                                               uint32_t row, int64_t at)
{
	return (struct unsure_promise){ .queue = ps->s->pend.queue[row],
		                        .req = ps->s->pend.req[row],
		                        .limited = is_limited(ps, row),
		                        .start = at,
		                        .end = end_of(ps, row, at) };
}

bool promise_is_sure(const struct promises *ps, uint32_t row, int64_t at)
{
	struct unsure_promise job;
	const struct snap_promise *it;

	if (!ps->unsure)
		return true;
	job = unsure_promise_of(ps, row, at);
	if (ps->s->pend.resumes[row] == SNAP_NONE) {
		it = (struct snap_promise *)ps->seeker->made.p +
		     ps->seeker->made.n - 1;
		job.node = (uint32_t *)ps->seeker->made_node.p + it->node_first;
		job.n = it->n;
	}
	return future_unsure_allows(ps->unsure, &job);
}

/* Reduce the list of promises to jobs of an array to those that can be told. */
static void drop_unsure(const struct promises *ps, uint32_t row,
                        struct arena_list *list)
{
	const struct array_promise *it = list->p;
	struct unsure_promise job;

	for (size_t i = 0; ps->unsure && i < list->n; i++) {
		job = unsure_promise_of(ps, row, it[i].at);
		if (!future_unsure_allows(ps->unsure, &job))
			list->n = i;
	}
}

void promise_array(struct promises *ps, uint32_t row, uint32_t member,
                   uint32_t begun, struct arena_list *ret)
{
	uint32_t depth = ps->s->policy.backfill_depth;
	uint32_t most = depth > ps->nmade[true] ? depth - ps->nmade[true] : 0;
	bool known =
	    future_arrays_keep(ps->arrays, row, member, begun, most, ret);

	drop_unsure(ps, row, ret);
	if (!known)
		future_unsure_note(unsure_of(ps), ps->s->pend.req[row],
		                   is_limited(ps, row), ps->s->now);
}

/* Try to place the row's job as if nothing were promised. */
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

/* Set ps->refusal for the first node of the trial on which a promise forbids to
 * place the tasks. */
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
	promise_allows_trial(ps, req);
}

bool promise_explains(struct promises *ps, uint32_t row, struct verdict *v)
{
	const struct snap *s = ps->s;
	struct promise_refusal *r = &ps->refusal;

	if (!r->is || !try_anyway(ps, row))
		return false;
	find_refusal(ps, s->pend.req[row]);
	place_undo(ps->p);
	v->why = WHY_Priority;
	v->name = r->node;
	v->job = 0;
	v->keep.whom = KEPT_OWN_END;
	v->keep.resv = s->req.reservation[s->pend.req[row]];
	if (r->bar) {
		v->keep.whom = KEPT_WAITER;
		v->job = r->bar;
	} else if (r->due && r->due->resv != SNAP_NONE) {
		v->keep.whom = KEPT_RESERVATION;
		v->keep.resv = r->due->resv;
		v->keep.end = ps->p->until;
	} else if (r->due) {
		v->keep.whom = KEPT_PROMISE;
		v->keep.start = r->due->start;
		v->job = r->due->job;
	}
	return true;
}
