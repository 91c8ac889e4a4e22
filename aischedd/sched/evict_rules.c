/* evict_rules.c - from whom the rules let a claimant take resources */
#include "aischedd/sched/evict_rules.h"

#include "aischedd/sched/order_service.h"

/* Whether the queue stays within its share if the claimant's demand is added to
 * what it uses now. */
static bool is_within(const struct evictor *e, uint32_t queue)
{
	const int64_t *more = e->c->demand.amount;
	const int64_t *share = e->p->queues->share[queue];

	for (int r = 0; r < RES_N; r++) {
		if (share[r] != CONF_NONE && more[r] &&
		    e->w->used[queue][r] + more[r] > share[r])
			return false;
	}
	return true;
}

/* Returns the resources of which a queue uses more than its share, as bits. */
static unsigned above(const struct evictor *e, uint32_t queue)
{
	const int64_t *share = e->p->queues->share[queue];
	unsigned ret = 0;

	for (unsigned r = 0; r < RES_N; r++) {
		if (share[r] != CONF_NONE && e->w->used[queue][r] > share[r])
			ret |= 1U << r;
	}
	return ret;
}

/* Returns the resources that a run holds, as bits. */
static unsigned held_by(const struct evictor *e, uint32_t run)
{
	int64_t has[RES_N];
	unsigned ret = 0;

	work_amount(e->s, run, 1, has);
	for (unsigned r = 0; r < RES_N; r++) {
		if (has[r])
			ret |= 1U << r;
	}
	return ret;
}

/* Find the lowest queue that is above both `from` and the claimant's queue.
 * Returns its child that is `from` or above `from`: the branch of `from`. */
static uint32_t branch_of(const struct evictor *e, uint32_t from)
{
	const uint32_t *parent = e->s->queue.parent;

	while (parent[from] != SNAP_NONE &&
	       !snap_queue_is_above(e->s, parent[from], e->c->demand.queue))
		from = parent[from];
	return from;
}

/* Returns, as bits, the resources of which the branch of queue `from` uses more
 * than its share. Returns 0 if the claimant may not reclaim from it now,
 * because the claimant's own branch would then exceed its share. */
static unsigned may_reclaim(const struct evictor *e, uint32_t from)
{
	const uint32_t *parent = e->s->queue.parent;
	uint32_t q = e->c->demand.queue;
	unsigned ret;

	from = branch_of(e, from);
	ret = above(e, from);
	for (; ret && q != SNAP_NONE && q != parent[from]; q = parent[q]) {
		if (!is_within(e, q))
			return 0;
	}
	return ret;
}

bool evict_rules_allow(const struct evictor *e, uint32_t run)
{
	uint32_t queue = e->s->run.queue[run];

	if (e->p->settled[run] || (e->chosen && !e->only[run]) ||
	    snap_is_beside(e->s, e->c->req, e->s->run.job[run]))
		return false;
	if (e->mode == MODE_MOVE)
		return !e->why[run] && !evict_trial_moved_of(e, run);
	if (queue == e->c->demand.queue)
		return e->mode != MODE_RECLAIM &&
		       order_standing_kept(e->s, run) < e->c->standing;
	if (e->mode == MODE_STRICT)
		return held_by(e, run) & may_reclaim(e, queue) &&
		       held_by(e, run) &
		           evict_trial_above(e, branch_of(e, queue), run);
	return held_by(e, run) & e->allowed[queue] &
	       evict_trial_noted_above(e, run);
}

void evict_rules_begin(struct evictor *e)
{
	if (e->mode == MODE_MOVE)
		return;
	evict_trial_begin(e);
	for (uint32_t q = 0; e->mode != MODE_STRICT && q < e->s->queue.n; q++) {
		if (e->allowed[q])
			evict_trial_note_above(e, q, branch_of(e, q));
	}
}

bool evict_rules_allow_any(struct evictor *e)
{
	const struct snap *s = e->s;
	const struct tally_queue *queue = e->p->tally->queue;
	bool any = queue[e->c->demand.queue].lowest < e->c->standing;

	for (uint32_t q = 0; q < s->queue.n; q++) {
		bool other =
		    q != e->c->demand.queue && queue[q].lowest != INT64_MAX;

		e->allowed[q] = other ? (uint8_t)may_reclaim(e, q) : 0;
		any |= e->allowed[q] != 0;
	}
	return any;
}

/* --- the whole set of victims ------------------------------------------ */

/* A step evicts tasks: add them to the use of their queue again (sign 1), or
 * subtract them (-1). */
static void count_step(struct evictor *e, const struct evict_step *step,
                       int sign)
{
	const struct snap *s = e->s;
	int64_t n = 0;

	if (step->seen || step->stays)
		return;
	if (step->task != SNAP_NONE) {
		evict_trial_charge(e, step->run,
		                   e->left[step->task] == FATE_GIVEN, false,
		                   sign);
		return;
	}
	for (uint32_t t = s->run.task_first[step->run];
	     t < s->run.task_first[step->run + 1]; t++)
		n += e->left[t] == FATE_GONE;
	evict_trial_charge(e, step->run, n, true, sign);
}

/* Whether the rules allow to evict the victim of a step: its queue is that of
 * the claimant, or its branch uses more than its share of a resource that the
 * victim holds. Raises *top to the parent of the victim's branch if that queue
 * is above *top. */
static bool is_lawful(const struct evictor *e, const struct evict_step *step,
                      uint32_t *top)
{
	const uint32_t *parent = e->s->queue.parent;
	uint32_t from = e->s->run.queue[step->run];

	if (from == e->c->demand.queue)
		return true;
	from = branch_of(e, from);
	if (snap_queue_is_above(e->s, parent[from], *top))
		*top = parent[from];
	return evict_trial_above(e, from, step->run) & held_by(e, step->run);
}

bool evict_rules_hold(struct evictor *e)
{
	const uint32_t *parent = e->s->queue.parent;
	size_t mark = work_mark(e->w);
	uint32_t q = e->c->demand.queue, top = q;
	bool hold = true;

	for (size_t i = 0; i < e->step.n; i++)
		count_step(e, evict_step_at(e, i), 1);
	/* First check the runs that move. They stay counted as use of their
	 * queues, because they lose nothing. */
	for (size_t i = 0; i < e->step.n && hold; i++) {
		const struct evict_step *step = evict_step_at(e, i);

		if (!step->seen && !step->stays &&
		    evict_trial_moves(e, step->run))
			hold = is_lawful(e, step, &top);
	}
	for (size_t i = 0; i < e->step.n && hold; i++) {
		const struct evict_step *step = evict_step_at(e, i);

		if (step->seen || step->stays ||
		    evict_trial_moves(e, step->run))
			continue;
		hold = is_lawful(e, step, &top);
		count_step(e, step, -1);
	}
	for (; hold && q != top; q = parent[q])
		hold = is_within(e, q);
	work_undo(e->w, mark);
	return hold;
}

struct evict_repeat {
	const struct pass *p;
	const struct snap *s;
	uint8_t *gains;  /* by queue: 1 if a job of the queue, or below it,
	                    starts or grows */
	uint32_t *above; /* queues that gain jobs or tasks and use more than
	                    their share */
	uint32_t nabove;
	int64_t *returned; /* by queue: the lowest standing of its jobs that
	                      start on a claim, or INT64_MAX */
};

static void gain(struct evict_repeat *a, uint32_t queue)
{
	for (; queue != SNAP_NONE; queue = a->s->queue.parent[queue])
		a->gains[queue] = 1;
}

static bool uses_more(const struct evict_repeat *a, uint32_t queue)
{
	const int64_t *share = a->p->queues->share[queue];

	for (int r = 0; r < RES_N; r++) {
		if (share[r] != CONF_NONE &&
		    a->p->place->work->used[queue][r] > share[r])
			return true;
	}
	return false;
}

static void list_gains(struct evict_repeat *a)
{
	const struct snap *s = a->s;
	const struct start *start = a->p->start.p;
	const struct grow *grow = a->p->grow.p;

	for (size_t i = 0; i < a->p->start.n; i++) {
		uint32_t queue = s->pend.queue[start[i].row];
		int64_t standing = order_standing_of_row(s, start[i].row);

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
		if (a->gains[q] && uses_more(a, q))
			a->above[a->nabove++] = q;
	}
}

/* Whether the queue stays within its share if the row's next job starts. If the
 * job can evict jobs of its own queue, assume that the queue uses nothing else.
 */
static bool within_share(const struct evict_repeat *a, uint32_t queue,
                         uint32_t row)
{
	const int64_t *share = a->p->queues->share[queue];
	const int64_t *used = a->p->place->work->used[queue];
	uint32_t req = a->s->pend.req[row], own = a->s->pend.queue[row];
	struct demand d =
	    admit_demand_start(a->s, row, a->s->req.min_tasks[req]);
	bool alone = a->p->evict && a->p->tally->queue[own].lowest <
	                                order_standing_of_row(a->s, row);

	for (int r = 0; r < RES_N; r++) {
		if (share[r] != CONF_NONE && d.amount[r] &&
		    (alone ? 0 : used[r]) + d.amount[r] > share[r])
			return false;
	}
	return true;
}

/* Whether the row's next job may reclaim from queue `from`, which is above its
 * share. */
static bool repeat_reclaims(const struct evict_repeat *a, uint32_t row,
                            uint32_t from)
{
	const uint32_t *parent = a->s->queue.parent;
	uint32_t q = a->s->pend.queue[row];

	while (q != SNAP_NONE && q != from && q != parent[from] &&
	       within_share(a, q, row))
		q = parent[q];
	return q == parent[from];
}

static bool repeat_takes(const struct evict_repeat *a, uint32_t row)
{
	const struct snap *s = a->s;
	uint32_t i = 0;

	if (order_waiting(a->p->order, row) == SNAP_NONE ||
	    s->pend.barred[row] || s->pend.resumes[row] != SNAP_NONE)
		return false;
	while (i < a->nabove && !repeat_reclaims(a, row, a->above[i]))
		i++;
	return i < a->nabove ||
	       order_standing_of_row(s, row) > a->returned[s->pend.queue[row]];
}

bool evict_rules_repeat(const struct pass *p)
{
	const struct snap *s = p->snap;
	struct evict_repeat a = { .p = p, .s = s };
	uint32_t row = 0;

	if (!p->start.n && !p->grow.n)
		return false;
	a.gains = arena_array(p->arena, uint8_t, s->queue.n);
	a.above = arena_array(p->arena, uint32_t, s->queue.n);
	a.returned = arena_array(p->arena, int64_t, s->queue.n);
	for (uint32_t q = 0; q < s->queue.n; q++)
		a.returned[q] = INT64_MAX;
	list_gains(&a);
	while (row < s->pend.n && !repeat_takes(&a, row))
		row++;
	return row < s->pend.n;
}

bool evict_rules_doubt(const struct pass *p)
{
	const struct snap *s = p->snap;
	const struct start *start = p->start.p;
	int64_t *lowest = arena_array(p->arena, int64_t, s->queue.n);

	for (uint32_t q = 0; q < s->queue.n; q++)
		lowest[q] = INT64_MAX;
	for (size_t i = 0; i < p->start.n; i++) {
		uint32_t row = start[i].row, q = s->pend.queue[row];
		int64_t standing = order_standing_of_row(s, row);

		if (s->pend.preemptible[row] && standing < lowest[q])
			lowest[q] = standing;
	}
	for (size_t i = 0; i < p->start.n; i++) {
		uint32_t row = start[i].row;

		if (start[i].ntasks < s->req.tasks[s->pend.req[row]] &&
		    order_standing_of_row(s, row) > lowest[s->pend.queue[row]])
			return true;
	}
	for (uint32_t run = 0; run < s->run.n; run++) {
		if (tally_may_grow(s, run) &&
		    order_standing_of_run(s, run) > lowest[s->run.queue[run]])
			return true;
	}
	for (uint32_t row = 0; row < s->pend.n; row++) {
		if (order_waiting(p->order, row) != SNAP_NONE &&
		    !s->pend.barred[row] && s->pend.resumes[row] == SNAP_NONE &&
		    order_standing_of_row(s, row) > lowest[s->pend.queue[row]])
			return true;
	}
	return false;
}
