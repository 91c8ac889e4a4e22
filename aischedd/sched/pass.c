/* pass.c - the decisions of a pass: starts, more tasks, claims */
#include "aischedd/sched/pass.h"

#include <string.h>

struct pass *pass_new(const struct snap *snap, struct arena *arena)
{
	struct pass *p = arena_array(arena, struct pass, 1);

	p->snap = snap;
	p->arena = arena;
	snap_capacity(snap, p->capacity);
	p->tally = tally_new(snap, arena);
	p->order = order_new(snap, p->tally, p->capacity, arena);
	p->place = place_new(snap, p->tally, arena);
	p->promises = promise_new(p->place, p->tally);
	p->empty =
	    fit_empty_new(snap, p->place->match, p->place->domains, arena);
	p->looked_at = arena_array(arena, uint8_t, snap->pend.n);
	p->failed = arena_array(arena, uint32_t, snap->req.n);
	p->promised_in = arena_array(arena, uint8_t, snap->pool.n);
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

void pass_start(struct pass *p, uint32_t row)
{
	struct place *place = p->place;
	uint32_t ntasks = (uint32_t)(place->ntasks - place->first_task);
	uint32_t node = place->task[place->first_task].node;
	struct demand d = admit_demand_start(p->snap, row, ntasks);
	struct start *start =
	    arena_push(p->arena, &p->start, sizeof(struct start));

	if (p->snap->pend.resumes[row] != SNAP_NONE)
		p->settled[p->snap->pend.resumes[row]] = 1;
	*start = (struct start){
		.row = row,
		.member = p->order->next[row],
		.task_first = (uint32_t)place->first_task,
		.ntasks = ntasks,
		.backfilled = p->promised_in[p->snap->node.pool[node]],
	};
	admit_charge(place->work, &d, 1);
	promise_started(p->promises, d.req);
	promise_took(p->promises, row, &d, place->until);
	promise_began(p->promises, row, place->until,
	              place->task + start->task_first, ntasks);
	order_take_array(p->order, row);
	place_commit(place, d.req);
	if (d.starts && ntasks < p->snap->req.tasks[d.req])
		order_add_elastic(
		    p->order,
		    &(struct order_elastic){ .row = row,
		                             .member = start->member,
		                             .start = (uint32_t)p->start.n - 1,
		                             .ntasks = ntasks });
}

/* --- more tasks for jobs that start -------------------------------------- */

static void own_task(struct place *place, uint32_t task, bool own)
{
	if (own)
		place_own(place, &place->task[task], true);
	else
		place_disown(place, place->task[task].node);
}

/* Count the tasks of a start as tasks of the job being placed or, if `own` is
 * false, stop counting them. */
static void own_start(struct pass *p, const struct order_elastic *e, bool own)
{
	const struct start *start = (struct start *)p->start.p + e->start;
	const struct extra *extra = p->extra.p;
	uint32_t first = e->ntasks;

	for (uint32_t i = e->extra; i; i = extra[i - 1].next, first--)
		own_task(p->place, extra[i - 1].task, own);
	for (uint32_t i = 0; i < first; i++)
		own_task(p->place, start->task_first + i, own);
}

/* Try to place a task on a node that the job already has: on the node of the
 * last task that it got in this pass, else on those of its first tasks. */
static bool try_own_nodes(struct pass *p, struct order_elastic *e)
{
	const struct start *start = (struct start *)p->start.p + e->start;
	const struct extra *extra = p->extra.p;
	uint32_t req = p->snap->pend.req[e->row];

	if (e->extra &&
	    place_try_beside(p->place, req,
	                     p->place->task[extra[e->extra - 1].task].node))
		return true;
	for (; e->full < start->ntasks; e->full++) {
		const struct snap_task *task = p->place->task;

		task += start->task_first + e->full;
		if (place_try_beside(p->place, req, task->node))
			return true;
	}
	return false;
}

bool pass_try_extra(struct pass *p, struct order_elastic *e)
{
	const struct snap_reqs *r = &p->snap->req;
	const struct start *start = (struct start *)p->start.p + e->start;
	uint32_t req = p->snap->pend.req[e->row];

	if ((r->nodes[req] || r->tasks_per_node[req] ||
	     (p->place->work->grouped && r->gpus[req] >= 1000 &&
	      r->links[req] != LINKS_ANY)) &&
	    !p->owner) {
		own_start(p, e, true);
		p->owner = e->start + 1;
	}
	return (r->exclusive[req] && try_own_nodes(p, e)) ||
	       place_try_more(p->place, req,
	                      p->place->task[start->task_first].node, NULL);
}

void pass_disown(struct pass *p, const struct order_elastic *but)
{
	const struct order_elastic *e = p->order->elastic.p;

	if (!p->owner || (but && but->start + 1 == p->owner))
		return;
	while (e->start + 1 != p->owner)
		e++;
	own_start(p, e, false);
	p->owner = 0;
}

void pass_extra(struct pass *p, struct order_elastic *e)
{
	struct place *place = p->place;
	struct demand d = admit_demand_extra(p->snap, e->row);
	struct extra *extra = arena_push(p->arena, &p->extra, sizeof(*extra));
	uint32_t node = place->task[place->first_task].node;
	uint32_t own = place->own[node];
	uint64_t gpus = place->work->own_gpus[node];

	*extra = (struct extra){ (uint32_t)place->first_task, e->extra };
	e->extra = (uint32_t)p->extra.n;
	admit_charge(place->work, &d, 1);
	promise_started(p->promises, d.req);
	promise_took(p->promises, e->row, &d, place->until);
	place_commit(place, d.req);
	if (!p->owner)
		return;
	place->own[node] = own;
	place->work->own_gpus[node] = gpus;
	place->had[node] = (struct place_had){ own, gpus };
}

/* --- reorder tasks by start ----------------------------------------------- */

/* Append a task and its CPUs to the new arrays. */
static void lay(struct place *to, const struct place *from, uint32_t task)
{
	const struct snap_task *t = from->task + task;
	uint32_t ncpus = t[1].cpu_first - t->cpu_first;

	if (to->held)
		to->held[to->ntasks] = place_pieces(from, task);
	to->task[to->ntasks] = *t;
	to->task[to->ntasks++].cpu_first = (uint32_t)to->nuse;
	if (ncpus)
		memcpy(to->use + to->nuse, from->use + t->cpu_first,
		       ncpus * sizeof(*to->use));
	to->nuse += ncpus;
}

/* Append the tasks of a start, first those with which it started, then those
 * that it got later. Later tasks are listed from the last to the first, so
 * reverse their list. */
static void lay_start(const struct pass *p, struct place *to,
                      struct start *start, const struct order_elastic *e)
{
	const struct extra *extra = p->extra.p;
	uint32_t n = e->ntasks - start->ntasks, first = (uint32_t)to->ntasks;
	uint32_t *task = arena_array_raw(p->arena, uint32_t, n);

	for (uint32_t i = n, at = e->extra; i-- > 0; at = extra[at - 1].next)
		task[i] = extra[at - 1].task;
	for (uint32_t i = 0; i < start->ntasks; i++)
		lay(to, p->place, start->task_first + i);
	for (uint32_t i = 0; i < n; i++)
		lay(to, p->place, task[i]);
	start->task_first = first;
	start->ntasks += n;
}

void pass_lay_out(struct pass *p)
{
	struct place *place = p->place, to = { 0 };
	const struct order_elastic *e = p->order->elastic.p;
	uint32_t left = (uint32_t)p->order->elastic.n;
	struct start *start = p->start.p;
	struct grow *grow = p->grow.p;

	if (!p->extra.n)
		return;
	to.task = arena_array(p->arena, struct snap_task, place->ntasks + 1);
	to.use = arena_array(p->arena, struct snap_cpu_use, place->nuse);
	if (place->held)
		to.held = arena_array(p->arena, uint64_t, place->ntasks + 1);
	for (uint32_t i = 0; i < p->start.n; i++) {
		bool is_elastic = left && e->start == i;

		lay_start(p, &to, &start[i],
		          is_elastic ? e
		                     : &(struct order_elastic){
					   .ntasks = start[i].ntasks });
		e += is_elastic;
		left -= is_elastic;
	}
	for (uint32_t i = 0; i < p->grow.n; i++) {
		uint32_t first = (uint32_t)to.ntasks;

		for (uint32_t k = 0; k < grow[i].ntasks; k++)
			lay(&to, place, grow[i].task_first + k);
		grow[i].task_first = first;
	}
	to.task[to.ntasks].cpu_first = (uint32_t)to.nuse;
	place->task = to.task;
	place->held = to.held;
	place->use = to.use;
	place->ntasks = to.ntasks;
	place->nuse = to.nuse;
}

/* --- more tasks for running jobs, and claims ------------------------------ */

static void add_task(struct pass *p, uint32_t run, const struct snap_task *task)
{
	struct more *more =
	    arena_push(p->arena, &p->more_node, sizeof(struct more));

	*more = (struct more){ *task, p->more[run] };
	p->more[run] = (uint32_t)p->more_node.n;
}

uint32_t pass_own(struct pass *p, uint32_t run, bool own)
{
	const struct snap *s = p->snap;
	const struct more *more = p->more_node.p;
	uint32_t nodes = 0;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		nodes += !p->place->own[s->task[t].node];
		if (own)
			place_own(p->place, &s->task[t], true);
		else
			place_disown(p->place, s->task[t].node);
	}
	for (uint32_t i = p->more[run]; i; i = more[i - 1].next) {
		nodes += !p->place->own[more[i - 1].task.node];
		if (own)
			place_own(p->place, &more[i - 1].task, true);
		else
			place_disown(p->place, more[i - 1].task.node);
	}
	return nodes;
}

static bool has_node_down(const struct snap *s, uint32_t run)
{
	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (s->node.state[s->task[t].node] == NODE_DOWN)
			return true;
	}
	return false;
}

struct place_growth pass_growth(struct pass *p, uint32_t run)
{
	const struct snap_reqs *r = &p->snap->req;
	uint32_t req = p->snap->run.req[run], nodes = r->nodes[req], have;
	uint32_t missing = r->tasks[req] - order_tasks(p->order, run);
	struct place_growth ret = { .tasks = 1, .later = missing - 1 };

	if (!nodes && !match_req(p->place->match, req)->ncounts)
		return ret;
	/* The other tasks there may be lost, too: wait until that is known. */
	if (nodes && has_node_down(p->snap, run))
		return (struct place_growth){ 0 };
	have = pass_own(p, run, true);
	if (!nodes || have < nodes)
		place_count_wants(p->place, req, ret.wants);
	pass_own(p, run, false);
	if (!nodes)
		return ret;
	ret.opens = have < nodes;
	ret.later = ret.opens ? nodes - have - 1 : 0;
	if (ret.opens && r->min_tasks[req] == r->tasks[req])
		ret.tasks = (missing + nodes - have - 1) / (nodes - have);
	if (r->tasks_per_node[req] && ret.tasks > r->tasks_per_node[req])
		ret.tasks = r->tasks_per_node[req];
	return ret;
}

void pass_grow(struct pass *p, uint32_t run)
{
	struct place *place = p->place;
	struct demand d = admit_demand_more(p->snap, run, 1);
	struct grow *grow = arena_push(p->arena, &p->grow, sizeof(struct grow));

	p->settled[run] = 1;
	*grow = (struct grow){
		.run = run,
		.task_first = (uint32_t)place->first_task,
		.ntasks = (uint32_t)(place->ntasks - place->first_task),
	};
	for (uint32_t i = 0; i < grow->ntasks; i++) {
		admit_charge(place->work, &d, 1);
		promise_grew(p->promises, run, 1);
		add_task(p, run, &place->task[grow->task_first + i]);
	}
	promise_started(p->promises, d.req);
	place_commit(place, d.req);
}

void pass_claim(struct pass *p, uint32_t row, uint32_t run)
{
	struct plan_claim *claim =
	    arena_push(p->arena, &p->claim, sizeof(*claim));

	if (run != SNAP_NONE)
		p->settled[run] = 1;
	*claim = (struct plan_claim){
		.row = row,
		.member = row == SNAP_NONE ? SNAP_NONE : p->order->next[row],
		.run = run,
		.node_first = (uint32_t)p->claim_node.n,
	};
	if (row != SNAP_NONE) {
		promise_began(p->promises, row, place_row_end(p->snap, row),
		              NULL, 0);
		order_take_array(p->order, row);
	}
}

void pass_claim_node(struct pass *p, uint32_t node)
{
	struct plan_claim *claim = p->claim.p;

	*(uint32_t *)arena_push(p->arena, &p->claim_node, sizeof(uint32_t)) =
	    node;
	claim += p->claim.n - 1;
	claim->n++;
	if (claim->row == SNAP_NONE)
		add_task(p, claim->run, &(struct snap_task){ .node = node });
}
