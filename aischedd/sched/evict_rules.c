/* evict_rules.c - whom the rules let a claimant take from */
#include "aischedd/sched/evict_victim.h"

#include "aischedd/sched/order_service.h"

/* Whether the amount on top of what is used keeps within the share. */
static bool is_within(const struct evictor *e, uint32_t queue)
{
	const int64_t *more = e->c->demand.amount;
	const int64_t *share = e->p->tree->share[queue];

	for (int r = 0; r < RES_N; r++) {
		if (share[r] != CONF_NONE && more[r] &&
		    e->w->used[queue][r] + more[r] > share[r])
			return false;
	}
	return true;
}

/* Resources of which a queue uses more than its share, as bits. */
static unsigned above(const struct evictor *e, uint32_t queue)
{
	const int64_t *share = e->p->tree->share[queue];
	unsigned ret = 0;

	for (unsigned r = 0; r < RES_N; r++) {
		if (share[r] != CONF_NONE && e->w->used[queue][r] > share[r])
			ret |= 1U << r;
	}
	return ret;
}

/* Resources that a run holds, as bits. */
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

bool queue_is_above(const struct snap *s, uint32_t queue, uint32_t below)
{
	while (below != SNAP_NONE && below != queue)
		below = s->queue.parent[below];
	return below == queue;
}

/* The child of the lowest queue above both, on the way to `from`. */
static uint32_t branch_of(const struct evictor *e, uint32_t from)
{
	const uint32_t *parent = e->s->queue.parent;

	while (parent[from] != SNAP_NONE &&
	       !queue_is_above(e->s, parent[from], e->c->demand.queue))
		from = parent[from];
	return from;
}

/* Of which resources the branch of that queue uses too much, as bits, if the
 * claimant may reclaim from there now. */
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

/* Where it, or the last of its tasks that moves, goes in this trial; or
 * NULL. */
static const struct moved *moved_of(const struct evictor *e, uint32_t run)
{
	const struct moved *m = e->moved.p;
	uint32_t at = e->moved_at[run];

	return at < e->moved.n && m[at].run == run ? &m[at] : NULL;
}

bool victim_allowed(const struct evictor *e, uint32_t run)
{
	uint32_t queue = e->s->run.queue[run];

	if (e->p->settled[run] || (e->chosen && !e->only[run]))
		return false;
	if (e->mode == MOVE)
		return !e->why[run] && !moved_of(e, run);
	if (queue == e->c->demand.queue)
		return e->mode != RECLAIM &&
		       standing_of_run(e->s, run) < e->c->standing;
	return held_by(e, run) &
	       (e->mode == STRICT ? may_reclaim(e, queue) : e->allowed[queue]);
}

bool victims_allowed(struct evictor *e)
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

/* --- when all is known -------------------------------------------------- */

bool victim_moves(const struct evictor *e, uint32_t run)
{
	const struct moved *m = moved_of(e, run);

	return m && m->whole;
}

/* A step is counted as use again, or no longer. */
static void count_step(struct evictor *e, const struct step *step, int sign)
{
	const struct snap *s = e->s;
	int64_t n = 0;

	if (step->seen || step->stays)
		return;
	if (step->task != SNAP_NONE) {
		victim_charge(e, step->run, e->left[step->task] == GIVEN, false,
		              sign);
		return;
	}
	for (uint32_t t = s->run.task_first[step->run];
	     t < s->run.task_first[step->run + 1]; t++)
		n += e->left[t] == GONE;
	victim_charge(e, step->run, n, true, sign);
}

static bool loses_nothing(const struct evictor *e, const struct moved *moved)
{
	return moved && moved->ntasks == run_ntasks(e->s, moved->run);
}

/* Whether it comes from where more than the share is used; *top becomes the
 * highest queue of the claimant that is not above all such branches. */
static bool is_lawful(const struct evictor *e, const struct step *step,
                      uint32_t *top)
{
	const uint32_t *parent = e->s->queue.parent;
	uint32_t from = e->s->run.queue[step->run];

	if (from == e->c->demand.queue)
		return true;
	from = branch_of(e, from);
	if (queue_is_above(e->s, parent[from], *top))
		*top = parent[from];
	return above(e, from) & held_by(e, step->run);
}

bool victims_rules_hold(struct evictor *e)
{
	const uint32_t *parent = e->s->queue.parent;
	size_t mark = work_mark(e->w);
	uint32_t q = e->c->demand.queue, top = q;
	bool hold = true;

	for (size_t i = 0; i < e->step.n; i++)
		count_step(e, step_at(e, i), 1);
	/* Those who move go first: nothing is lost by that. */
	for (size_t i = 0; i < e->step.n && hold; i++) {
		const struct step *step = step_at(e, i);

		if (!step->seen && !step->stays && victim_moves(e, step->run))
			hold = is_lawful(e, step, &top);
	}
	for (size_t i = 0; i < e->step.n && hold; i++) {
		const struct step *step = step_at(e, i);
		bool moves = victim_moves(e, step->run);
		const struct moved *moved =
		    moves ? moved_of(e, step->run) : NULL;

		if (step->seen || step->stays || loses_nothing(e, moved))
			continue;
		hold = is_lawful(e, step, &top);
		count_step(e, step, -1);
		if (moved && step->task == SNAP_NONE)
			moved_charge(e, moved, 1);
	}
	for (; hold && q != top; q = parent[q])
		hold = is_within(e, q);
	work_undo(e->w, mark);
	return hold;
}
