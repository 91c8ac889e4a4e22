/* evict_spare.c - spare victims that a claimant does not need */
#include "aischedd/sched/evict_spare.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/evict_rules.h"
#include "aischedd/sched/fit.h"

/* A task of the claimant: its node, and its index in place->task. */
struct placed {
	uint32_t node, task;
};

/* A task of the claimant as it was before it was given other devices. */
struct former {
	size_t at; /* index in place->task */
	struct snap_task task;
	uint64_t held;
	struct snap_cpu_use *use;
};

struct sparing {
	struct evictor *e;
	/* 1: the rules held before any victim was spared, so they must also
	 * hold after that */
	bool held;
	struct placed *placed; /* tasks of the claimant, sorted by node */
	size_t nplaced;
	struct arena_list former; /* struct former: to restore if a step
	                             fails */
	struct snap_cpu_use *use; /* scratch: CPUs of one task */
};

/* Whether no device of the node is held twice if this task stays there. */
static bool is_sound(const struct evictor *e, uint32_t task)
{
	const struct snap_task *t = &e->s->task[task];
	const int64_t *thread = e->w->thread + e->s->node.cpu_first[t->node];
	bool sound = work_is_sound(e->w, t, snap_binds(e->s, e->c->req)) &&
	             e->w->cpu[t->node] >= 0;

	for (uint32_t i = t->cpu_first; i < t[1].cpu_first; i++)
		sound &= thread[e->s->cpu_use[i].cpu] >= 0;
	return sound;
}

/* Whether the task cannot stay because the claimant is on its node, too, and
 * one of the two is exclusive. A suspended job lets others onto its node. */
static bool is_alone(const struct evictor *e, uint32_t task)
{
	const struct snap *s = e->s;
	uint32_t run = e->owner[task];

	return e->p->place->own[s->task[task].node] &&
	       ((s->req.exclusive[s->run.req[run]] && !s->run.suspended[run]) ||
	        s->req.exclusive[e->c->req]);
}

/* --- other devices for the claimant ------------------------------------ */

static int by_node(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

static void list_placed(struct sparing *sp)
{
	const struct place *place = sp->e->p->place;
	size_t first = sp->e->first_task;

	sp->nplaced = place->ntasks - first;
	sp->placed = arena_array(sp->e->p->arena, struct placed, sp->nplaced);
	for (size_t i = 0; i < sp->nplaced; i++)
		sp->placed[i] = (struct placed){ place->task[first + i].node,
			                         (uint32_t)(first + i) };
	if (sp->nplaced)
		qsort(sp->placed, sp->nplaced, sizeof(*sp->placed), by_node);
}

/* Find the claimant's tasks on a node. Returns how many. */
static size_t placed_on(const struct sparing *sp, uint32_t node,
                        const struct placed **ret)
{
	size_t lo = 0, hi = sp->nplaced, n = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (sp->placed[mid].node < node)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret = sp->placed + lo;
	while (lo + n < sp->nplaced && sp->placed[lo + n].node == node)
		n++;
	return n;
}

static void give_back(struct sparing *sp, uint32_t at)
{
	struct place *place = sp->e->p->place;
	struct snap_task *t = &place->task[at];
	const struct snap_cpu_use *use = place->use + t->cpu_first;
	uint32_t nuse = t[1].cpu_first - t->cpu_first, req = sp->e->c->req;
	struct former *former =
	    arena_push(sp->e->p->arena, &sp->former, sizeof(*former));

	*former = (struct former){ at, *t, place_pieces(place, at), NULL };
	if (nuse) {
		former->use =
		    arena_array(sp->e->p->arena, struct snap_cpu_use, nuse);
		memcpy(former->use, use, nuse * sizeof(*use));
	}
	work_rest(sp->e->w, req, t, 1);
	work_pieces(sp->e->w, t->node, former->held, 1);
	sp->e->w->own_gpus[t->node] &= ~t->gpus;
	work_cpus(sp->e->w, req, t->node, use, nuse, 1);
}

static void take_others(struct sparing *sp, uint32_t at, int64_t left)
{
	struct place *place = sp->e->p->place;
	struct snap_task *t = &place->task[at];
	uint32_t nuse = t[1].cpu_first - t->cpu_first;

	fit_task(sp->e->w, sp->e->c->req, t->node, left, t, sp->use);
	if (place->held)
		place->held[at] = sp->e->w->chosen;
	if (nuse)
		memcpy(place->use + t->cpu_first, sp->use,
		       nuse * sizeof(*sp->use));
}

/* Choose other devices on a node for the claimant's tasks there. Returns false
 * if too few are free. */
static bool repack(struct sparing *sp, uint32_t node)
{
	const struct placed *it;
	size_t n = placed_on(sp, node, &it);

	for (size_t i = 0; i < n; i++)
		give_back(sp, it[i].task);
	if (!n || !fit_has(sp->e->w, sp->e->c->req, node, 0, (int64_t)n))
		return false;
	for (size_t i = 0; i < n; i++)
		take_others(sp, it[i].task, (int64_t)(n - i));
	return true;
}

/* Restore the devices of the claimant's tasks from the end of the list `former`
 * back to entry `to`. The caller restores the counters with work_undo(). */
static void bring_back(struct sparing *sp, size_t to)
{
	struct place *place = sp->e->p->place;
	const struct former *former = sp->former.p;

	while (sp->former.n > to) {
		size_t i = --sp->former.n;
		struct snap_task *t = &place->task[former[i].at];

		sp->e->w->own_gpus[t->node] &= ~t->gpus;
		sp->e->w->own_gpus[t->node] |= former[i].task.gpus;
		*t = former[i].task;
		if (place->held)
			place->held[former[i].at] = former[i].held;
		if (former[i].use)
			memcpy(place->use + t->cpu_first, former[i].use,
			       (t[1].cpu_first - t->cpu_first) *
			           sizeof(*former->use));
	}
}

/* --- undo evictions that are not needed -------------------------------- */

/* Whether the claimant would break a promise on the task's node if the task
 * stayed there. */
static bool breaks_promise(const struct evictor *e, uint32_t task)
{
	const struct place *place = e->p->place;
	uint32_t node = e->s->task[task].node;

	return place->own[node] &&
	       !place_keeps_promises(place, e->c->req, node, place->own[node]);
}

/* Whether the claimant still fits and is within its limits, after a step that
 * evicts tasks of this run was taken back. */
static bool is_spare(struct sparing *sp, uint32_t run)
{
	struct evictor *e = sp->e;
	const struct snap *s = e->s;
	struct verdict v;

	if (admit_then(e->w, &e->c->demand, &v) != WHY_None)
		return false;
	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (e->left[t] == FATE_STAYS &&
		    (is_alone(e, t) || breaks_promise(e, t) ||
		     (!is_sound(e, t) && !repack(sp, s->task[t].node))))
			return false;
	}
	return true;
}

/* Take step i back if the claimant also fits without this eviction. Returns
 * whether the step was taken back. */
static bool can_stay(struct sparing *sp, size_t i)
{
	struct evictor *e = sp->e;
	size_t mark = work_mark(e->w);
	struct evict_step *step = evict_step_at(e, i);

	sp->former.n = 0;
	evict_trial_untake(e, i);
	step->stays = true;
	if (is_spare(sp, step->run) && (!sp->held || evict_rules_hold(e))) {
		evict_trial_refresh_run(e, step->run);
		return true;
	}
	bring_back(sp, 0);
	work_undo(e->w, mark);
	step->stays = false;
	evict_trial_tell(e, step, true);
	return false;
}

/* Whether a task of an evicted run can stay, if necessary by giving the
 * claimant other devices. */
static bool may_stay(void *arg, uint32_t task)
{
	struct sparing *sp = arg;
	const struct evictor *e = sp->e;
	size_t before = sp->former.n;

	if (is_alone(e, task) || breaks_promise(e, task))
		return false;
	if (is_sound(e, task) ||
	    (repack(sp, e->s->task[task].node) && is_sound(e, task)))
		return true;
	bring_back(sp, before);
	return false;
}

/* Evict only some tasks of a run instead of the whole run, if that is enough.
 */
static void shrink(struct sparing *sp, uint32_t run)
{
	struct evictor *e = sp->e;
	size_t mark = work_mark(e->w);
	struct verdict v;

	sp->former.n = 0;
	if (!evict_trial_shrink(e, run, may_stay, sp)) {
		bring_back(sp, 0);
		return;
	}
	if (admit_then(e->w, &e->c->demand, &v) == WHY_None &&
	    (!sp->held || evict_rules_hold(e))) {
		evict_trial_refresh_run(e, run);
		return;
	}
	bring_back(sp, 0);
	work_undo(e->w, mark);
	evict_trial_tell_run(e, run);
}

/* Try to take back each step from the last to index `first`. */
static void ask_all(struct sparing *sp, size_t first)
{
	struct evictor *e = sp->e;

	for (size_t i = e->step.n; i-- > first;) {
		const struct evict_step *step = evict_step_at(e, i);
		bool whole = step->task == SNAP_NONE;

		if (step->seen ||
		    (!whole && (e->whole[step->run] ||
		                e->left[step->task] != FATE_GIVEN)))
			continue;
		if (!can_stay(sp, i) && whole)
			shrink(sp, step->run);
	}
	evict_trial_tidy(e, first);
}

void evict_spare_steps(struct evictor *e, size_t first)
{
	struct sparing sp = { .e = e, .held = evict_rules_hold(e) };

	sp.use = arena_array(e->p->arena, struct snap_cpu_use,
	                     fit_max_cpus(e->s, e->c->req));
	list_placed(&sp);
	ask_all(&sp, first);
}
