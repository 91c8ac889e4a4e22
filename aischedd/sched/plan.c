/* plan.c - the pass: order, admit, place, say why not */
#include "aischedd/sched/plan.h"

#include <assert.h>
#include <string.h>

#include "aischedd/sched/admit.h"
#include "aischedd/sched/ever.h"
#include "aischedd/sched/forecast.h"
#include "aischedd/sched/order.h"
#include "aischedd/sched/place.h"
#include "aischedd/sched/why.h"

/* Rows whose expected start is worked out. */
#define FORECAST_ROWS 100

struct pass {
	const struct snap *snap;
	struct arena *arena;
	struct order *order;
	struct place *place;
	struct ever *ever;
	struct verdict *verdict; /* by row */
	uint8_t *looked_at;      /* by row: whether it could ever start */
	uint32_t *failed;        /* by request: a row for which it failed */
	uint32_t *same_as;       /* by row: one with the same verdict */

	struct start *start;
	size_t nstarts, start_cap;
	uint32_t blocked[FORECAST_ROWS], nblocked;
};

static struct verdict *verdicts_new(const struct snap *snap,
                                    struct arena *arena)
{
	struct verdict *v = arena_array(arena, struct verdict, snap->pend.n);

	for (uint32_t i = 0; i < snap->pend.n; i++)
		v[i] = (struct verdict){ .why = WHY_None,
			                 .name = SNAP_NONE,
			                 .expected = SNAP_NEVER };
	return v;
}

static struct pass *pass_new(const struct snap *snap, struct arena *arena)
{
	struct pass *p = arena_array(arena, struct pass, 1);

	p->snap = snap;
	p->arena = arena;
	p->order = order_new(snap, arena);
	p->place = place_new(snap, arena);
	p->ever = ever_new(snap, p->place->match, p->place->empty, arena);
	p->looked_at = arena_array(arena, uint8_t, snap->pend.n);
	p->failed = arena_array(arena, uint32_t, snap->req.n);
	p->same_as = arena_array(arena, uint32_t, snap->pend.n);
	for (uint32_t i = 0; i < snap->pend.n; i++)
		p->same_as[i] = SNAP_NONE;
	for (uint32_t i = 0; i < snap->req.n; i++)
		p->failed[i] = SNAP_NONE;
	return p;
}

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

static void start_job(struct pass *p, uint32_t row)
{
	struct place *place = p->place;

	if (p->nstarts == p->start_cap) {
		size_t cap = p->start_cap ? 2 * p->start_cap : 64;
		struct start *start = arena_array(p->arena, struct start, cap);

		if (p->nstarts)
			memcpy(start, p->start, p->nstarts * sizeof(*start));
		p->start = start;
		p->start_cap = cap;
	}
	p->start[p->nstarts++] = (struct start){
		.row = row,
		.member = p->order->next[row],
		.task_first = (uint32_t)place->first_task,
		.ntasks = (uint32_t)(place->ntasks - place->first_task),
	};
	admit_charge(place->work, row);
	place_commit(place, p->snap->pend.req[row]);
}

/* What it could use is not for those behind it. */
static void hold(struct pass *p, uint32_t row)
{
	const struct snap *s = p->snap;
	uint64_t job = s->member[p->order->next[row]].job;
	uint32_t run = s->pend.resumes[row];

	if (run == SNAP_NONE) {
		place_hold(p->place, s->pend.req[row], job);
		return;
	}
	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++)
		place_hold_node(p->place, s->task[t].node, job);
}

static void say_lack(struct pass *p, uint32_t row, const struct lack *lack)
{
	struct verdict *v = &p->verdict[row];

	say(p, row,
	    lack->scattered ? WHY_Fragmentation
	    : lack->got     ? WHY_GangPartial
	                    : WHY_Resources,
	    lack->node);
	v->num[NUM_WHAT] = lack->what;
	v->num[NUM_NEED] = lack->need;
	v->num[NUM_HAVE] = lack->have;
	v->num[NUM_TOTAL] = lack->total;
	v->num[NUM_SUM] = lack->sum;
	v->num[NUM_GOT] = lack->got;
	if (p->nblocked < FORECAST_ROWS)
		p->blocked[p->nblocked++] = row;
	hold(p, row);
}

/* It would fit but for jobs ahead: say for whom its nodes are held. */
static void say_priority(struct pass *p, uint32_t row)
{
	const struct place *place = p->place;

	say(p, row, WHY_Priority, SNAP_NONE);
	for (size_t i = place->first_task; i < place->ntasks; i++) {
		uint32_t node = place->task[i].node;

		if (!place->holder[node])
			continue;
		p->verdict[row].job = place->holder[node];
		p->verdict[row].name = node;
		break;
	}
	place_undo(p->place);
	hold(p, row);
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
	place_undo(p->place);
}

/* It does not fit on the nodes that are open to it: why? */
static void block(struct pass *p, uint32_t row)
{
	uint32_t req = p->snap->pend.req[row];
	unsigned trees = place_trees(p->place, req);
	struct lack lack;

	if (!ever_fits_up(p->ever, row, &p->verdict[row]))
		return;
	if (trees & IN_HELD &&
	    place_try(p->place, req, p->snap->req.min_tasks[req],
	              IN_OPEN | IN_HELD, NULL))
		say_priority(p, row);
	else if (place_try(p->place, req, p->snap->req.min_tasks[req], trees,
	                   &lack))
		say_start_failed(p, row);
	else
		say_lack(p, row, &lack);
}

static bool serve_request(struct pass *p, uint32_t row)
{
	uint32_t req = p->snap->pend.req[row];

	/* Nothing becomes free in a pass: once is enough. */
	p->same_as[row] = p->failed[req];
	if (p->same_as[row] != SNAP_NONE)
		return false;
	if (!place_try(p->place, req, p->snap->req.min_tasks[req], IN_OPEN,
	               NULL)) {
		p->failed[req] = row;
		block(p, row);
		return false;
	}
	start_job(p, row);
	return true;
}

static bool serve_resume(struct pass *p, uint32_t row)
{
	const struct snap *s = p->snap;
	uint32_t run = s->pend.resumes[row];
	struct lack lack;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		uint32_t node = s->task[t].node;

		if (!s->pool.ready[s->node.pool[node]]) {
			say(p, row, WHY_RunnerDown, s->node.pool[node]);
			return false;
		}
		if (s->node.state[node] == NODE_DOWN) {
			say(p, row, WHY_NodeDown, node);
			return false;
		}
	}
	if (place_try_resume(p->place, run, false, NULL)) {
		start_job(p, row);
		return true;
	}
	if (place_try_resume(p->place, run, true, &lack))
		say_priority(p, row);
	else
		say_lack(p, row, &lack);
	return false;
}

/* Start the next job of the row, or say why it waits. */
static bool serve(struct pass *p, uint32_t row)
{
	if (!could_start(p, row) ||
	    admit_now(p->place->work, row, &p->verdict[row]) != WHY_None)
		return false;
	if (p->snap->pend.resumes[row] != SNAP_NONE)
		return serve_resume(p, row);
	return serve_request(p, row);
}

/* What can only be said when all had their turn. */
static void complete_verdicts(struct pass *p, const struct plan *plan)
{
	const struct snap *s = p->snap;
	uint32_t *position = arena_array(p->arena, uint32_t, s->pend.n);

	forecast(p->place, plan, p->blocked, p->nblocked, p->verdict);
	order_positions(p->order, position, p->arena);
	for (uint32_t row = 0; row < s->pend.n; row++) {
		struct verdict *v = &p->verdict[row];
		uint32_t m = p->order->limited[row];

		if (p->same_as[row] != SNAP_NONE)
			*v = p->verdict[p->same_as[row]];
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

/* What the pass itself needed goes with it. */
static const struct plan *plan_of(const struct pass *p, struct arena *arena)
{
	const struct place *place = p->place;
	struct plan *plan = arena_array(arena, struct plan, 1);

	*plan = (struct plan){
		.gen = p->snap->gen,
		.nverdicts = p->snap->pend.n,
		.nstarts = (uint32_t)p->nstarts,
		.verdict = p->verdict,
		.start = copy(arena, p->start, p->nstarts, sizeof(*p->start)),
		.task = copy(arena, place->task, place->ntasks + 1,
		             sizeof(*place->task)),
		.cpu_use =
		    copy(arena, place->use, place->nuse, sizeof(*place->use)),
	};
	return plan;
}

const struct plan *sched_plan(const struct snap *snap, struct arena *arena)
{
	struct arena *scratch = arena_new();
	struct pass *p = pass_new(snap, scratch);
	const struct plan *plan;
	uint32_t row;

	p->verdict = verdicts_new(snap, arena);
	while (order_first(p->order, &row)) {
		if (serve(p, row))
			order_started(p->order);
		else
			order_drop(p->order); /* its others are alike */
	}
	plan = plan_of(p, arena);
	complete_verdicts(p, plan);
	arena_free(scratch);
	return plan;
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
		                   work_new(snap, WORK_EMPTY, arena), arena),
		          row, &v);
	if (v.why == WHY_NeverFits || v.why == WHY_ExceedsQueueLimit) {
		verdict_text(snap, row, &v, &text);
		ret = err_set(err, EINVAL, "%s", text.data);
	}
	buf_free(&text);
	arena_free(arena);
	return ret;
}
