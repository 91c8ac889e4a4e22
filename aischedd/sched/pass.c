/* pass.c - what a pass decides: starts, more tasks, nodes that are held */
#include "aischedd/sched/pass.h"

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
		add_node(p, run, place->task[grow->task_first + i].node);
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
}

void pass_claim_node(struct pass *p, uint32_t node)
{
	struct plan_claim *claim = p->claim.p;

	*(uint32_t *)arena_push(p->arena, &p->claim_node, sizeof(uint32_t)) =
	    node;
	claim += p->claim.n - 1;
	claim->n++;
	if (claim->row == SNAP_NONE)
		add_node(p, claim->run, node);
}
