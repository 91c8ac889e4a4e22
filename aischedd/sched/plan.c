/* plan.c - the pass: order, admit, place, evict, promise, say why not */
#include "aischedd/sched/plan.h"

#include <assert.h>
#include <string.h>

#include "aischedd/sched/again.h"
#include "aischedd/sched/claim.h"
#include "aischedd/sched/due.h"
#include "aischedd/sched/evict.h"
#include "aischedd/sched/promise.h"
#include "aischedd/sched/rung.h"
#include "aischedd/sched/why.h"

static struct verdict *verdicts_new(const struct snap *snap,
                                    struct arena *arena)
{
	struct verdict *v = arena_array(arena, struct verdict, snap->pend.n);

	for (uint32_t i = 0; i < snap->pend.n; i++) {
		uint8_t judged = snap->pend.judged[i];

		v[i] = (struct verdict){ .name = SNAP_NONE,
			                 .expected = SNAP_NEVER };
		v[i].kept = judged == JUDGED_WAITS || judged == JUDGED_BLOCKED;
		v[i].why = v[i].kept ? WHY_Unevaluated : WHY_None;
	}
	return v;
}

static struct pass *pass_new(const struct snap *snap, struct arena *arena)
{
	struct pass *p = arena_array(arena, struct pass, 1);

	p->snap = snap;
	p->arena = arena;
	snap_capacity(snap, p->capacity);
	p->tally = tally_new(snap, arena);
	p->order = order_new(snap, p->tally, p->capacity, arena);
	p->place = place_new(snap, p->tally, arena);
	p->promises = promises_new(p->place, p->tally);
	p->ever = ever_new(snap, p->place->match, p->place->domains, arena);
	p->looked_at = arena_array(arena, uint8_t, snap->pend.n);
	p->failed = arena_array(arena, uint32_t, snap->req.n);
	p->settled = arena_array(arena, uint8_t, snap->run.n);
	p->more = arena_array(arena, uint32_t, snap->run.n);
	p->wake = promise_wake(snap);
	for (uint32_t i = 0; i < snap->req.n; i++)
		p->failed[i] = SNAP_NONE;
	return p;
}

void pass_wake(struct pass *p, int64_t at)
{
	if (at > p->snap->now && (p->wake == SNAP_NEVER || at < p->wake))
		p->wake = at;
}

/* --- decisions --------------------------------------------------------- */

void pass_start(struct pass *p, uint32_t row)
{
	struct place *place = p->place;
	uint32_t ntasks = (uint32_t)(place->ntasks - place->first_task);
	struct demand d = demand_start(p->snap, row, ntasks);
	struct start *start =
	    arena_push(p->arena, &p->start, sizeof(struct start));

	if (p->snap->pend.resumes[row] != SNAP_NONE)
		p->settled[p->snap->pend.resumes[row]] = 1;
	*start = (struct start){
		.row = row,
		.member = p->order->next[row],
		.task_first = (uint32_t)place->first_task,
		.ntasks = ntasks,
	};
	admit_charge(place->work, &d, 1);
	promise_started(p->promises, d.req);
	place_commit(place, d.req);
}

static void add_node(struct pass *p, uint32_t run, uint32_t node)
{
	struct more *more =
	    arena_push(p->arena, &p->more_node, sizeof(struct more));

	*more = (struct more){ node, p->more[run] };
	p->more[run] = (uint32_t)p->more_node.n;
}

void pass_own(struct pass *p, uint32_t run, bool own)
{
	const struct snap *s = p->snap;
	const struct more *more = p->more_node.p;
	uint32_t *tasks = p->place->own;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++)
		tasks[s->task[t].node] = own ? tasks[s->task[t].node] + 1 : 0;
	for (uint32_t i = p->more[run]; i; i = more[i - 1].next) {
		uint32_t node = more[i - 1].node;

		tasks[node] = own ? tasks[node] + 1 : 0;
	}
}

void pass_grow(struct pass *p, uint32_t run)
{
	struct place *place = p->place;
	struct demand d = demand_more(p->snap, run, 1);
	struct grow *grow = arena_push(p->arena, &p->grow, sizeof(struct grow));

	p->settled[run] = 1;
	*grow = (struct grow){
		.run = run,
		.task_first = (uint32_t)place->first_task,
		.ntasks = (uint32_t)(place->ntasks - place->first_task),
	};
	for (uint32_t i = 0; i < grow->ntasks; i++) {
		admit_charge(place->work, &d, 1);
		add_node(p, run, place->task[grow->task_first + i].node);
	}
	promise_started(p->promises, d.req);
	place_commit(place, d.req);
}

void pass_claim(struct pass *p, uint32_t row, uint32_t run)
{
	struct claim *claim = arena_push(p->arena, &p->claim, sizeof(*claim));

	if (run != SNAP_NONE)
		p->settled[run] = 1;
	*claim = (struct claim){
		.row = row,
		.member = row == SNAP_NONE ? SNAP_NONE : p->order->next[row],
		.run = run,
		.node_first = (uint32_t)p->claim_node.n,
	};
}

void pass_claim_node(struct pass *p, uint32_t node)
{
	struct claim *claim = p->claim.p;

	*(uint32_t *)arena_push(p->arena, &p->claim_node, sizeof(uint32_t)) =
	    node;
	claim += p->claim.n - 1;
	claim->n++;
	if (claim->row == SNAP_NONE)
		add_node(p, claim->run, node);
}

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
	       ever_fits(p->ever, row, v);
}

/* Others leave for it: the last claim is its. */
static void say_preempting(struct pass *p, uint32_t row)
{
	const struct claim *claim = p->claim.p;
	const uint32_t *node = p->claim_node.p;

	claim += p->claim.n - 1;
	while (claim->row != row)
		claim--;
	say(p, row, WHY_Preempting, node[claim->node_first]);
	p->verdict[row].num[NUM_GOT] = claim->n;
}

static void say_lack(struct pass *p, uint32_t row, const struct lack *lack)
{
	struct verdict *v = &p->verdict[row];

	say(p, row,
	    lack->why         ? lack->why
	    : lack->scattered ? WHY_Fragmentation
	    : lack->got       ? WHY_GangPartial
	                      : WHY_Resources,
	    lack->node);
	v->num[NUM_WHAT] = lack->what;
	v->num[NUM_NEED] = lack->need;
	v->num[NUM_HAVE] = lack->have;
	v->num[NUM_TOTAL] = lack->total;
	v->num[NUM_SUM] = lack->why == WHY_Topology ? lack->domain : lack->sum;
	v->num[NUM_GOT] = lack->got;
}

static void say_start_failed(struct pass *p, uint32_t row)
{
	const struct place *place = p->place;
	size_t i = place->first_task;

	while (shelf_tree(place->shelf, place->task[i].node) != SHELF_LATE)
		i++;
	say(p, row, WHY_StartFailed, place->task[i].node);
	p->verdict[row].num[NUM_TOTAL] =
	    p->snap->node.retry_at[place->task[i].node];
	pass_wake(p, p->verdict[row].num[NUM_TOTAL]);
	place_undo(p->place);
}

/* --- one claim --------------------------------------------------------- */

/* How a claim was answered. */
enum answer {
	STARTS,
	CLAIMS,   /* others leave for it */
	PROMISED, /* it waits, and its start is promised */
	WAITS     /* it waits, and so do those like it */
};

/* One that cannot be promised a start holds back those behind it if it has
 * waited for long. */
static enum answer hold_back(struct pass *p, uint32_t row)
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

/* Keep a place for the row's next job, if it can be known when. */
static enum answer promise(struct pass *p, uint32_t row)
{
	struct verdict *v = &p->verdict[row];
	uint64_t blocker = 0;
	int64_t at;

	if (!p->snap->policy.backfill)
		return hold_back(p, row);
	at = promise_make(p->promises, row, &blocker);
	if (!order_is_waiting(p->order, row)) {
		v->expected = at;
		if (at == SNAP_NEVER && row == p->asked)
			v->expected =
			    promise_expect(p->promises, row, &blocker);
		v->job = blocker ? blocker : v->job;
	}
	return at != SNAP_NEVER ? PROMISED : hold_back(p, row);
}

/* Whether others leave for the row's next job. */
static bool evicts(struct pass *p, uint32_t row, bool scattered)
{
	const struct snap *s = p->snap;
	uint32_t req = s->pend.req[row];
	struct claimant c = {
		.row = row,
		.run = SNAP_NONE,
		.req = req,
		.tasks = s->req.min_tasks[req],
		.job = s->member[p->order->next[row]].job,
		.standing = standing_of_row(s, row),
		.demand = demand_start(s, row, s->req.min_tasks[req]),
	};

	if (s->pend.barred[row] || s->pend.resumes[row] != SNAP_NONE ||
	    !evict_for(p, &c, scattered))
		return false;
	if (!order_is_waiting(p->order, row))
		say_preempting(p, row);
	p->failed[req] = SNAP_NONE; /* why the next one waits is not known */
	return true;
}

/* The first job of a row does not fit.  Says why, as if nobody left. */
static void say_blocked(struct pass *p, uint32_t row)
{
	const struct snap *s = p->snap;
	struct verdict *v = &p->verdict[row];
	uint32_t req = s->pend.req[row], same = p->failed[req];
	unsigned trees = place_trees(p->place, req);
	struct lack lack;

	if (same != row) {
		*v = p->verdict[same];
		v->expected = SNAP_NEVER;
		return;
	}
	if (!ever_fits_up(p->ever, row, v) ||
	    promise_in_the_way(p->promises, row, v))
		return;
	if (place_try(p->place, req, s->req.min_tasks[req], trees, &lack))
		say_start_failed(p, row);
	else
		say_lack(p, row, &lack);
}

/* Whether what held for the one holds for the other, who asks for the same,
 * too. */
static bool is_alike(const struct snap *s, uint32_t a, uint32_t b)
{
	return s->queue.assumed_time[s->pend.queue[a]] ==
	           s->queue.assumed_time[s->pend.queue[b]] &&
	       s->pend.user[a] == s->pend.user[b];
}

/* Whether it is not for want of anything that others hold that it waits, but
 * for where they are. */
static bool may_fit_if_moved(const struct pass *p, uint32_t row)
{
	switch (p->verdict[row].why) {
	case WHY_Fragmentation:
	case WHY_Topology:
	case WHY_NumaAlignment:
		return true;
	case WHY_Resources:
	case WHY_GangPartial:
		return p->snap->req.exclusive[p->snap->pend.req[row]];
	default:
		return false;
	}
}

static enum answer serve_request(struct pass *p, uint32_t row)
{
	const struct snap *s = p->snap;
	uint32_t req = s->pend.req[row];
	enum reason why;

	place_for(p->place, row, s->member[p->order->next[row]].job);
	/* Nothing becomes free in a pass: once is enough. */
	if (p->failed[req] == SNAP_NONE || !is_alike(s, row, p->failed[req])) {
		if (place_try(p->place, req, s->req.min_tasks[req], IN_OPEN,
		              NULL)) {
			pass_start(p, row);
			return STARTS;
		}
		p->failed[req] = row;
	}
	if (!order_is_waiting(p->order, row))
		say_blocked(p, row);
	why = p->verdict[row].why;
	if (why == WHY_NodeDown || why == WHY_RunnerDown ||
	    why == WHY_StartFailed)
		return WAITS;
	if (evicts(p, row, may_fit_if_moved(p, row)))
		return CLAIMS;
	return promise(p, row);
}

static enum answer serve_resume(struct pass *p, uint32_t row)
{
	const struct snap *s = p->snap;
	uint32_t run = s->pend.resumes[row];
	struct lack lack;

	if (evict_has(p, run)) {
		say(p, row, WHY_Unevaluated, SNAP_NONE); /* it starts anew */
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
	if (!promise_in_the_way(p->promises, row, &p->verdict[row]))
		say_lack(p, row, &lack);
	return promise(p, row);
}

/* It waits for a limit: for too long, perhaps. */
static void hold_limit(struct pass *p, uint32_t row,
                       const struct verdict *limit)
{
	int64_t wait = p->order->hold[row];
	int64_t since = p->snap->member[p->order->next[row]].since;

	if (wait == CONF_NONE || limit->why == WHY_Priority)
		return;
	if (p->snap->now - since >= wait)
		due_add(p, row, limit);
	else
		pass_wake(p, since + wait);
}

/* One of which it is known that it waits, but not for what. */
static enum answer hold_again(struct pass *p, uint32_t row,
                              const struct demand *d)
{
	struct verdict limit;

	if (admit_now(p->place->work, d, &limit) == WHY_None &&
	    due_check(p, d, &limit) == WHY_None)
		return hold_back(p, row);
	hold_limit(p, row, &limit);
	return WAITS;
}

/* Start the next job of the row, or say why it waits. */
static enum answer serve_row(struct pass *p, uint32_t row)
{
	struct verdict *v = &p->verdict[row];
	struct demand d = demand_start(
	    p->snap, row, p->snap->req.min_tasks[p->snap->pend.req[row]]);
	struct verdict limit = *v;
	enum reason why;

	if (v->kept)
		return hold_again(p, row, &d);
	if (!could_start(p, row) || !promise_is_open(p->snap, row, v))
		return WAITS;
	why = admit_now(p->place->work, &d, &limit);
	if (why == WHY_QueueLimit && evicts(p, row, false))
		return CLAIMS;
	if (why == WHY_None)
		why = due_check(p, &d, &limit);
	if (why != WHY_None) {
		if (!order_is_waiting(p->order, row))
			*v = limit;
		hold_limit(p, row, &limit);
		return WAITS;
	}
	return p->snap->pend.resumes[row] != SNAP_NONE ? serve_resume(p, row)
	                                               : serve_request(p, row);
}

static bool try_grow(struct pass *p, uint32_t run, struct lack *ret_lack)
{
	bool found;

	pass_own(p, run, true);
	found = place_try_grow(p->place, run, ret_lack);
	pass_own(p, run, false);
	return found;
}

/* One more task for a running job. */
static enum answer serve_grower(struct pass *p, uint32_t run)
{
	const struct snap *s = p->snap;
	struct claimant c = {
		.row = SNAP_NONE,
		.run = run,
		.req = s->run.req[run],
		.tasks = 1,
		.job = s->run.job[run],
		.standing = standing_of_run(s, run),
		.demand = demand_more(s, run, 1),
	};
	struct lack lack = { 0 };
	struct verdict v;
	enum reason why = admit_now(p->place->work, &c.demand, &v);

	/* Who gives up tasks for others does not get new ones. */
	if (evict_has(p, run) || (why != WHY_None && why != WHY_QueueLimit) ||
	    due_check(p, &c.demand, &v) != WHY_None)
		return WAITS;
	place_for_run(p->place, run);
	if (why == WHY_None && try_grow(p, run, &lack)) {
		pass_grow(p, run);
		return STARTS;
	}
	return evict_for(p, &c, lack.scattered || lack.why) ? CLAIMS : WAITS;
}

/* So many nodes are looked at in the time in which a claim is answered. */
enum { LOOKS_A_CLAIM = 64 };

static int64_t count_looks(const struct pass *p)
{
	return (int64_t)(p->place->looks + evict_looks(p)) / LOOKS_A_CLAIM;
}

static enum answer ask(struct pass *p, struct turn turn)
{
	bool counts = turn.row == SNAP_NONE ||
	              (!p->verdict[turn.row].kept &&
	               p->snap->pend.judged[turn.row] != JUDGED_PROMISED);
	int64_t before = count_looks(p);
	enum answer answer = turn.row == SNAP_NONE ? serve_grower(p, turn.run)
	                                           : serve_row(p, turn.row);

	if (counts)
		p->spent += 1 + count_looks(p) - before;
	return answer;
}

static bool is_spent(const struct pass *p)
{
	int64_t budget = p->snap->policy.budget;

	return budget != CONF_NONE && p->spent >= budget;
}

static void serve(struct pass *p, uint32_t queue)
{
	struct turn turn = order_first(p->order, queue);
	bool grows = turn.row == SNAP_NONE;
	enum answer answer = ask(p, turn);

	if (answer == WAITS)
		order_drop(p->order, queue);
	else if (grows)
		order_grown(p->order, queue);
	else if (answer == STARTS)
		order_started(p->order, queue);
	else if (answer == CLAIMS)
		order_claimed(p->order, queue);
	else
		order_promised(p->order, queue);
	tree_update(p->tree, queue);
}

/* --- the plan ---------------------------------------------------------- */

/* The job in the way of each verdict that names none yet. */
static void name_blockers(struct pass *p)
{
	for (uint32_t row = 0; row < p->snap->pend.n; row++) {
		struct verdict *v = &p->verdict[row];

		if ((v->why == WHY_Resources || v->why == WHY_Fragmentation ||
		     v->why == WHY_GangPartial ||
		     v->why == WHY_NumaAlignment) &&
		    !v->job && v->expected == SNAP_NEVER &&
		    v->name != SNAP_NONE)
			v->job = promise_blocker(p->promises, v->name,
			                         v->num[NUM_WHAT]);
	}
}

/* Those whose turn did not come before the budget was spent. */
static void say_unevaluated(struct pass *p)
{
	for (uint32_t q = 0; q < p->snap->queue.n; q++) {
		const struct heap *h = &p->order->rows[q];

		for (uint32_t i = 0; i < h->n; i++) {
			if (p->verdict[h->at[i]].why == WHY_None)
				say(p, h->at[i], WHY_Unevaluated, SNAP_NONE);
		}
	}
}

/* What can only be said when all had their turn. */
static void complete_verdicts(struct pass *p)
{
	const struct snap *s = p->snap;
	uint32_t *position = arena_array(p->arena, uint32_t, s->pend.n);

	name_blockers(p);
	order_positions(p->order, position, p->arena);
	for (uint32_t row = 0; row < s->pend.n; row++) {
		struct verdict *v = &p->verdict[row];
		uint32_t m = p->order->limited[row];

		if (v->why == WHY_None && m != SNAP_NONE) {
			v->why = WHY_ArrayLimit;
			v->job = s->member[m].job;
		}
		v->started = p->order->started[row];
		v->position = position[row];
	}
}

static void *copy(struct arena *arena, const void *p, size_t n, size_t size)
{
	void *ret = arena_alloc(arena, n, size);

	return n ? memcpy(ret, p, n * size) : ret;
}

static void *copy_list(struct arena *arena, const struct arena_list *list,
                       uint32_t *ret_n, size_t size)
{
	if (ret_n)
		*ret_n = (uint32_t)list->n;
	return copy(arena, list->p, list->n, size);
}

/* What the pass itself needed goes with it. */
static const struct plan *plan_of(struct pass *p, struct arena *arena)
{
	const struct place *place = p->place;
	struct plan *plan = arena_array(arena, struct plan, 1);
	uint32_t queue;

	evict_list(p);
	plan->gen = p->snap->gen;
	plan->wake = p->wake;
	plan->again = again_is_due(p);
	plan->partial = tree_first(p->tree, &queue);
	plan->nverdicts = p->snap->pend.n;
	plan->verdict = p->verdict;
	plan->share = copy(arena, p->tree->share, p->snap->queue.n,
	                   sizeof(*p->tree->share));
	plan->start =
	    copy_list(arena, &p->start, &plan->nstarts, sizeof(struct start));
	plan->grow =
	    copy_list(arena, &p->grow, &plan->ngrows, sizeof(struct grow));
	plan->eviction = copy_list(arena, &p->eviction, &plan->nevictions,
	                           sizeof(struct eviction));
	plan->loss = copy_list(arena, &p->loss, NULL, sizeof(uint32_t));
	plan->claim =
	    copy_list(arena, &p->claim, &plan->nclaims, sizeof(struct claim));
	plan->claim_node =
	    copy_list(arena, &p->claim_node, NULL, sizeof(uint32_t));
	plan->task =
	    copy(arena, place->task, place->ntasks + 1, sizeof(*place->task));
	plan->cpu_use =
	    copy(arena, place->use, place->nuse, sizeof(*place->use));
	return plan;
}

const struct plan *sched_plan_asked(const struct snap *snap, uint32_t row,
                                    struct arena *arena)
{
	struct arena *scratch = arena_new();
	struct pass *p = pass_new(snap, scratch);
	const struct plan *plan;
	uint32_t queue;

	p->asked = row;
	p->verdict = verdicts_new(snap, arena);
	claims_settle(p);
	p->nsettled = p->start.n;
	order_open(p->order);
	p->tree = tree_new(p->tally, p->place->work, p->order, p->ever,
	                   p->capacity, scratch);
	while (tree_first(p->tree, &queue) && !is_spent(p))
		serve(p, queue);
	say_unevaluated(p);
	complete_verdicts(p);
	plan = plan_of(p, arena);
	arena_free(scratch);
	return plan;
}

const struct plan *sched_plan(const struct snap *snap, struct arena *arena)
{
	return sched_plan_asked(snap, SNAP_NONE, arena);
}

int sched_could_fit(const struct snap *snap, uint32_t row, struct err *err)
{
	struct arena *arena;
	struct verdict v = { .why = WHY_None };
	struct buf text = { 0 };
	int ret = 0;

	if (snap->pend.resumes[row] != SNAP_NONE)
		return 0;
	arena = arena_new();
	if (admit_ever(snap, row, &v) == WHY_None)
		ever_fits(ever_new(snap, match_new(snap, arena),
		                   domains_new(snap, arena), arena),
		          row, &v);
	if (v.why == WHY_NeverFits || v.why == WHY_ExceedsQueueLimit) {
		verdict_text(snap, row, &v, &text);
		ret = err_set(err, EINVAL, "%s", text.data);
	}
	buf_free(&text);
	arena_free(arena);
	return ret;
}
