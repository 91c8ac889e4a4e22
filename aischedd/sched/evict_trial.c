/* evict_trial.c - leaving in a trial, and staying after all */
#include "aischedd/sched/evict_victim.h"

#include <string.h>

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

void victim_charge(struct evictor *e, uint32_t run, int64_t tasks, bool whole,
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
	victim_charge(e, run, 1, false, -1);
	work_add(e->w, &e->surplus[run], -1);
	push_step(e, run, task, false);
}

void victim_take(struct evictor *e, uint32_t run)
{
	victim_charge(e, run, move_all(e, run, STAYS, GONE), true, -1);
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
		victim_charge(e, step.run, 1, false, 1);
		work_add(e->w, &e->surplus[step.run], 1);
		return;
	}
	n = move_all(e, step.run, GONE, STAYS);
	victim_charge(e, step.run, n, true, 1);
	work_add(e->w, &e->whole[step.run], -1);
	work_add(e->w, &e->surplus[step.run],
	         victim_surplus(e->s, step.run, n));
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
	victim_charge(e, run, kept, true, 1);
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
