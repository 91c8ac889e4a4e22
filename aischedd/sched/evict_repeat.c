/* evict_repeat.c - whether somebody who waits may take from those who start */
#include "aischedd/sched/evict_repeat.h"

#include "aischedd/sched/evict_victim.h"
#include "aischedd/sched/order_service.h"

struct again {
	const struct pass *p;
	const struct snap *s;
	uint8_t *gains;  /* by queue: somebody below it starts or grows */
	uint32_t *above; /* queues that gain and use more than their share */
	uint32_t nabove;
	int64_t *returned; /* by queue: least standing of who starts on a claim,
	                    * or INT64_MAX */
};

static void gain(struct again *a, uint32_t queue)
{
	for (; queue != SNAP_NONE; queue = a->s->queue.parent[queue])
		a->gains[queue] = 1;
}

static bool is_above(const struct again *a, uint32_t queue)
{
	const int64_t *share = a->p->tree->share[queue];

	for (int r = 0; r < RES_N; r++) {
		if (share[r] != CONF_NONE &&
		    a->p->place->work->used[queue][r] > share[r])
			return true;
	}
	return false;
}

static void list_gains(struct again *a)
{
	const struct snap *s = a->s;
	const struct start *start = a->p->start.p;
	const struct grow *grow = a->p->grow.p;

	for (size_t i = 0; i < a->p->start.n; i++) {
		uint32_t queue = s->pend.queue[start[i].row];
		int64_t standing = standing_of_row(s, start[i].row);

		if (!s->pend.preemptible[start[i].row])
			continue;
		gain(a, queue);
		if (i < a->p->nsettled && standing < a->returned[queue])
			a->returned[queue] = standing;
	}
	for (size_t i = 0; i < a->p->grow.n; i++) {
		if (s->run.preemptible[grow[i].run])
			gain(a, s->run.queue[grow[i].run]);
	}
	for (uint32_t q = 0; q < s->queue.n; q++) {
		if (a->gains[q] && is_above(a, q))
			a->above[a->nabove++] = q;
	}
}

/* Whether the row's next job is within the share of a queue; were all others of
 * that gone, if some of them could leave for it. */
static bool is_within(const struct again *a, uint32_t queue, uint32_t row)
{
	const int64_t *share = a->p->tree->share[queue];
	const int64_t *used = a->p->place->work->used[queue];
	uint32_t req = a->s->pend.req[row], own = a->s->pend.queue[row];
	struct demand d = demand_start(a->s, row, a->s->req.min_tasks[req]);
	bool alone = a->p->evict && a->p->tally->queue[own].lowest <
	                                standing_of_row(a->s, row);

	for (int r = 0; r < RES_N; r++) {
		if (share[r] != CONF_NONE && d.amount[r] &&
		    (alone ? 0 : used[r]) + d.amount[r] > share[r])
			return false;
	}
	return true;
}

/* Whether it may reclaim from a queue that is above its share. */
static bool may_reclaim(const struct again *a, uint32_t row, uint32_t from)
{
	const uint32_t *parent = a->s->queue.parent;
	uint32_t q = a->s->pend.queue[row];

	while (q != SNAP_NONE && q != from && q != parent[from] &&
	       is_within(a, q, row))
		q = parent[q];
	return q == parent[from];
}

static bool may_take(const struct again *a, uint32_t row)
{
	const struct snap *s = a->s;
	uint32_t i = 0;

	if (order_waiting(a->p->order, row) == SNAP_NONE ||
	    s->pend.barred[row] || s->pend.resumes[row] != SNAP_NONE)
		return false;
	while (i < a->nabove && !may_reclaim(a, row, a->above[i]))
		i++;
	return i < a->nabove ||
	       standing_of_row(s, row) > a->returned[s->pend.queue[row]];
}

bool again_is_due(const struct pass *p)
{
	const struct snap *s = p->snap;
	struct again a = { .p = p, .s = s };
	uint32_t row = 0;

	if (!p->start.n && !p->grow.n)
		return false;
	a.gains = arena_array(p->arena, uint8_t, s->queue.n);
	a.above = arena_array(p->arena, uint32_t, s->queue.n);
	a.returned = arena_array(p->arena, int64_t, s->queue.n);
	for (uint32_t q = 0; q < s->queue.n; q++)
		a.returned[q] = INT64_MAX;
	list_gains(&a);
	while (row < s->pend.n && !may_take(&a, row))
		row++;
	return row < s->pend.n;
}
