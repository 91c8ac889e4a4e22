/* serve.c - serve one claim: admit, place, evict, promise, or say why it waits
 */
#include "aischedd/sched/serve.h"

#include <stdlib.h>

#include "aischedd/sched/admit.h"
#include "aischedd/sched/evict.h"
#include "aischedd/sched/evict_rules.h"
#include "aischedd/sched/future/arrays.h"
#include "aischedd/sched/future/coming.h"
#include "aischedd/sched/future/runs.h"
#include "aischedd/sched/order_service.h"
#include "aischedd/sched/promise_last.h"
#include "aischedd/sched/verdict.h"

/* --- reasons ----------------------------------------------------------- */

static void say(struct pass *p, uint32_t row, enum reason why, uint32_t name)
{
	p->verdict[row].why = why;
	p->verdict[row].name = name;
}

static bool could_start(struct pass *p, uint32_t row)
{
	struct verdict *v = &p->verdict[row];

	if (p->looked_at[row])
		return true;
	p->looked_at[row] = 1;
	if (admit_ever(p->snap, row, v) != WHY_None)
		return false;
	return p->snap->pend.resumes[row] != SNAP_NONE ||
	       fit_empty_holds(p->empty, row, v);
}

/* Say in the verdict that jobs are being evicted for the row's first job. The
 * last claim of the row is the claim of this job. */
static void say_preempting(struct pass *p, uint32_t row)
{
	const struct plan_claim *claim = p->claim.p;
	const uint32_t *node = p->claim_node.p;

	claim += p->claim.n - 1;
	while (claim->row != row)
		claim--;
	say(p, row, WHY_Preempting, node[claim->node_first]);
	p->verdict[row].held = claim->n;
}

static void say_lack(struct pass *p, uint32_t row,
                     const struct place_lack *lack)
{
	struct verdict *v = &p->verdict[row];

	say(p, row,
	    lack->why         ? lack->why
	    : lack->scattered ? WHY_Fragmentation
	    : lack->got       ? WHY_GangPartial
	                      : WHY_Resources,
	    lack->node);
	if (lack->why == WHY_StartFailed) {
		v->retry_at = p->snap->req.refused[p->snap->pend.req[row]];
		return;
	}
	v->what = lack->what;
	v->lack = (struct verdict_lack){ .need = lack->need,
		                         .have = lack->have,
		                         .total = lack->total,
		                         .sum = lack->sum,
		                         .got = lack->got,
		                         .domain = lack->domain };
}

/* Called after a trial that placed the row's next job on some nodes of
 * TREE_LATE, where nothing starts before retry_at. */
static void say_late(struct pass *p, uint32_t row)
{
	const struct place *place = p->place;
	size_t i = place->first_task;
	uint32_t node;

	while (place_index_tree(place->index, place->task[i].node) != TREE_LATE)
		i++;
	node = place->task[i].node;
	place_undo(p->place);
	say(p, row, WHY_NodesComing, node);
	p->verdict[row].ncoming = 0;
	if (p->snap->node.coming[node] != NODE_HERE)
		return;
	say(p, row, WHY_StartFailed, node);
	p->verdict[row].retry_at = p->snap->node.retry_at[node];
	pass_wake(p, p->verdict[row].retry_at);
}

/* --- serve one claim --------------------------------------------------- */

/* Called if the row's next job cannot be promised a start. If the job has
 * waited long enough, or if there is no backfill, forbid the jobs behind it to
 * use nodes that it could use (promise_bar()). */
static enum serve_answer hold_back(struct pass *p, uint32_t row)
{
	const struct snap *s = p->snap;
	const struct snap_member *m = &s->member[p->order->next[row]];
	int64_t wait = p->order->hold[row];

	if (!s->policy.backfill) {
		promise_bar(p->promises, SNAP_NONE, s->pend.req[row], m->job);
		return WAITS;
	}
	if (wait != CONF_NONE && s->now - m->since >= wait)
		promise_bar(p->promises, s->pend.queue[row], s->pend.req[row],
		            m->job);
	if (wait != CONF_NONE)
		pass_wake(p, m->since + wait);
	return WAITS;
}

/* Add the promise to the plan's list, unless it is for the job that the
 * row's verdict is about. All tasks of an array that have not started
 * count as one job. */
static void tell_promised(struct pass *p, uint32_t row, uint32_t member,
                          int64_t at, uint64_t blocker)
{
	struct promised *it;

	if (member == p->order->first[row] ||
	    (member == p->order->next[row] && p->order->begun[row]))
		return;
	it = arena_push(p->arena, &p->promised, sizeof(*it));
	*it = (struct promised){
		.row = row, .member = member, .expected = at, .job = blocker
	};
}

static const struct snap_promise *last_promise(const struct pass *p,
                                               uint32_t row)
{
	uint32_t member = p->order->next[row];

	return promise_last(p->snap, p->snap->member[member].job,
	                    p->order->begun[row]);
}

/* Note in which pool the row's next job has just been promised a start. */
static void note_pool(struct pass *p, uint32_t row)
{
	const struct snap *s = p->snap;
	uint32_t run = s->pend.resumes[row], node;
	const struct arena_list *made, *made_node;

	promise_made(p->promises, &made, &made_node);
	if (run != SNAP_NONE)
		node = s->task[s->run.task_first[run]].node;
	else
		node = ((uint32_t *)made_node->p)[made_node->n - 1];
	p->promised_in[s->node.pool[node]] = 1;
}

/* Called after the row's next job was promised a start. If some of its nodes
 * are not there yet, say in the verdict that the job waits for them. */
static void say_coming(struct pass *p, uint32_t row)
{
	const struct snap *s = p->snap;
	struct verdict *v = &p->verdict[row];
	const struct arena_list *made, *made_node;
	const struct snap_promise *it;
	struct place_lack lack;
	uint32_t node, n;

	promise_made(p->promises, &made, &made_node);
	it = (const struct snap_promise *)made->p + made->n - 1;
	n = coming_count(s, (uint32_t *)made_node->p + it->node_first, it->n,
	                 &node);
	if (n) {
		say(p, row, WHY_NodesComing, node);
		v->ncoming = n;
	} else if (v->why == WHY_NodesComing &&
	           !place_try(p->place, s->pend.req[row],
	                      s->req.min_tasks[s->pend.req[row]], IN_OPEN,
	                      &lack)) {
		say_lack(p, row, &lack);
	}
}

/* Note, for n promises, which starts were decided before. */
static void note_starts(struct pass *p, size_t n)
{
	while (n--)
		*(uint32_t *)arena_push(p->arena, &p->starts_before,
		                        sizeof(uint32_t)) =
		    (uint32_t)p->start.n;
}

/* The row's next job starts at this time (SNAP_NEVER: unknown). Note what it
 * may hold back once it has waited too long. */
static void note_hold(struct pass *p, uint32_t row, int64_t at)
{
	int64_t from = p->order->hold[row];

	if (from == CONF_NONE)
		return;
	from += p->snap->member[p->order->next[row]].since;
	promise_holds_limits(p->promises, row, from, at);
	if (at == SNAP_NEVER)
		promise_bars_from(p->promises, row, from);
}

/* Called if no start is sought for the row's next job, although it will start
 * as soon as it can. */
static void leave_open(struct pass *p, uint32_t row)
{
	promise_open(p->promises, row);
	if (!order_is_waiting(p->order, row))
		p->verdict[row].judged = JUDGED_OPEN;
}

/* Promise a start to the row's next job. limited: the job waits for limits or
 * licences. Returns the time of its start, or SNAP_NEVER if it is not known. */
static int64_t try_promise(struct pass *p, uint32_t row, bool limited)
{
	struct verdict *v = &p->verdict[row];
	const struct snap_promise *last = last_promise(p, row);
	uint64_t blocker = 0;
	int64_t at, told;

	told = at = promise_make(p->promises, row, limited, last, &blocker);
	if (at != SNAP_NEVER) {
		note_pool(p, row);
		note_starts(p, 1);
		order_take_array(p->order, row);
		if (!promise_is_sure(p->promises, row, at))
			told = SNAP_NEVER;
	}
	if (at == SNAP_NEVER && promise_is_full(p->promises, limited, last))
		leave_open(p, row);
	note_hold(p, row, at);
	if (!order_is_waiting(p->order, row)) {
		v->expected = told;
		if (at != SNAP_NEVER)
			v->judged = JUDGED_PROMISED;
		if (at != SNAP_NEVER && !limited &&
		    p->snap->pend.resumes[row] == SNAP_NONE)
			say_coming(p, row);
		if (blocker && v->why != WHY_Priority &&
		    v->why != WHY_NodesComing)
			v->job = blocker;
	} else if (told != SNAP_NEVER) {
		tell_promised(p, row, p->order->next[row], told, blocker);
	}
	return at;
}

/* Promise a start to the row's next job; if none can be found, see hold_back().
 */
static enum serve_answer promise(struct pass *p, uint32_t row)
{
	return p->snap->policy.backfill &&
	               try_promise(p, row, false) != SNAP_NEVER
	           ? PROMISED
	           : hold_back(p, row);
}

/* Try to evict jobs for the row's next job. Returns false if no jobs are
 * evicted, because the rules do not allow it or it would not help. */
static bool evicts(struct pass *p, uint32_t row, bool scattered)
{
	const struct snap *s = p->snap;
	uint32_t req = s->pend.req[row];
	struct claimant c = {
		.row = row,
		.run = SNAP_NONE,
		.req = req,
		.tasks = s->req.min_tasks[req],
		.nodes = s->req.nodes[req],
		.job = s->member[p->order->next[row]].job,
		.standing = order_standing_of_row(s, row),
		.demand = admit_demand_start(s, row, s->req.min_tasks[req]),
	};

	if (s->pend.barred[row] || s->pend.resumes[row] != SNAP_NONE ||
	    !evict_for(p, &c, scattered))
		return false;
	if (!order_is_waiting(p->order, row))
		say_preempting(p, row);
	p->failed[req] =
	    SNAP_NONE; /* the next job may wait for another reason */
	return true;
}

/* Set the verdict of a row whose first job does not fit into what is free. */
static void say_blocked(struct pass *p, uint32_t row)
{
	const struct snap *s = p->snap;
	struct verdict *v = &p->verdict[row];
	uint32_t req = s->pend.req[row], same = p->failed[req];
	unsigned trees = place_trees(p->place, req);
	struct place_lack lack;

	if (same != row) {
		*v = p->verdict[same];
		v->expected = SNAP_NEVER;
		return;
	}
	if (!fit_empty_holds_up(p->empty, row, v) ||
	    promise_explains(p->promises, row, v))
		return;
	if (place_try(p->place, req, s->req.min_tasks[req], trees, &lack))
		say_late(p, row);
	else
		say_lack(p, row, &lack);
}

/* Whether the verdict on row a also holds for row b, which has the
 * same request. */
static bool is_alike(const struct snap *s, uint32_t a, uint32_t b)
{
	return s->queue.assumed_time[s->pend.queue[a]] ==
	           s->queue.assumed_time[s->pend.queue[b]] &&
	       s->pend.user[a] == s->pend.user[b];
}

/* Whether a row with the same request has failed in this pass, for reasons that
 * hold for this row, too: nothing becomes free during a pass. A row that waits
 * for nodes to come does not tell why this row waits, as those nodes may be for
 * the other one only. */
static bool has_failed(const struct pass *p, uint32_t row)
{
	uint32_t same = p->failed[p->snap->pend.req[row]];

	return same != SNAP_NONE && is_alike(p->snap, row, same) &&
	       (same == row || p->verdict[same].why != WHY_NodesComing);
}

/* Whether the job may fit if other jobs are moved: it waits because of where
 * they are placed, not because too little is free. */
static bool may_fit_if_moved(const struct pass *p, uint32_t row)
{
	switch (reason_kind(p->verdict[row].why)) {
	case REASON_PLACE:
	case REASON_DOMAIN:
		return true;
	case REASON_ROOM:
		return p->snap->req.exclusive[p->snap->pend.req[row]];
	case REASON_ENDED:
	case REASON_UNASKED:
	case REASON_TURN:
	case REASON_LIMIT:
	case REASON_DOWN:
	case REASON_OWN:
	case REASON_NEVER:
		return false;
	}
	abort();
}

/* Try to place the row's next job on the nodes on which the last plan promised
 * it a start, if that time has come. */
static bool starts_as_promised(struct pass *p, uint32_t row)
{
	const struct snap_promise *last = last_promise(p, row);

	return last && last->start <= p->snap->now &&
	       promise_last_try(p->place, p->snap->pend.req[row], last);
}

static enum serve_answer serve_request(struct pass *p, uint32_t row)
{
	const struct snap *s = p->snap;
	uint32_t req = s->pend.req[row];

	place_for(p->place, row, s->member[p->order->next[row]].job);
	if (starts_as_promised(p, row)) {
		pass_start(p, row);
		return STARTS;
	}
	if (!has_failed(p, row)) {
		if (place_try(p->place, req, s->req.min_tasks[req], IN_OPEN,
		              NULL)) {
			pass_start(p, row);
			return STARTS;
		}
		p->failed[req] = row;
	}
	if (!order_is_waiting(p->order, row))
		say_blocked(p, row);
	if (reason_kind(p->verdict[row].why) == REASON_DOWN &&
	    p->verdict[row].why != WHY_NodesComing)
		return WAITS;
	if (evicts(p, row, may_fit_if_moved(p, row)))
		return CLAIMS;
	return promise(p, row);
}

static enum serve_answer serve_resume(struct pass *p, uint32_t row)
{
	const struct snap *s = p->snap;
	uint32_t run = s->pend.resumes[row];
	struct place_lack lack;

	if (evict_has(p, run)) {
		say(p, row, WHY_Unevaluated,
		    SNAP_NONE); /* this pass evicts the job: it will not resume
		                   but start anew */
		return WAITS;
	}
	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		uint32_t node = s->task[t].node;

		if (!s->pool.ready[s->node.pool[node]]) {
			say(p, row, WHY_RunnerDown, s->node.pool[node]);
			return WAITS;
		}
		if (s->node.state[node] == NODE_DOWN) {
			say(p, row, WHY_NodeDown, node);
			return WAITS;
		}
	}
	place_for(p->place, row, s->member[p->order->next[row]].job);
	if (place_try_resume(p->place, run, &lack)) {
		pass_start(p, row);
		return STARTS;
	}
	if (!promise_explains(p->promises, row, &p->verdict[row]))
		say_lack(p, row, &lack);
	return promise(p, row);
}

/* Called if the row's next job waits for a limit. Once the job has waited too
 * long, other jobs get nothing of the limit before it (admit_due_add()). */
static void hold_limit(struct pass *p, uint32_t row,
                       const struct verdict *limit)
{
	int64_t wait = p->order->hold[row];
	int64_t since = p->snap->member[p->order->next[row]].since;

	if (wait == CONF_NONE || limit->why == WHY_Priority)
		return;
	if (p->snap->now - since >= wait)
		admit_due_add(p, row, limit);
	else
		pass_wake(p, since + wait);
}

/* Called for a row that an earlier pass has judged. Do not decide on its job
 * again. As the earlier pass did, keep the nodes or the limit for which the job
 * waits from the jobs behind it. */
static enum serve_answer hold_again(struct pass *p, uint32_t row,
                                    const struct demand *d)
{
	struct verdict limit;

	if (p->snap->pend.judged[row] == JUDGED_OPEN) {
		place_for(p->place, row,
		          p->snap->member[p->order->next[row]].job);
		promise_open(p->promises, row);
	}
	note_hold(p, row, SNAP_NEVER);
	if (admit_now(p->place->work, d, &limit) == WHY_None &&
	    admit_due_check(p, d, &limit) == WHY_None)
		return hold_back(p, row);
	hold_limit(p, row, &limit);
	return WAITS;
}

/* Whether the row's next job would be evicted for another one if it started. */
static bool is_in_vain(struct pass *p, uint32_t row)
{
	if (!p->vain || !p->vain[row].by ||
	    p->order->started[row] < p->vain[row].most)
		return false;
	if (!order_is_waiting(p->order, row)) {
		p->verdict[row].why = WHY_Priority;
		p->verdict[row].job = p->vain[row].by;
		p->verdict[row].name = SNAP_NONE;
		p->verdict[row].keep.whom = KEPT_ENTITLED;
	}
	p->held_back = true;
	return true;
}

/* Called if the row's next job waits for limits or licences, or leaves them to
 * promised jobs. Promise it a start, unless these limits or licences are kept
 * for a job that has waited too long. Without a promise, no nodes are kept for
 * it. */
static enum serve_answer wait_for_limits(struct pass *p, uint32_t row,
                                         const struct demand *d,
                                         const struct verdict *limit)
{
	struct verdict v;
	bool may =
	    p->snap->policy.backfill && admit_due_check(p, d, &v) == WHY_None;
	int64_t at = SNAP_NEVER;

	place_for(p->place, row, p->snap->member[p->order->next[row]].job);
	if (may) {
		at = try_promise(p, row, true);
	} else {
		leave_open(p, row);
		note_hold(p, row, at);
	}
	hold_limit(p, row, limit);
	return at != SNAP_NEVER ? PROMISED : WAITS;
}

/* Whether a job of the row leaves enough of all limits and licences for the
 * jobs that are promised a start. */
static bool leaves_limits(struct pass *p, uint32_t row, const struct demand *d,
                          struct verdict *v)
{
	return promise_leaves_limits(p->promises, d,
	                             place_row_end(p->snap, row), v);
}

/* Called if the row's next job waits for its array. Promise starts to it and to
 * the row's jobs behind it, in the order in which they start once tasks of the
 * array end. */
static enum serve_answer wait_for_array(struct pass *p, uint32_t row)
{
	struct row_order *o = p->order;
	struct arena_list told = { 0 };
	const struct array_promise *it;
	const struct arena_list *made, *nodes;
	size_t before;

	if (o->limited[row] == SNAP_NONE)
		o->limited[row] = o->next[row];
	if (!could_start(p, row) || !p->snap->policy.backfill ||
	    !promise_is_open(p->snap, row, &p->verdict[row]))
		return WAITS;
	promise_made(p->promises, &made, &nodes);
	before = made->n;
	place_for(p->place, row, p->snap->member[o->next[row]].job);
	promise_array(p->promises, row, o->next[row], o->begun[row], &told);
	note_starts(p, made->n - before);
	it = told.p;
	if (told.n && !order_is_waiting(o, row))
		p->verdict[row].expected = it->at;
	if (!order_is_waiting(o, row))
		p->verdict[row].judged = JUDGED_PROMISED;
	for (size_t i = 0; i < told.n; i++) {
		if (it[i].member != order_waiting(o, row) &&
		    (!i || it[i].member != it[i - 1].member))
			tell_promised(p, row, it[i].member, it[i].at, 0);
	}
	return WAITS;
}

enum serve_answer serve_row(struct pass *p, uint32_t row)
{
	struct verdict *v = &p->verdict[row];
	struct demand d = admit_demand_start(
	    p->snap, row, p->snap->req.min_tasks[p->snap->pend.req[row]]);
	struct verdict limit = *v, kept;
	enum reason why;

	if (order_waits_for_array(p->order, row))
		return wait_for_array(p, row);
	if (v->kept)
		return hold_again(p, row, &d);
	if (is_in_vain(p, row))
		return WAITS;
	if (!could_start(p, row) || !promise_is_open(p->snap, row, v))
		return WAITS;
	why = admit_then(p->place->work, &d, &limit);
	if (why == WHY_QueueLimit && leaves_limits(p, row, &d, &kept) &&
	    evicts(p, row, false))
		return CLAIMS;
	if (why == WHY_None)
		why = admit_now(p->place->work, &d, &limit);
	if (why == WHY_None)
		why = admit_due_check(p, &d, &limit);
	if (why == WHY_None && !leaves_limits(p, row, &d, &limit))
		why = WHY_Priority;
	if (why != WHY_None) {
		if (!order_is_waiting(p->order, row))
			*v = limit;
		return wait_for_limits(p, row, &d, &limit);
	}
	return p->snap->pend.resumes[row] != SNAP_NONE ? serve_resume(p, row)
	                                               : serve_request(p, row);
}

static bool try_grow(struct pass *p, uint32_t run, struct place_growth more,
                     struct place_lack *ret_lack)
{
	bool found;

	pass_own(p, run, true);
	found = place_try_grow(p->place, run, more, ret_lack);
	pass_own(p, run, false);
	return found;
}

enum serve_answer serve_elastic(struct pass *p, struct order_elastic *e)
{
	struct demand d = admit_demand_extra(p->snap, e->row);
	struct verdict v;

	if (admit_now(p->place->work, &d, &v) != WHY_None ||
	    admit_due_check(p, &d, &v) != WHY_None ||
	    !leaves_limits(p, e->row, &d, &v))
		return WAITS;
	place_for(p->place, e->row, p->snap->member[e->member].job);
	if (!pass_try_extra(p, e))
		return WAITS;
	pass_extra(p, e);
	return STARTS;
}

enum serve_answer serve_grower(struct pass *p, uint32_t run,
                               uint32_t *ret_tasks)
{
	const struct snap *s = p->snap;
	struct place_growth more = pass_growth(p, run);
	struct claimant c = {
		.row = SNAP_NONE,
		.run = run,
		.req = s->run.req[run],
		.tasks = more.tasks,
		.nodes = more.opens,
		.job = s->run.job[run],
		.standing = order_standing_of_run(s, run),
		.demand = admit_demand_more(s, run, more.tasks),
	};
	struct place_lack lack = { 0 };
	struct verdict v;
	enum reason why = admit_then(p->place->work, &c.demand, &v);

	*ret_tasks = more.tasks;
	/* A job that loses tasks in this pass gets no new ones. */
	if (!more.tasks || evict_has(p, run) ||
	    (why != WHY_None && why != WHY_QueueLimit) ||
	    (why == WHY_None &&
	     admit_now(p->place->work, &c.demand, &v) != WHY_None) ||
	    admit_due_check(p, &c.demand, &v) != WHY_None ||
	    !promise_leaves_limits(p->promises, &c.demand,
	                           future_runs_end(s, run), &v))
		return WAITS;
	place_for_run(p->place, run);
	if (why == WHY_None && try_grow(p, run, more, &lack)) {
		pass_grow(p, run);
		return STARTS;
	}
	/* No job is evicted for more tasks on nodes that the job has. */
	if (s->req.nodes[c.req] && !more.opens)
		return WAITS;
	return evict_for(p, &c, lack.scattered || lack.why) ? CLAIMS : WAITS;
}
