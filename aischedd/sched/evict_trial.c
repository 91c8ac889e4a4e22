/* evict_trial.c - the victims in their order, and evictions on trial */
#include "aischedd/sched/evict_trial.h"

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

/* Returns how much work an eviction would lose: the seconds since the start,
 * times the GPUs of the run, or its CPUs if it has no GPUs. */
static int64_t work_lost(const struct snap *s, uint32_t run)
{
	uint32_t req = s->run.req[run];
	int64_t each = s->req.gpus[req] ? s->req.gpus[req] : s->req.cpus[req];

	return (s->now - s->run.start[run]) * each * snap_run_ntasks(s, run);
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
		v[n++] = (struct victim){ i, order_standing_kept(s, i),
			                  work_lost(s, i), s->run.start[i],
			                  s->run.job[i] };
		e->surplus[i] =
		    evict_trial_surplus(s, i, snap_run_ntasks(s, i));
	}
	qsort(v, n, sizeof(*v), by_turn);
	for (uint32_t i = 0; i < n; i++) {
		e->order[i] = v[i].run;
		e->rank[v[i].run] = i;
	}
}

/* Put the tasks of a run into the lists of their nodes, before the tasks that
 * are already listed there. */
static void list_run(struct evictor *e, uint32_t run, uint32_t *end)
{
	const struct snap *s = e->s;

	for (uint32_t t = s->run.task_first[run + 1];
	     t-- > s->run.task_first[run];) {
		e->owner[t] = run;
		e->left[t] = s->run.ending[run] ? FATE_LEFT : FATE_STAYS;
		e->at[--end[s->task[t].node]] = t;
	}
}

/* List the tasks on each node: first those of runs that are already ending,
 * then those of possible victims, in the order in which victims are chosen. */
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
	/* list_run() has moved each end back to the beginning of its slice. */
	memmove(e->first, count, s->node.n * sizeof(*count));
	e->first[s->node.n] = n;
}

/* --- use by level of standing ------------------------------------------ */

/* The preemptible runs of each queue are divided into levels by their standing,
 * and the use of each level is counted, also during trials. */
struct evict_level {
	int64_t standing;
	int64_t use[RES_N];
	unsigned over; /* see evict_trial_note_above() */
};

struct evict_levels {
	struct arena_list *of; /* by queue: struct evict_level, the lowest
	                          first */
	/* by run. below: how many levels of its queue the run could preempt;
	 * at: the level in which its own use is counted */
	uint32_t *below, *at;
	/* how many starts, growths and claims of the pass are counted */
	size_t nstarts, ngrows, nclaims;
};

/* Returns how many levels of the queue are below this standing. */
static uint32_t find(const struct arena_list *list, int64_t standing)
{
	const struct evict_level *level = list->p;
	uint32_t first = 0, end = (uint32_t)list->n;

	while (first < end) {
		uint32_t mid = first + (end - first) / 2;

		if (level[mid].standing < standing)
			first = mid + 1;
		else
			end = mid;
	}
	return first;
}

static void add_level(struct evictor *e, uint32_t queue, int64_t standing)
{
	struct arena_list *list = &e->levels->of[queue];
	uint32_t at = find(list, standing);
	struct evict_level *level = list->p;

	if (at < list->n && level[at].standing == standing)
		return;
	arena_push(e->p->arena, list, sizeof(*level));
	level = list->p;
	memmove(level + at + 1, level + at,
	        (list->n - 1 - at) * sizeof(*level));
	level[at] = (struct evict_level){ .standing = standing };
}

static void add(struct evict_level *level, const int64_t amount[RES_N])
{
	for (int r = 0; r < RES_N; r++)
		level->use[r] += amount[r];
}

static bool is_counted(const struct snap *s, uint32_t run)
{
	return s->run.preemptible[run] && !s->run.ending[run];
}

static void levels_new(struct evictor *e)
{
	const struct snap *s = e->s;
	struct evict_levels *ls =
	    arena_array(e->p->arena, struct evict_levels, 1);
	int64_t amount[RES_N];

	e->levels = ls;
	ls->of = arena_array(e->p->arena, struct arena_list, s->queue.n);
	ls->below = arena_array(e->p->arena, uint32_t, s->run.n);
	ls->at = arena_array(e->p->arena, uint32_t, s->run.n);
	for (uint32_t run = 0; run < s->run.n; run++) {
		if (!is_counted(s, run))
			continue;
		add_level(e, s->run.queue[run], order_standing_of_run(s, run));
		add_level(e, s->run.queue[run], order_standing_kept(s, run));
	}
	for (uint32_t run = 0; run < s->run.n; run++) {
		const struct arena_list *list = &ls->of[s->run.queue[run]];

		if (!is_counted(s, run))
			continue;
		ls->below[run] = find(list, order_standing_of_run(s, run));
		ls->at[run] = find(list, order_standing_kept(s, run));
		work_amount(s, run, snap_run_ntasks(s, run), amount);
		add((struct evict_level *)list->p + ls->at[run], amount);
	}
}

/* Add to the use of the run's level (sign 1), or subtract from it (-1). */
static void levels_charge(struct evictor *e, uint32_t run,
                          const int64_t amount[RES_N], int sign)
{
	const struct arena_list *list = &e->levels->of[e->s->run.queue[run]];
	struct evict_level *level = list->p;

	/* The use of a queue's only level is never asked for. */
	if (list->n < 2 || !is_counted(e->s, run))
		return;
	level += e->levels->at[run];
	for (int r = 0; r < RES_N; r++)
		work_add(e->w, &level->use[r], sign * amount[r]);
}

/* Count tasks of a waiting job that the pass starts, or for which it evicts
 * others, at the highest level that is not above the job. */
static void count_row(struct evictor *e, uint32_t row, uint32_t ntasks)
{
	const struct snap *s = e->s;
	const struct arena_list *list = &e->levels->of[s->pend.queue[row]];
	int64_t standing = order_standing_of_row(s, row);
	struct demand d = admit_demand_start(s, row, ntasks);
	struct evict_level *level = list->p;
	uint32_t at = find(list, standing + 1);

	if (at && s->pend.preemptible[row])
		add(&level[at - 1], d.amount);
}

/* Count tasks that a run gets. */
static void count_run(struct evictor *e, uint32_t run, uint32_t ntasks)
{
	struct demand d = admit_demand_more(e->s, run, ntasks);
	struct evict_level *level = e->levels->of[d.queue].p;

	if (is_counted(e->s, run))
		add(level + e->levels->at[run], d.amount);
}

void evict_trial_begin(struct evictor *e)
{
	struct evict_levels *ls = e->levels;
	const struct pass *p = e->p;
	const struct start *start = p->start.p;
	const struct grow *grow = p->grow.p;
	const struct plan_claim *claim = p->claim.p;

	for (; ls->nstarts < p->start.n; ls->nstarts++)
		count_row(e, start[ls->nstarts].row, start[ls->nstarts].ntasks);
	for (; ls->ngrows < p->grow.n; ls->ngrows++)
		count_run(e, grow[ls->ngrows].run, grow[ls->ngrows].ntasks);
	for (; ls->nclaims < p->claim.n; ls->nclaims++) {
		const struct plan_claim *c = &claim[ls->nclaims];

		if (c->row != SNAP_NONE)
			count_row(e, c->row, c->n);
		else if (!evict_has(p, c->run))
			count_run(e, c->run, c->n);
	}
}

/* Returns, as bits, the resources of which a queue uses more than its share if
 * it uses this much. */
static unsigned above(const struct evictor *e, uint32_t queue,
                      const int64_t use[RES_N])
{
	const int64_t *share = e->p->queues->share[queue];
	unsigned ret = 0;

	for (unsigned r = 0; r < RES_N; r++) {
		if (share[r] != CONF_NONE && use[r] > share[r])
			ret |= 1U << r;
	}
	return ret;
}

static void subtract(int64_t use[RES_N], const struct evict_level *level)
{
	for (int r = 0; r < RES_N; r++)
		use[r] -= level->use[r];
}

void evict_trial_note_above(struct evictor *e, uint32_t queue, uint32_t branch)
{
	const struct arena_list *list = &e->levels->of[queue];
	struct evict_level *level = list->p;
	int64_t use[RES_N];

	memcpy(use, e->w->used[branch], sizeof(use));
	for (size_t i = 0; i < list->n; i++) {
		level[i].over = above(e, branch, use);
		subtract(use, &level[i]);
	}
}

unsigned evict_trial_noted_above(const struct evictor *e, uint32_t run)
{
	const struct evict_levels *ls = e->levels;
	const struct evict_level *level = ls->of[e->s->run.queue[run]].p;

	return level[ls->below[run]].over;
}

unsigned evict_trial_above(const struct evictor *e, uint32_t branch,
                           uint32_t run)
{
	const struct evict_levels *ls = e->levels;
	const struct evict_level *level = ls->of[e->s->run.queue[run]].p;
	int64_t use[RES_N];

	memcpy(use, e->w->used[branch], sizeof(use));
	for (uint32_t i = 0; i < ls->below[run]; i++)
		subtract(use, &level[i]);
	return above(e, branch, use);
}

/* --- trials ------------------------------------------------------------ */

struct evictor *evict_trial_new(struct pass *p)
{
	const struct snap *s = p->snap;
	struct evictor *e = arena_array(p->arena, struct evictor, 1);

	e->p = p;
	e->s = s;
	e->w = p->place->work;
	e->allowed = arena_array(p->arena, uint8_t, s->queue.n);
	e->norder = p->tally->victims;
	e->pool = SNAP_NONE;
	pass_wake(p, p->tally->wake);
	return e;
}

void evict_trial_list(struct evictor *e)
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
	e->spread = spread_new(s, e->p->place->match, arena);
	list_victims(e);
	list_tasks(e);
	levels_new(e);
}

/* If the task's node is watched, tell the promises whether the task leaves it
 * or stays. */
static void tell(const struct evictor *e, uint32_t task, bool leaves)
{
	if (e->p->place->watched[e->s->task[task].node])
		promise_leave(e->p->promises, task, leaves);
}

/* Change the fate of a task: free what it holds on its node or, with
 * FATE_STAYS, take that again. Does not update place_index: call
 * evict_trial_refresh() for that. */
static void move_task(struct evictor *e, uint32_t task, int64_t to)
{
	e->looks++;
	work_run_task(e->w, e->owner[task], task, to == FATE_STAYS ? -1 : 1);
	tell(e, task, to != FATE_STAYS);
	work_add(e->w, &e->left[task], to - e->left[task]);
}

/* Free what an ending task still holds (sign 1), or take it again (-1). A task
 * that is only suspended frees just its CPUs. */
static void see_task(struct evictor *e, uint32_t task, int sign)
{
	const struct snap *s = e->s;
	uint32_t run = e->owner[task];

	e->looks++;
	work_run_task(e->w, run, task, sign);
	if (e->suspend[run]) {
		work_rest(e->w, s->run.req[run], &s->task[task], -sign);
		work_pieces(e->w, s->task[task].node, snap_held(s, task),
		            -sign);
	}
	work_add(e->w, &e->left[task],
	         sign > 0 ? FATE_SEEN - FATE_LEFT : FATE_LEFT - FATE_SEEN);
}

void evict_trial_charge_amount(struct evictor *e, uint32_t run,
                               const int64_t amount[RES_N], bool whole,
                               int sign)
{
	const struct snap *s = e->s;

	work_charge(e->w, s->run.queue[run], amount, !s->run.preemptible[run],
	            sign);
	work_charge_job(e->w, s->run.queue[run], s->run.user[run],
	                amount[RES_GPU], whole, sign);
	levels_charge(e, run, amount, sign);
}

void evict_trial_charge(struct evictor *e, uint32_t run, int64_t tasks,
                        bool whole, int sign)
{
	int64_t amount[RES_N];

	work_amount(e->s, run, tasks, amount);
	evict_trial_charge_amount(e, run, amount, whole, sign);
}

void evict_trial_charge_moved(struct evictor *e, const struct evict_moved *m,
                              int sign)
{
	struct demand d = admit_demand_more(e->s, m->run, m->ntasks);

	admit_charge(e->w, &d, sign);
	work_charge_job(e->w, d.queue, d.user, 0, m->whole, sign);
	levels_charge(e, m->run, d.amount, sign);
}

/* Change all tasks of a run with fate `from` to fate `to`. Returns how many. */
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
	struct evict_step *step =
	    arena_push(e->p->arena, &e->step, sizeof(struct evict_step));

	*step = (struct evict_step){ run, task, seen, false };
}

void evict_trial_drop(struct evictor *e, size_t i)
{
	memmove(evict_step_at(e, i), evict_step_at(e, i + 1),
	        (--e->step.n - i) * sizeof(struct evict_step));
}

void evict_trial_see_task(struct evictor *e, uint32_t task)
{
	see_task(e, task, 1);
	push_step(e, e->owner[task], task, true);
}

void evict_trial_take_task(struct evictor *e, uint32_t task)
{
	uint32_t run = e->owner[task];

	move_task(e, task, FATE_GIVEN);
	evict_trial_charge(e, run, 1, false, -1);
	work_add(e->w, &e->surplus[run], -1);
	push_step(e, run, task, false);
}

void evict_trial_take(struct evictor *e, uint32_t run)
{
	evict_trial_charge(e, run, move_all(e, run, FATE_STAYS, FATE_GONE),
	                   true, -1);
	work_add(e->w, &e->surplus[run], -e->surplus[run]);
	work_add(e->w, &e->whole[run], 1);
	push_step(e, run, SNAP_NONE, false);
}

void evict_trial_untake(struct evictor *e, size_t i)
{
	struct evict_step step = *evict_step_at(e, i);
	int64_t n;

	if (step.seen) {
		see_task(e, step.task, -1);
		return;
	}
	if (step.task != SNAP_NONE) {
		move_task(e, step.task, FATE_STAYS);
		evict_trial_charge(e, step.run, 1, false, 1);
		work_add(e->w, &e->surplus[step.run], 1);
		return;
	}
	n = move_all(e, step.run, FATE_GONE, FATE_STAYS);
	evict_trial_charge(e, step.run, n, true, 1);
	work_add(e->w, &e->whole[step.run], -1);
	work_add(e->w, &e->surplus[step.run],
	         evict_trial_surplus(e->s, step.run, n));
}

/* Called for a run that loses only some tasks instead of being evicted as a
 * whole: add a step for each task that it loses. */
static void push_given(struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (e->left[t] != FATE_GONE)
			continue;
		work_add(e->w, &e->left[t], FATE_GIVEN - FATE_GONE);
		push_step(e, run, t, false);
	}
}

void evict_trial_tidy(struct evictor *e, size_t first)
{
	uint32_t *shrunk = arena_array(e->p->arena, uint32_t, e->step.n);
	uint32_t nshrunk = 0;
	size_t n = first;

	for (size_t i = first; i < e->step.n; i++) {
		const struct evict_step *it = evict_step_at(e, i);
		bool whole = it->task == SNAP_NONE;

		if (it->stays ||
		    (!it->seen && !whole && e->left[it->task] == FATE_STAYS))
			continue;
		if (whole && !e->whole[it->run])
			shrunk[nshrunk++] = it->run;
		else
			*evict_step_at(e, n++) = *it;
	}
	e->step.n = n;
	for (uint32_t i = 0; i < nshrunk; i++)
		push_given(e, shrunk[i]);
}

void evict_trial_tell_run(const struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (e->left[t] == FATE_GIVEN || e->left[t] == FATE_GONE)
			tell(e, t, true);
	}
}

bool evict_trial_shrink(struct evictor *e, uint32_t run, may_stay_fn *may_stay,
                        void *arg)
{
	const struct snap *s = e->s;
	int64_t min = s->req.min_tasks[s->run.req[run]], kept = 0;
	uint32_t first = s->run.task_first[run], n = snap_run_ntasks(s, run);
	size_t mark = work_mark(e->w);

	if (s->run.suspended[run] || min >= n || e->why[run])
		return false;
	for (uint32_t t = first; t < first + n; t++) {
		size_t before = work_mark(e->w);

		move_task(e, t, FATE_STAYS);
		if (may_stay(arg, t)) {
			kept++;
			continue;
		}
		work_undo(e->w, before);
		tell(e, t, true);
	}
	if (kept < min) {
		for (uint32_t t = first; t < first + n; t++) {
			if (e->left[t] == FATE_STAYS)
				tell(e, t, true);
		}
		work_undo(e->w, mark);
		return false;
	}
	evict_trial_charge(e, run, kept, true, 1);
	work_add(e->w, &e->whole[run], -1);
	work_add(e->w, &e->surplus[run], kept - min - e->surplus[run]);
	return true;
}

void evict_trial_tell(const struct evictor *e, const struct evict_step *step,
                      bool leave)
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
		if (e->left[t] == FATE_GONE)
			tell(e, t, leave);
	}
}

void evict_trial_undo(struct evictor *e, size_t mark, size_t nsteps)
{
	while (e->step.n > nsteps)
		evict_trial_tell(e, evict_step_at(e, --e->step.n), false);
	work_undo(e->w, mark);
}

/* Update place_index for the nodes of a run, except the one that was updated
 * last; returns the last node of the run. */
static uint32_t refresh_run(struct evictor *e, uint32_t run, uint32_t last)
{
	const struct snap *s = e->s;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (s->task[t].node != last)
			place_index_refresh(e->p->place->index,
			                    s->task[t].node);
		last = s->task[t].node;
	}
	return last;
}

void evict_trial_refresh_run(struct evictor *e, uint32_t run)
{
	refresh_run(e, run, SNAP_NONE);
}

void evict_trial_refresh(struct evictor *e, size_t i)
{
	uint32_t last = SNAP_NONE;

	for (; i < e->step.n; i++)
		last = refresh_run(e, evict_step_at(e, i)->run, last);
}

const struct evict_moved *evict_trial_moved_of(const struct evictor *e,
                                               uint32_t run)
{
	const struct evict_moved *m = e->moved.p;
	uint32_t at = e->moved_at[run];

	return at < e->moved.n && m[at].run == run ? &m[at] : NULL;
}

bool evict_trial_moves(const struct evictor *e, uint32_t run)
{
	const struct evict_moved *m = evict_trial_moved_of(e, run);

	return m && m->whole;
}
