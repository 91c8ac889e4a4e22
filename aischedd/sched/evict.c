/* evict.c - make room for a job: preempt, reclaim, consolidate */
#include "aischedd/sched/evict.h"

#include "aischedd/sched/evict_search.h"

/* With more that leave it is not tried with fewer. */
enum { RUNS_MAX = 8 };

/* One that is only stopped still uses memory and GPUs of its queue. */
static void charge_kept(struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;
	int64_t amount[RES_N];

	work_amount(s, run, run_ntasks(s, run), amount);
	amount[RES_CPU] = 0;
	work_charge(e->w, s->run.queue[run], amount, false, 1);
	work_charge_job(e->w, s->run.queue[run], s->run.user[run],
	                amount[RES_GPU], true, 1);
}

/* Whether its memory and GPUs can stay where they are, so that it is enough
 * to stop it; if so, they do. */
static bool can_freeze(struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;
	size_t mark = work_mark(e->w);
	bool can = s->run.freezable[run] && !s->run.suspended[run] &&
	           !e->why[run] && !s->req.exclusive[e->c->req];
	struct verdict v;

	for (uint32_t t = s->run.task_first[run];
	     can && t < s->run.task_first[run + 1]; t++) {
		const struct snap_task *task = &s->task[t];

		work_rest(e->w, s->run.req[run], task, -1);
		can = work_is_sound(e->w, task);
	}
	charge_kept(e, run);
	can = can && admit_now(e->w, &e->c->demand, &v) == WHY_None;
	if (!can)
		work_undo(e->w, mark);
	return can;
}

static enum evict why_of(const struct evictor *e, uint32_t run)
{
	if (e->mode == MOVE)
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

/* Its room is not free before it has left. */
static void occupy(struct evictor *e, uint32_t run)
{
	const struct snap *s = e->s;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		if (e->left[t] == GIVEN || e->left[t] == GONE) {
			work_run_task(e->w, run, t, -1);
			work_add(e->w, &e->left[t], LEFT - e->left[t]);
		}
		shelf_refresh(e->p->place->shelf, s->task[t].node);
	}
}

static void claim_moved(struct evictor *e)
{
	const struct moved *m = e->moved.p;

	for (size_t i = 0; i < e->moved.n; i++) {
		pass_claim(e->p, SNAP_NONE, m[i].run);
		for (size_t t = 0; t < m[i].ntasks; t++)
			pass_claim_node(
			    e->p, e->p->place->task[m[i].first_task + t].node);
		moved_charge(e, &m[i], 1);
	}
}

/* The tasks of the trial that are not those of others who move. */
static void claim_own(struct evictor *e, size_t from)
{
	const struct place *place = e->p->place;
	const struct moved *m = e->moved.p;
	size_t next = 0;

	pass_claim(e->p, e->c->row, e->c->run);
	/* Whoever moves is placed as a whole. */
	for (size_t t = from; t < place->ntasks; t++) {
		place->own[place->task[t].node] = 0;
		if (next < e->moved.n && m[next].first_task == t) {
			t += m[next++].ntasks - 1;
			continue;
		}
		pass_claim_node(e->p, place->task[t].node);
	}
}

/* For whom it is enough to be stopped, when all the others have left. */
static void find_freezable(struct evictor *e)
{
	size_t mark = work_mark(e->w);

	for (size_t i = 0; i < e->step.n; i++) {
		const struct step *step = step_at(e, i);

		if (!step->seen)
			e->suspend[step->run] = step->task == SNAP_NONE &&
			                        !victim_moves(e, step->run) &&
			                        can_freeze(e, step->run);
	}
	work_undo(e->w, mark);
	for (size_t i = 0; i < e->step.n; i++) {
		const struct step *step = step_at(e, i);

		if (!step->seen && step->task == SNAP_NONE &&
		    e->suspend[step->run])
			charge_kept(e, step->run);
	}
}

static void decide(struct evictor *e, const struct stand *before)
{
	struct pass *p = e->p;

	claim_own(e, before->ntasks);
	claim_moved(e);
	find_freezable(e);
	for (size_t i = e->step.n; i-- > 0;) {
		const struct step *step = step_at(e, i);

		if (step->seen)
			victim_untake(e, i);
		else
			evict_run(e, step->run);
	}
	for (size_t i = 0; i < e->step.n; i++)
		occupy(e, step_at(e, i)->run);
	room_close(e, 1);
	admit_charge(e->w, &e->c->demand, 1);
	work_commit(e->w);
	for (size_t i = 0; i < e->step.n; i++)
		tree_update(p->tree, e->s->run.queue[step_at(e, i)->run]);
}

/* Whether the claimant may be on the nodes that it got; who grows may. */
static bool suits(struct evictor *e)
{
	struct place *place = e->p->place;
	size_t n = place->ntasks - e->first_task, k = 0;
	uint32_t *node;

	if (e->c->run != SNAP_NONE)
		return true;
	node = arena_array(e->p->arena, uint32_t, n);
	for (size_t t = e->first_task; t < place->ntasks; t++) {
		place->own[place->task[t].node] = 0;
		if (!room_is_moved(e, t))
			node[k++] = place->task[t].node;
	}
	return place_suits(place, e->c->req, node, (uint32_t)k);
}

static bool finds_room(struct evictor *e, const struct stand *before)
{
	struct stand placed;

	if (!room_find(e) || !suits(e))
		return false;
	if (e->mode == MOVE)
		return true;
	room_share(e, before);
	placed = stand_now(e);
	room_elsewhere(e, 0);
	if (victims_rules_hold(e))
		return true;
	if (e->mode != STRICT)
		return false;
	/* Whoever of its own queue goes elsewhere keeps it from its share. */
	stand_back(e, &placed);
	room_share(e, before);
	return victims_rules_hold(e);
}

/* The runs of the trial, if they are not too many; returns how many. */
static uint32_t list_runs(const struct evictor *e, uint32_t *run)
{
	uint32_t n = 0;

	for (size_t i = 0; i < e->step.n; i++) {
		const struct step *step = step_at(e, i);
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

/* Of these runs, one bit each, as a whole. */
static unsigned whole_of(const struct evictor *e, const uint32_t *run,
                         uint32_t n)
{
	unsigned ret = 0;

	for (uint32_t i = 0; i < n; i++)
		ret |= (unsigned)(e->whole[run[i]] > 0) << i;
	return ret;
}

static bool try_again(struct evictor *e, const struct stand *before)
{
	stand_back(e, before);
	room_for_claimant(e);
	return finds_room(e, before);
}

/* Whether it leaves more nodes than one: then it may have made others
 * superfluous that were taken before it. */
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

/* Nobody leaves without whom it works, too: the plan is made again from fewer
 * and fewer of them. */
static bool fewest(struct evictor *e, const struct stand *before)
{
	uint32_t run[RUNS_MAX], n = list_runs(e, run);
	unsigned whole = whole_of(e, run, n);
	bool found;

	if (n < 2 || (e->mode != MOVE && !any_spread(e, run, n)))
		return true;
	for (uint32_t i = 0; i < n; i++)
		e->only[run[i]] = 1;
	e->chosen = true;
	for (uint32_t i = n; i-- > 0;) {
		e->only[run[i]] = 0;
		/* Nobody goes as a whole instead. */
		e->only[run[i]] =
		    !try_again(e, before) || (whole_of(e, run, n) & ~whole);
	}
	found = try_again(e, before);
	e->chosen = false;
	for (uint32_t i = 0; i < n; i++)
		e->only[run[i]] = 0;
	return found;
}

static bool attempt(struct evictor *e, enum mode mode)
{
	struct stand before;
	bool found;

	victims_list(e);
	e->mode = mode;
	e->step.n = e->moved.n = 0;
	room_for_claimant(e);
	before = stand_now(e);
	e->first_task = before.ntasks;
	found = finds_room(e, &before) && fewest(e, &before);
	if (found)
		decide(e, &before);
	else
		stand_back(e, &before);
	if (e->c->run != SNAP_NONE)
		pass_own(e->p, e->c->run, false);
	return found;
}

static bool moves_others(struct evictor *e)
{
	const struct demand *d = &e->c->demand;

	if (e->c->row == SNAP_NONE) /* it is bound to where it is */
		return attempt(e, MOVE);
	if (vain_has(&e->vains, e->s, d))
		return false;
	if (attempt(e, MOVE))
		return true;
	vain_add(&e->vains, d);
	return false;
}

bool evict_for(struct pass *p, const struct claimant *c, bool scattered)
{
	struct evictor *e = p->evict;
	bool found;

	if (!e)
		e = p->evict = victims_new(p);
	e->c = c;
	if (!e->norder || e->looks >= LOOKS_MAX)
		return false;
	/* Who wants some nodes of a kind waits for them. */
	if (match_req(p->place->match, c->req)->ncounts)
		return false;
	found =
	    (scattered && p->snap->policy.consolidate && moves_others(e)) ||
	    (victims_allowed(e) &&
	     (attempt(e, RECLAIM) || attempt(e, TAKE) || attempt(e, STRICT)));
	if (found)
		e->vains.n = 0; /* others are elsewhere now */
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
			if (e->left[t] == LEFT)
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
