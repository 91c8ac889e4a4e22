/* victim.c - who may leave for others, and leaving in a trial */
#include "aischedd/sched/victim.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/domain.h"
#include "aischedd/sched/rung.h"

/* A run that may be evicted. */
struct victim {
	uint32_t run;
	int64_t standing, lost, start;
	uint64_t job;
};

/* --- who goes first ---------------------------------------------------- */

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

/* Tasks that a run of so many could give up: none while it is stopped. */
static int64_t surplus_of(const struct snap *s, uint32_t run, int64_t ntasks)
{
	return s->run.suspended[run]
	           ? 0
	           : ntasks - s->req.min_tasks[s->run.req[run]];
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
		e->surplus[i] = surplus_of(s, i, run_ntasks(s, i));
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

/* --- the rules --------------------------------------------------------- */

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

/* Resources of which a queue has no share, as bits. */
static unsigned unrationed(const struct evictor *e, uint32_t queue)
{
	unsigned ret = 0;

	for (unsigned r = 0; r < RES_N; r++) {
		if (e->p->tree->share[queue][r] == CONF_NONE)
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

/* Of which resources the branch of a queue uses more than its share.  If
 * e->near, so must all queues on the way down to it that have one: who is
 * within his own would win the room back from the sibling that is not. */
static unsigned branch_above(const struct evictor *e, uint32_t from)
{
	uint32_t top = branch_of(e, from);
	unsigned ret = above(e, top);

	for (; e->near && from != top; from = e->s->queue.parent[from])
		ret &= above(e, from) | unrationed(e, from);
	return ret;
}

/* Of which resources the branch of that queue uses too much, as bits, if the
 * claimant may reclaim from there now. */
static unsigned may_reclaim(const struct evictor *e, uint32_t from)
{
	const uint32_t *parent = e->s->queue.parent;
	uint32_t q = e->c->demand.queue;
	unsigned ret;

	ret = branch_above(e, from);
	from = branch_of(e, from);
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
		e->deep |= other && branch_of(e, q) != q;
	}
	return any;
}

/* --- taking away and giving back --------------------------------------- */

/* Room may be kept for others there from when it leaves. */
static void tell(const struct evictor *e, uint32_t task, bool leaves)
{
	if (e->p->place->watched[e->s->task[task].node])
		promise_leave(e->p->promises, task, leaves);
}

/* A task gives back what it holds on its node, or takes it again.  The shelf
 * hears of it when the step is kept. */
static void move_task(struct evictor *e, uint32_t task, int64_t to)
{
	e->looks++;
	work_run_task(e->w, e->owner[task], task, to == STAYS ? -1 : 1);
	tell(e, task, to != STAYS);
	work_add(e->w, &e->left[task], to - e->left[task]);
}

/* The same for one that leaves anyway; one that will be suspended gives back
 * its CPUs only. */
static void see_task(struct evictor *e, uint32_t task, int sign)
{
	const struct snap *s = e->s;
	uint32_t run = e->owner[task];

	e->looks++;
	work_run_task(e->w, run, task, sign);
	if (e->suspend[run])
		work_rest(e->w, s->run.req[run], &s->task[task], -sign);
	work_add(e->w, &e->left[task], sign > 0 ? SEEN - LEFT : LEFT - SEEN);
}

static void charge(struct evictor *e, uint32_t run, int64_t tasks, bool whole,
                   int sign)
{
	const struct snap *s = e->s;
	int64_t amount[RES_N];

	work_amount(s, run, tasks, amount);
	work_charge(e->w, s->run.queue[run], amount, !s->run.preemptible[run],
	            sign);
	work_charge_job(e->w, s->run.queue[run], s->run.user[run],
	                amount[RES_GPU], whole, sign);
}

void moved_charge(struct evictor *e, const struct moved *m, int sign)
{
	struct demand d = demand_more(e->s, m->run, m->ntasks);

	admit_charge(e->w, &d, sign);
	work_charge_job(e->w, d.queue, d.user, 0, m->whole, sign);
}

/* All its tasks of one kind become another; returns how many. */
static int64_t move_all(struct evictor *e, uint32_t run, int64_t from,
                        int64_t to)
{
	const struct snap *s = e->s;
	int64_t n = 0;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (e->left[t] != from)
			continue;
		move_task(e, t, to);
		n++;
	}
	return n;
}

static void push_step(struct evictor *e, uint32_t run, uint32_t task, bool seen)
{
	struct step *step =
	    arena_push(e->p->arena, &e->step, sizeof(struct step));

	*step = (struct step){ run, task, seen, false };
}

void step_drop(struct evictor *e, size_t i)
{
	memmove(step_at(e, i), step_at(e, i + 1),
	        (--e->step.n - i) * sizeof(struct step));
}

void victim_see_task(struct evictor *e, uint32_t task)
{
	see_task(e, task, 1);
	push_step(e, e->owner[task], task, true);
}

void victim_take_task(struct evictor *e, uint32_t task)
{
	uint32_t run = e->owner[task];

	move_task(e, task, GIVEN);
	charge(e, run, 1, false, -1);
	work_add(e->w, &e->surplus[run], -1);
	push_step(e, run, task, false);
}

void victim_take(struct evictor *e, uint32_t run)
{
	charge(e, run, move_all(e, run, STAYS, GONE), true, -1);
	work_add(e->w, &e->surplus[run], -e->surplus[run]);
	work_add(e->w, &e->whole[run], 1);
	push_step(e, run, SNAP_NONE, false);
}

void victim_untake(struct evictor *e, size_t i)
{
	struct step step = *step_at(e, i);
	int64_t n;

	if (step.seen) {
		see_task(e, step.task, -1);
		return;
	}
	if (step.task != SNAP_NONE) {
		move_task(e, step.task, STAYS);
		charge(e, step.run, 1, false, 1);
		work_add(e->w, &e->surplus[step.run], 1);
		return;
	}
	n = move_all(e, step.run, GONE, STAYS);
	charge(e, step.run, n, true, 1);
	work_add(e->w, &e->whole[step.run], -1);
	work_add(e->w, &e->surplus[step.run], surplus_of(e->s, step.run, n));
}

/* What the whole run was to lose becomes a step for each task. */
static void push_given(struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (e->left[t] != GONE)
			continue;
		work_add(e->w, &e->left[t], GIVEN - GONE);
		push_step(e, run, t, false);
	}
}

void steps_tidy(struct evictor *e, size_t first)
{
	uint32_t *shrunk = arena_array(e->p->arena, uint32_t, e->step.n);
	uint32_t nshrunk = 0;
	size_t n = first;

	for (size_t i = first; i < e->step.n; i++) {
		const struct step *it = step_at(e, i);
		bool whole = it->task == SNAP_NONE;

		if (it->stays ||
		    (!it->seen && !whole && e->left[it->task] == STAYS))
			continue;
		if (whole && !e->whole[it->run])
			shrunk[nshrunk++] = it->run;
		else
			*step_at(e, n++) = *it;
	}
	e->step.n = n;
	for (uint32_t i = 0; i < nshrunk; i++)
		push_given(e, shrunk[i]);
}

void victim_tell(const struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (e->left[t] == GIVEN || e->left[t] == GONE)
			tell(e, t, true);
	}
}

bool victim_shrink(struct evictor *e, uint32_t run, may_stay_fn *may_stay,
                   void *arg)
{
	const struct snap *s = e->s;
	int64_t min = s->req.min_tasks[s->run.req[run]], kept = 0;
	uint32_t first = s->run.task_first[run], n = run_ntasks(s, run);
	size_t mark = work_mark(e->w);

	if (s->run.suspended[run] || min >= n || e->why[run])
		return false;
	for (uint32_t t = first; t < first + n; t++) {
		size_t before = work_mark(e->w);

		move_task(e, t, STAYS);
		if (may_stay(arg, t)) {
			kept++;
			continue;
		}
		work_undo(e->w, before);
		tell(e, t, true);
	}
	if (kept < min) {
		for (uint32_t t = first; t < first + n; t++) {
			if (e->left[t] == STAYS)
				tell(e, t, true);
		}
		work_undo(e->w, mark);
		return false;
	}
	charge(e, run, kept, true, 1);
	work_add(e->w, &e->whole[run], -1);
	work_add(e->w, &e->surplus[run], kept - min - e->surplus[run]);
	return true;
}

void step_tell(const struct evictor *e, const struct step *step, bool leave)
{
	const struct snap *s = e->s;

	if (step->seen)
		return;
	if (step->task != SNAP_NONE) {
		tell(e, step->task, leave);
		return;
	}
	for (uint32_t t = s->run.task_first[step->run];
	     t < s->run.task_first[step->run + 1]; t++) {
		if (e->left[t] == GONE)
			tell(e, t, leave);
	}
}

void steps_undo(struct evictor *e, size_t mark, size_t nsteps)
{
	while (e->step.n > nsteps)
		step_tell(e, step_at(e, --e->step.n), false);
	work_undo(e->w, mark);
}

void run_refresh(struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++)
		shelf_refresh(e->p->place->shelf, s->task[t].node);
}

void steps_refresh(struct evictor *e, size_t i)
{
	for (; i < e->step.n; i++)
		run_refresh(e, step_at(e, i)->run);
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
		charge(e, step->run, e->left[step->task] == GIVEN, false, sign);
		return;
	}
	for (uint32_t t = s->run.task_first[step->run];
	     t < s->run.task_first[step->run + 1]; t++)
		n += e->left[t] == GONE;
	charge(e, step->run, n, true, sign);
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
	uint32_t queue = e->s->run.queue[step->run], from;

	if (queue == e->c->demand.queue)
		return true;
	from = branch_of(e, queue);
	if (queue_is_above(e->s, parent[from], *top))
		*top = parent[from];
	return branch_above(e, queue) & held_by(e, step->run);
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
