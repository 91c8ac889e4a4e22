/* evict_victim.c - who may leave for others, the first to go first */
#include "aischedd/sched/evict_victim.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/order_service.h"

/* A run that may be evicted. */
struct victim {
	uint32_t run;
	int64_t standing, lost, start;
	uint64_t job;
};

static int by_turn(const void *a, const void *b)
{
	const struct victim *x = a, *y = b;

	if (x->standing != y->standing)
		return x->standing < y->standing ? -1 : 1;
	if (x->lost != y->lost)
		return x->lost < y->lost ? -1 : 1;
	if (x->start != y->start)
		return x->start > y->start ? -1 : 1;
	return x->job > y->job ? -1 : 1;
}

/* Seconds of work since it started, in all devices it holds. */
static int64_t work_lost(const struct snap *s, uint32_t run)
{
	uint32_t req = s->run.req[run];
	int64_t each = s->req.gpus[req] ? s->req.gpus[req] : s->req.cpus[req];

	return (s->now - s->run.start[run]) * each * run_ntasks(s, run);
}

static bool may_leave(const struct snap *s, uint32_t run)
{
	return s->run.preemptible[run] && !s->run.ending[run] &&
	       s->run.safe_until[run] <= s->now;
}

static void list_victims(struct evictor *e)
{
	const struct snap *s = e->s;
	struct victim *v = arena_array(e->p->arena, struct victim, e->norder);
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->run.n; i++) {
		e->rank[i] = SNAP_NONE;
		if (!may_leave(s, i))
			continue;
		v[n++] =
		    (struct victim){ i, standing_of_run(s, i), work_lost(s, i),
			             s->run.start[i], s->run.job[i] };
		e->surplus[i] = victim_surplus(s, i, run_ntasks(s, i));
	}
	qsort(v, n, sizeof(*v), by_turn);
	for (uint32_t i = 0; i < n; i++) {
		e->order[i] = v[i].run;
		e->rank[v[i].run] = i;
	}
}

/* The tasks of a run go before those that are on its nodes already. */
static void list_run(struct evictor *e, uint32_t run, uint32_t *end)
{
	const struct snap *s = e->s;

	for (uint32_t t = s->run.task_first[run + 1];
	     t-- > s->run.task_first[run];) {
		e->owner[t] = run;
		e->left[t] = s->run.ending[run] ? LEFT : STAYS;
		e->at[--end[s->task[t].node]] = t;
	}
}

/* The tasks on each node: of whoever leaves already, then of those who may
 * go, in their order. */
static void list_tasks(struct evictor *e)
{
	const struct snap *s = e->s;
	uint32_t *count = e->first + 1, n;

	for (uint32_t run = 0; run < s->run.n; run++) {
		for (uint32_t t = s->run.task_first[run];
		     (e->rank[run] != SNAP_NONE || s->run.ending[run]) &&
		     t < s->run.task_first[run + 1];
		     t++)
			count[s->task[t].node]++;
	}
	for (uint32_t i = 0; i < s->node.n; i++)
		count[i] += e->first[i];
	n = e->first[s->node.n];
	e->at = arena_array(e->p->arena, uint32_t, n);
	for (uint32_t i = e->norder; i-- > 0;)
		list_run(e, e->order[i], count);
	for (uint32_t run = 0; run < s->run.n; run++) {
		if (s->run.ending[run])
			list_run(e, run, count);
	}
	/* What was the end of each node's slice is its beginning now. */
	memmove(e->first, count, s->node.n * sizeof(*count));
	e->first[s->node.n] = n;
}

struct evictor *victims_new(struct pass *p)
{
	const struct snap *s = p->snap;
	struct evictor *e = arena_array(p->arena, struct evictor, 1);

	e->p = p;
	e->s = s;
	e->w = p->place->work;
	e->allowed = arena_array(p->arena, uint8_t, s->queue.n);
	e->norder = p->tally->victims;
	pass_wake(p, p->tally->wake);
	return e;
}

void victims_list(struct evictor *e)
{
	const struct snap *s = e->s;
	struct arena *arena = e->p->arena;
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;

	if (e->order)
		return;
	e->order = arena_array(arena, uint32_t, s->run.n);
	e->rank = arena_array(arena, uint32_t, s->run.n);
	e->owner = arena_array(arena, uint32_t, ntasks);
	e->first = arena_array(arena, uint32_t, s->node.n + 1);
	e->surplus = arena_array(arena, int64_t, s->run.n);
	e->whole = arena_array(arena, int64_t, s->run.n);
	e->left = arena_array(arena, int64_t, ntasks);
	e->why = arena_array(arena, uint8_t, s->run.n);
	e->suspend = arena_array(arena, uint8_t, s->run.n);
	e->by = arena_array(arena, uint64_t, s->run.n);
	e->reach = arena_array(arena, uint8_t, s->node.n);
	e->only = arena_array(arena, uint8_t, s->run.n);
	e->moved_at = arena_array(arena, uint32_t, s->run.n);
	e->domains = e->p->place->domains;
	list_victims(e);
	list_tasks(e);
}
