/* evict.c - make room for a job: preempt, reclaim, consolidate */
#include "aischedd/sched/evict.h"

#include <string.h>

#include "aischedd/sched/evict_rules.h"
#include "aischedd/sched/evict_search.h"

/* fewest() does nothing if more runs than this are evicted. */
enum { RUNS_MAX = 8 };

/* A run that is only suspended keeps its memory and GPUs: count them as used
 * again. */
static void charge_kept(struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;
	int64_t amount[RES_N];

	work_amount(s, run, snap_run_ntasks(s, run), amount);
	amount[RES_CPU] = 0;
	evict_trial_charge_amount(e, run, amount, true, 1);
}

/* Whether it is enough to suspend the run, because the claimant does not need
 * its memory and GPUs. If so, subtract these again from what is free. */
static bool can_freeze(struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;
	size_t mark = work_mark(e->w);
	bool can = s->run.freezable[run] && !s->run.suspended[run] &&
	           !e->why[run] && !s->req.exclusive[e->c->req] &&
	           promise_may_suspend(e->p->promises, run);
	struct verdict v;

	for (uint32_t t = s->run.task_first[run];
	     can && t < s->run.task_first[run + 1]; t++) {
		const struct snap_task *task = &s->task[t];

		work_rest(e->w, s->run.req[run], task, -1);
		work_pieces(e->w, task->node, snap_held(s, t), -1);
		can = work_is_sound(e->w, task, snap_binds(s, e->c->req));
	}
	charge_kept(e, run);
	can = can && admit_then(e->w, &e->c->demand, &v) == WHY_None;
	if (!can)
		work_undo(e->w, mark);
	return can;
}

static enum evict why_of(const struct evictor *e, uint32_t run)
{
	if (e->mode == MODE_MOVE)
		return EVICT_CONSOLIDATE;
	return e->s->run.queue[run] == e->c->demand.queue ? EVICT_PREEMPT
	                                                  : EVICT_RECLAIM;
}

static void evict_run(struct evictor *e, uint32_t run)
{
	if (!e->why[run])
		*(uint32_t *)arena_push(e->p->arena, &e->evicted,
		                        sizeof(uint32_t)) = run;
	e->why[run] = (uint8_t)why_of(e, run);
	e->by[run] = e->c->job;
}

/* Subtract again what the trial freed of the run, and count it as used until
 * the run has ended. A run that is suspended frees only its CPUs. */
static void occupy(struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;
	bool suspend = e->suspend[run];
	int64_t n = 0, amount[RES_N];

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (e->left[t] == FATE_GIVEN || e->left[t] == FATE_GONE) {
			work_run_task(e->w, run, t, -1);
			work_add(e->w, &e->left[t], FATE_LEFT - e->left[t]);
			promise_leave(e->p->place->promises, t, true);
			n++;
		}
	}
	work_amount(s, run, n, amount);
	if (suspend)
		amount[RES_MEM] = amount[RES_GPU] = 0;
	if (n) {
		promise_left(e->p->promises, run, (uint32_t)n, e->whole[run],
		             suspend);
		work_delay(e->w, s->run.queue[run], s->run.user[run], amount,
		           e->whole[run] && !suspend, 1);
	}
}

static void claim_moved(struct evictor *e)
{
	const struct evict_moved *m = e->moved.p;
	const struct place *place = e->p->place;
	struct demand d;

	for (size_t i = 0; i < e->moved.n; i++) {
		pass_claim(e->p, SNAP_NONE, m[i].run);
		for (size_t t = m[i].first_task;
		     t < m[i].first_task + m[i].ntasks; t++)
			pass_claim_node(e->p, place->task[t].node);
		evict_trial_charge_moved(e, &m[i], 1);
		d = admit_demand_more(e->s, m[i].run, m[i].ntasks);
		work_delay(e->w, d.queue, d.user, d.amount, m[i].whole, -1);
		if (m[i].whole) {
			place_for_moved(e->p->place, m[i].run);
			promise_moved(e->p->promises, m[i].run, place->until);
		} else {
			promise_grew(e->p->promises, m[i].run,
			             (uint32_t)m[i].ntasks);
		}
	}
	evict_search_for_claimant(e);
}

/* Add a claim for the claimant on the nodes of all tasks of the trial, except
 * those of runs that move. */
static void claim_own(struct evictor *e, size_t from)
{
	struct place *place = e->p->place;
	const struct evict_moved *m = e->moved.p;
	size_t next = 0;

	pass_claim(e->p, e->c->row, e->c->run);
	evict_search_for_claimant(e);
	/* The tasks of a run that moves follow each other: skip them. */
	for (size_t t = from; t < place->ntasks; t++) {
		place_disown(place, place->task[t].node);
		if (next < e->moved.n && m[next].first_task == t) {
			t += m[next++].ntasks - 1;
			continue;
		}
		pass_claim_node(e->p, place->task[t].node);
	}
}

/* Count the tasks of the trial that are on nodes where a promise is broken. */
static size_t count_broken(const struct evictor *e, size_t from)
{
	const struct place *place = e->p->place;
	size_t n = 0;

	for (size_t t = from; t < place->ntasks; t++) {
		uint32_t node = place->task[t].node;

		n += place->watched[node] &&
		     !promise_holds(place->promises, node);
	}
	return n;
}

/* Whether the moves break no further promise: with them, at most as many tasks
 * of the trial are on nodes with a broken promise as without them. */
static bool keeps_promises(struct evictor *e, size_t from)
{
	struct promises *promises = e->p->place->promises;
	size_t mark = promise_mark(promises), before, after;

	if (!e->moved.n || !e->p->place->nkept)
		return true;
	before = count_broken(e, from);
	evict_search_tell(e, from, true);
	after = count_broken(e, from);
	promise_back(promises, mark);
	return after <= before;
}

/* Find the runs that only need to be suspended, provided that all other
 * victims end. */
static void find_freezable(struct evictor *e)
{
	size_t mark = work_mark(e->w);

	for (size_t i = 0; i < e->step.n; i++) {
		const struct evict_step *step = evict_step_at(e, i);

		if (!step->seen)
			e->suspend[step->run] =
			    step->task == SNAP_NONE &&
			    !evict_trial_moves(e, step->run) &&
			    can_freeze(e, step->run);
	}
	work_undo(e->w, mark);
	for (size_t i = 0; i < e->step.n; i++) {
		const struct evict_step *step = evict_step_at(e, i);

		if (!step->seen && step->task == SNAP_NONE &&
		    e->suspend[step->run])
			charge_kept(e, step->run);
	}
}

static void decide(struct evictor *e, const struct evict_mark *before)
{
	struct pass *p = e->p;

	claim_own(e, before->ntasks);
	claim_moved(e);
	evict_search_tell(e, before->ntasks, false);
	find_freezable(e);
	work_commit(e->w); /* nothing is undone from here on */
	for (size_t i = e->step.n; i-- > 0;) {
		const struct evict_step *step = evict_step_at(e, i);

		if (step->seen)
			evict_trial_untake(e, i);
		else
			evict_run(e, step->run);
	}
	for (size_t i = 0; i < e->step.n; i++)
		occupy(e, evict_step_at(e, i)->run);
	evict_trial_refresh(e, 0);
	evict_search_close(e, 1);
	admit_hold(e->w, &e->c->demand);
	if (e->c->run != SNAP_NONE)
		promise_grew(p->promises, e->c->run, e->c->tasks);
	else
		promise_took(p->promises, e->c->row, &e->c->demand,
		             place_row_end(e->s, e->c->row));
	work_commit(e->w);
	for (size_t i = 0; i < e->step.n; i++)
		order_queues_update(p->queues,
		                    e->s->run.queue[evict_step_at(e, i)->run]);
}

/* Whether place_suits() accepts the nodes that the trial gives to the claimant.
 * A run that grows is not checked. */
static bool suits(struct evictor *e)
{
	struct place *place = e->p->place;
	size_t n = place->ntasks - e->first_task, k = 0;
	uint32_t *node;

	if (e->c->run != SNAP_NONE)
		return true;
	node = arena_array(e->p->arena, uint32_t, n);
	for (size_t t = e->first_task; t < place->ntasks; t++) {
		place_disown(place, place->task[t].node);
		if (!evict_search_is_moved(e, t))
			node[k++] = place->task[t].node;
	}
	return place_suits(place, e->c->req, node, (uint32_t)k);
}

static bool finds_room_by_rules(struct evictor *e,
                                const struct evict_mark *before)
{
	struct evict_mark placed;

	if (!evict_search_find(e) || !suits(e))
		return false;
	if (e->mode == MODE_MOVE)
		return true;
	evict_search_share(e, before);
	placed = evict_search_mark(e);
	evict_search_elsewhere(e, 0);
	if (evict_rules_hold(e))
		return true;
	if (e->mode != MODE_STRICT)
		return false;
	/* A victim of the claimant's own queue that moves still counts as use
	 * of that queue, which may then exceed its share: try again without
	 * moving any victim. */
	evict_search_back(e, &placed);
	evict_search_share(e, before);
	return evict_rules_hold(e);
}

static bool finds_room(struct evictor *e, const struct evict_mark *before)
{
	return finds_room_by_rules(e, before) &&
	       keeps_promises(e, before->ntasks);
}

/* List the runs that the trial evicts. Returns how many there are, or 0 if
 * there are more than RUNS_MAX. */
static uint32_t list_runs(const struct evictor *e, uint32_t *run)
{
	uint32_t n = 0;

	for (size_t i = 0; i < e->step.n; i++) {
		const struct evict_step *step = evict_step_at(e, i);
		uint32_t k = 0;

		if (step->seen)
			continue;
		while (k < n && run[k] != step->run)
			k++;
		if (k == RUNS_MAX)
			return 0;
		run[k] = step->run;
		n += k == n;
	}
	return n;
}

/* Returns which of these runs are evicted as a whole, bit i for run[i]. */
static unsigned whole_of(const struct evictor *e, const uint32_t *run,
                         uint32_t n)
{
	unsigned ret = 0;

	for (uint32_t i = 0; i < n; i++)
		ret |= (unsigned)(e->whole[run[i]] > 0) << i;
	return ret;
}

static bool try_again(struct evictor *e, const struct evict_mark *before)
{
	evict_search_back(e, before);
	evict_search_for_claimant(e);
	return finds_room(e, before);
}

/* Move all chosen runs at once: take all of them off their nodes, place the
 * claimant, then find new places for the runs. If they moved one after the
 * other, the first one might take the nodes that suit the claimant. */
static bool try_together(struct evictor *e, const struct evict_mark *before,
                         const uint32_t *run, uint32_t n)
{
	evict_search_back(e, before);
	evict_search_for_claimant(e);
	for (uint32_t i = 0; i < n; i++) {
		if (e->only[run[i]])
			evict_trial_take(e, run[i]);
	}
	evict_trial_refresh(e, before->nsteps);
	if (!evict_search_find(e) || !suits(e))
		return false;
	evict_search_share(e, before);
	return !evict_search_elsewhere(e, before->nsteps) &&
	       keeps_promises(e, before->ntasks);
}

/* Repeat the trial with only the chosen runs as victims. Fails if a run
 * would be evicted as a whole although the first trial evicted only
 * some of its tasks. */
static bool try_chosen(struct evictor *e, const struct evict_mark *before,
                       const uint32_t *run, uint32_t n, unsigned whole)
{
	if (try_again(e, before) && !(whole_of(e, run, n) & ~whole))
		return true;
	for (uint32_t i = 0; i < n; i++) {
		if (e->only[run[i]] && !(whole >> i & 1))
			return false;
	}
	return e->mode == MODE_MOVE && try_together(e, before, run, n);
}

/* Whether the run has tasks on several nodes. If so, evicting it may have made
 * victims unnecessary that were taken before. */
static bool is_spread(const struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;
	uint32_t first = s->run.task_first[run];

	for (uint32_t t = first; t < s->run.task_first[run + 1]; t++) {
		if (s->task[t].node != s->task[first].node)
			return true;
	}
	return false;
}

static bool any_spread(const struct evictor *e, const uint32_t *run, uint32_t n)
{
	while (n && !is_spread(e, run[n - 1]))
		n--;
	return n;
}

/* Spare all runs that need not be evicted: leave out one run at a time, and
 * repeat the trial with the others. Returns false if the last repetition fails.
 */
static bool fewest(struct evictor *e, const struct evict_mark *before)
{
	uint32_t run[RUNS_MAX], n = list_runs(e, run);
	unsigned whole = whole_of(e, run, n);
	bool found;

	if (n < 2 || (e->mode != MODE_MOVE && !any_spread(e, run, n)))
		return true;
	for (uint32_t i = 0; i < n; i++)
		e->only[run[i]] = 1;
	e->chosen = true;
	for (uint32_t i = n; i-- > 0;) {
		e->only[run[i]] = 0;
		e->only[run[i]] = !try_chosen(e, before, run, n, whole);
	}
	found = try_chosen(e, before, run, n, whole) || try_again(e, before);
	e->chosen = false;
	for (uint32_t i = 0; i < n; i++)
		e->only[run[i]] = 0;
	return found;
}

static bool attempt(struct evictor *e, enum evict_mode mode)
{
	struct evict_mark before;
	bool found;

	evict_trial_list(e);
	e->mode = mode;
	evict_rules_begin(e);
	e->step.n = e->moved.n = 0;
	evict_search_for_claimant(e);
	before = evict_search_mark(e);
	e->first_task = before.ntasks;
	found = finds_room(e, &before) && fewest(e, &before);
	if (found) {
		decide(e, &before);
	} else {
		evict_search_back(e, &before);
		/* The trial may have set up `place` for runs that move: set it
		 * up for the claimant again, because the claimant may be
		 * promised a start next. */
		evict_search_for_claimant(e);
	}
	if (e->c->run != SNAP_NONE)
		pass_own(e->p, e->c->run, false);
	return found;
}

static bool same_list(const uint32_t *first, const void *all, size_t size,
                      uint32_t a, uint32_t b)
{
	uint32_t n = first[a + 1] - first[a];

	return first[b + 1] - first[b] == n &&
	       (!n || !memcmp((const char *)all + first[a] * size,
	                      (const char *)all + first[b] * size, n * size));
}

/* Whether request b is equal to request a, except that each task may ask for
 * more CPUs, memory and devices. */
static bool asks_no_less(const struct snap *s, uint32_t b, uint32_t a)
{
	const struct snap_reqs *r = &s->req;

#define X(type, name)                 \
	if (r->name[b] != r->name[a]) \
		return false;
	SNAP_REQ_OTHERS(X)
#undef X
	for (uint32_t i = 0; i < s->dev.n; i++) {
		if (r->devs[b].n[i] < r->devs[a].n[i])
			return false;
	}
	return r->cpus[b] >= r->cpus[a] && r->mem[b] >= r->mem[a] &&
	       same_list(r->rule_first, s->rule, sizeof(*s->rule), a, b) &&
	       same_list(r->want_first, s->want, sizeof(*s->want), a, b) &&
	       same_list(r->avoid_first, s->avoid, sizeof(*s->avoid), a, b) &&
	       same_list(r->shun_first, s->shun, sizeof(*s->shun), a, b) &&
	       same_list(r->beside_first, s->beside, sizeof(*s->beside), a,
	                 b) &&
	       same_list(r->license_first, s->license_use,
	                 sizeof(*s->license_use), a, b);
}

/*
 * Whether moving jobs has failed in this pass for a request that asks for no
 * more than this one. Nothing becomes free during a pass, so it would fail
 * again. Only the last few failures are remembered. This saves time where
 * thousands of requests differ only in memory.
 */
static bool is_futile(const struct evict_futile *vs, const struct snap *s,
                      const struct demand *d)
{
	uint32_t n = vs->n < FUTILE_MAX ? vs->n : FUTILE_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct evict_futile_one *v = &vs->vain[i];

		if (v->queue == d->queue && v->user == d->user &&
		    asks_no_less(s, d->req, v->req))
			return true;
	}
	return false;
}

static void note_futile(struct evict_futile *vs, const struct demand *d)
{
	vs->vain[vs->n++ % FUTILE_MAX] =
	    (struct evict_futile_one){ d->req, d->queue, d->user };
}

static bool moves_others(struct evictor *e)
{
	const struct demand *d = &e->c->demand;

	/* A run grows only in its pool and domain. If it finds no room there,
	 * other claimants may still find room elsewhere: do not remember the
	 * failure. */
	if (e->c->row == SNAP_NONE)
		return attempt(e, MODE_MOVE);
	if (is_futile(&e->futile, e->s, d))
		return false;
	if (attempt(e, MODE_MOVE))
		return true;
	note_futile(&e->futile, d);
	return false;
}

bool evict_for(struct pass *p, const struct claimant *c, bool scattered)
{
	struct evictor *e = p->evict;
	bool found;

	if (!e)
		e = p->evict = evict_trial_new(p);
	e->c = c;
	e->tried_before = *e->w->tried;
	if (!e->norder || evict_search_spent(e))
		return false;
	/* Evict no job for a claimant whose constraint counts nodes. */
	if (match_req(p->place->match, c->req)->ncounts)
		return false;
	found = (scattered && p->snap->policy.consolidate && moves_others(e)) ||
	        (evict_rules_allow_any(e) &&
	         (attempt(e, MODE_RECLAIM) || attempt(e, MODE_TAKE) ||
	          attempt(e, MODE_STRICT)));
	if (found)
		e->futile.n = 0; /* evicted jobs free their nodes, so moves that
		                    failed may work now */
	e->tried += *e->w->tried - e->tried_before;
	return found;
}

void evict_list(struct pass *p)
{
	const struct evictor *e = p->evict;
	const uint32_t *run = e ? e->evicted.p : NULL;

	for (size_t i = 0; e && i < e->evicted.n; i++) {
		const struct snap *s = p->snap;
		struct eviction *ev =
		    arena_push(p->arena, &p->eviction, sizeof(*ev));
		uint32_t first = s->run.task_first[run[i]];

		*ev = (struct eviction){ .run = run[i],
			                 .loss_first = (uint32_t)p->loss.n,
			                 .why = e->why[run[i]],
			                 .suspend = e->suspend[run[i]],
			                 .by = e->by[run[i]] };
		for (uint32_t t = first; t < s->run.task_first[run[i] + 1];
		     t++) {
			if (e->left[t] == FATE_LEFT)
				*(uint32_t *)arena_push(p->arena, &p->loss,
				                        sizeof(uint32_t)) =
				    t - first;
		}
		ev->nlosses = (uint32_t)p->loss.n - ev->loss_first;
	}
}

uint64_t evict_looks(const struct pass *p)
{
	return p->evict ? p->evict->looks : 0;
}

bool evict_has(const struct pass *p, uint32_t run)
{
	return p->evict && p->evict->order && p->evict->why[run];
}
