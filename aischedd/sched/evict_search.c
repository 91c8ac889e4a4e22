/* evict_search.c - the nodes that cost a claimant least to clear */
#include "aischedd/sched/evict_search.h"

#include <string.h>

#include "aischedd/sched/domain.h"
#include "aischedd/sched/evict_node.h"
#include "aischedd/sched/evict_rules.h"
#include "aischedd/sched/evict_spare.h"
#include "aischedd/sched/fit.h"
#include "aischedd/sched/verdict.h"
#include "libcommon/heap.h"

/* A node that can hold tasks of the claimant once it is cleared, and what
 * clearing it costs. */
struct offer {
	uint64_t cost;
	uint32_t node;
};

static bool may_be_used(const struct evictor *e, uint32_t node)
{
	return (e->c->run == SNAP_NONE ||
	        domain_may_grow(e->s, e->c->run, node)) &&
	       place_may_use(e->p->place, e->c->req, node);
}

/* --- clear nodes, the cheapest first ----------------------------------- */

static struct offer *offer_at(const struct evictor *e, size_t i)
{
	return (struct offer *)e->offers.p + i;
}

/* Whether a is cheaper, or comes first in the order of the pool at equal
 * cost. */
static bool cheaper(const struct evictor *e, struct offer a, struct offer b)
{
	if (a.cost != b.cost)
		return a.cost < b.cost;
	return place_index_before(e->p->place->index, a.node, b.node);
}

#define AT(e, i)         (*offer_at(e, i))
#define PUT(e, i, offer) (*offer_at(e, i) = (offer))
HEAP(offers, struct offer, const struct evictor *, AT, cheaper, PUT)

static void offer_push(struct evictor *e, struct offer offer)
{
	arena_push(e->p->arena, &e->offers, sizeof(offer));
	offers_rise(e, e->offers.n - 1, offer);
}

static struct offer offer_pop(struct evictor *e)
{
	struct offer first = *offer_at(e, 0);

	e->offers.n--;
	offers_sink(e, e->offers.n, 0, *offer_at(e, e->offers.n));
	return first;
}

static void offer_node(struct evictor *e, uint32_t node)
{
	struct offer offer = { .node = node };

	if (e->reach[node] && evict_node_cost(e, node, &offer.cost))
		offer_push(e, offer);
}

/* Offer the node again, and also all other nodes on which the evictions from
 * step nsteps on have freed something. */
static void offer_again(struct evictor *e, size_t nsteps, uint32_t node)
{
	const struct snap *s = e->s;

	for (size_t i = nsteps; i < e->step.n; i++) {
		uint32_t run = evict_step_at(e, i)->run;

		for (uint32_t t = s->run.task_first[run];
		     t < s->run.task_first[run + 1]; t++) {
			if (s->task[t].node != node)
				offer_node(e, s->task[t].node);
		}
	}
	offer_node(e, node);
}

/* If the claimant is a running job that grows, let the placement count the
 * job's tasks as its own (own), or no longer. */
static void own_tasks(const struct evictor *e, bool own)
{
	if (e->c->run == SNAP_NONE)
		return;
	pass_own(e->p, e->c->run, false);
	if (own)
		pass_own(e->p, e->c->run, true);
}

struct evict_mark evict_search_mark(const struct evictor *e)
{
	const struct place *place = e->p->place;

	return (struct evict_mark){ work_mark(e->w), e->step.n, e->moved.n,
		                    place->ntasks, place->nuse };
}

void evict_search_back(struct evictor *e, const struct evict_mark *to)
{
	struct place *place = e->p->place;
	size_t end = place->ntasks, nsteps;

	nsteps = e->step.n;
	evict_trial_undo(e, to->mark, to->nsteps);
	place->ntasks = to->ntasks;
	place->nuse = to->nuse;
	for (size_t i = to->ntasks; i < end; i++) {
		place_disown(place, place->task[i].node);
		place_index_refresh(place->index, place->task[i].node);
	}
	e->step.n = nsteps;
	evict_trial_refresh(e, to->nsteps);
	e->step.n = to->nsteps;
	e->moved.n = to->nmoved;
	own_tasks(e, true);
}

bool evict_search_is_moved(const struct evictor *e, size_t task)
{
	const struct evict_moved *m = e->moved.p;
	size_t lo = 0, hi = e->moved.n;

	/* Sorted by first_task: binary search. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m[mid].first_task + m[mid].ntasks <= task)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < e->moved.n && m[lo].first_task <= task;
}

static void close_node(struct evictor *e, uint32_t node, int sign)
{
	work_add(e->w, &e->w->sealed[node], sign);
	place_index_refresh(e->p->place->index, node);
}

void evict_search_close(struct evictor *e, int sign)
{
	const struct place *place = e->p->place;

	if (!e->s->req.exclusive[e->c->req])
		return;
	for (size_t t = e->first_task; t < place->ntasks; t++) {
		if (!evict_search_is_moved(e, t))
			close_node(e, place->task[t].node, sign);
	}
}

/* Add what the claimant and the runs that move will use to the use of their
 * queues (sign 1), or subtract it (-1). */
static void count_placed(struct evictor *e, int sign)
{
	const struct evict_moved *m = e->moved.p;

	admit_charge(e->w, &e->c->demand, sign);
	for (size_t i = 0; i < e->moved.n; i++)
		evict_trial_charge_moved(e, &m[i], sign);
}

/* Place all tasks of a run elsewhere, within the limits of its queues. */
static bool try_run(struct evictor *e, uint32_t run)
{
	uint32_t tasks = snap_run_ntasks(e->s, run);
	struct demand d = admit_demand_more(e->s, run, tasks);
	struct verdict v;

	return admit_then(e->w, &d, &v) == WHY_None &&
	       place_try(e->p->place, d.req, tasks, IN_OPEN, NULL);
}

/* Add the tasks of a run that the trial has moved to place->own, and subtract
 * those that are evicted (sign 1), or undo that (-1). Returns how many tasks
 * that adds. */
static int64_t own_moved(struct evictor *e, uint32_t run, int sign)
{
	const struct evict_moved *m = e->moved.p;
	const struct place *place = e->p->place;
	int64_t n = 0;

	for (size_t i = 0; i < e->moved.n; i++) {
		for (size_t t = m[i].first_task;
		     m[i].run == run && t < m[i].first_task + m[i].ntasks;
		     t++, n++)
			place->own[place->task[t].node] += (uint32_t)sign;
	}
	for (uint32_t t = e->s->run.task_first[run];
	     t < e->s->run.task_first[run + 1]; t++) {
		if (e->left[t] == FATE_STAYS)
			continue;
		place->own[e->s->task[t].node] -= (uint32_t)sign;
		n--;
	}
	return n;
}

/* Returns what a run gets of which single tasks move: one task, where the run
 * then can have as many nodes of each kind as it asks for. Called while its
 * tasks are in place->own. */
static struct place_growth growth_of(struct evictor *e, uint32_t run)
{
	const struct more *more = e->p->more_node.p;
	uint32_t req = e->s->run.req[run];
	int64_t have = snap_run_ntasks(e->s, run) + 1;
	struct place_growth ret = { .tasks = 1 };

	if (e->s->req.nodes[req] ||
	    !match_req(e->p->place->match, req)->ncounts)
		return ret;
	for (uint32_t i = e->p->more[run]; i; i = more[i - 1].next)
		have++;
	have += own_moved(e, run, 1);
	place_count_wants(e->p->place, req, ret.wants);
	own_moved(e, run, -1);
	if (have < e->s->req.tasks[req])
		ret.later = e->s->req.tasks[req] - (uint32_t)have;
	return ret;
}

/* Place one task elsewhere, in the pool and domain of the other tasks of its
 * run. */
static bool try_task(struct evictor *e, uint32_t run)
{
	bool found;

	pass_own(e->p, run, true);
	found = place_try_grow(e->p->place, run, growth_of(e, run), NULL);
	pass_own(e->p, run, false);
	return found;
}

/* Close the nodes that what the step evicts leaves, and whose kubelets choose
 * devices: there it would only get what it has (sign 1); or open them (-1). */
static void close_left(struct evictor *e, const struct evict_step *step,
                       int sign)
{
	const struct snap *s = e->s;
	uint32_t first = step->task, end = step->task + 1;

	if (step->task == SNAP_NONE) {
		first = s->run.task_first[step->run];
		end = s->run.task_first[step->run + 1];
	}
	for (uint32_t t = first; t < end; t++)
		if (s->node.chooses[s->task[t].node])
			close_node(e, s->task[t].node, sign);
}

/* Try to place what the step evicts, which is one task or a whole run. */
static bool try_places(struct evictor *e, const struct evict_step *step)
{
	if (step->task != SNAP_NONE) {
		place_for_run(e->p->place, step->run);
		return try_task(e, step->run);
	}
	place_for_moved(e->p->place, step->run);
	return promise_may_move(e->p->promises, step->run, e->moved.n + 1) &&
	       try_run(e, step->run);
}

/* Likewise, at another place than before: on other nodes or, where the plan
 * chooses devices, on other devices of the same nodes. */
static bool try_elsewhere(struct evictor *e, const struct evict_step *step)
{
	bool found;

	close_left(e, step, 1);
	found = try_places(e, step);
	close_left(e, step, -1);
	return found;
}

/* Record the tasks that have just been placed on trial as the new place of the
 * run that the step evicts. */
static void move_step(struct evictor *e, const struct evict_step *step)
{
	struct place *place = e->p->place;
	bool whole = step->task == SNAP_NONE;
	struct evict_moved *moved =
	    arena_push(e->p->arena, &e->moved, sizeof(*moved));

	*moved = (struct evict_moved){ step->run, whole, place->first_task,
		                       place->ntasks - place->first_task };
	e->moved_at[step->run] = (uint32_t)e->moved.n - 1;
	evict_trial_charge_moved(e, moved, 1);
	for (size_t t = place->first_task; t < place->ntasks; t++) {
		place_disown(place, place->task[t].node);
		if (e->s->req.exclusive[e->s->run.req[step->run]])
			close_node(e, place->task[t].node, 1);
	}
}

/* Tell the promises where the tasks of a run that moves will be; with
 * `watched`, only of tasks on watched nodes. */
static void tell_moved(struct evictor *e, const struct evict_moved *m,
                       bool watched)
{
	struct place *place = e->p->place;

	if (m->whole)
		place_for_moved(place, m->run);
	else
		place_for_run(place, m->run);
	for (size_t t = m->first_task; t < m->first_task + m->ntasks; t++) {
		if (!watched || place->watched[place->task[t].node])
			promise_claimed(place->promises, e->s->run.req[m->run],
			                t);
	}
}

void evict_search_tell(struct evictor *e, size_t from, bool watched)
{
	struct place *place = e->p->place;
	const struct evict_moved *m = e->moved.p;

	if (e->c->run == SNAP_NONE)
		place_for(place, e->c->row, e->c->job);
	else
		place_for_run(place, e->c->run);
	for (size_t t = from; t < place->ntasks; t++) {
		if (!evict_search_is_moved(e, t) &&
		    (!watched || place->watched[place->task[t].node]))
			promise_claimed(place->promises, e->c->req, t);
	}
	for (size_t i = 0; i < e->moved.n; i++)
		tell_moved(e, &m[i], watched);
}

/* As evict_search_elsewhere(), but called while count_placed() counts. */
static size_t move_steps(struct evictor *e, size_t from)
{
	bool moves = e->mode == MODE_MOVE;
	struct promises *promises = e->p->place->promises;
	bool told = e->p->place->nkept > 0;
	size_t lost = 0, mark = promise_mark(promises);

	evict_search_close(e, 1);
	if (told)
		evict_search_tell(e, e->first_task, true);
	for (size_t i = e->step.n; i-- > from;) {
		struct evict_step step = *evict_step_at(e, i);

		if (step.seen ||
		    (step.task != SNAP_NONE && (!moves || e->whole[step.run])))
			continue;
		if (!try_elsewhere(e, &step)) {
			lost++;
			continue;
		}
		move_step(e, &step);
		if (told)
			tell_moved(e, evict_trial_moved_of(e, step.run), true);
	}
	promise_back(promises, mark);
	evict_search_close(e, -1);
	return lost;
}

size_t evict_search_elsewhere(struct evictor *e, size_t from)
{
	size_t lost;

	count_placed(e, 1);
	lost = move_steps(e, from);
	count_placed(e, -1);
	return lost;
}

void evict_search_for_claimant(const struct evictor *e)
{
	if (e->c->run == SNAP_NONE)
		place_for(e->p->place, e->c->row, e->c->job);
	else
		place_for_run(e->p->place, e->c->run);
	own_tasks(e, true);
}

/* Count the tasks that this trial has placed for the claimant as its own (own),
 * or no longer. */
static void count_trial(const struct evictor *e, bool own)
{
	struct place *place = e->p->place;
	const struct evict_moved *m = e->moved.p;
	size_t next = 0;

	for (size_t t = e->first_task; t < place->ntasks; t++) {
		if (!own)
			place_disown(place, place->task[t].node);
		else if (next < e->moved.n && m[next].first_task == t)
			t += m[next++].ntasks - 1;
		else
			place_own(place, &place->task[t], false);
	}
}

/* Place the claimant's next tasks on a node that was cleared since `before`. In
 * MODE_MOVE, undo both and return false if there are no other places for the
 * victims. */
static bool settle_on(struct evictor *e, uint32_t node,
                      const struct evict_mark *before)
{
	bool moved;

	evict_trial_refresh(e, before->nsteps);
	place_put(e->p->place, e->c->req, node, evict_node_chunk(e));
	if (e->mode != MODE_MOVE)
		return true;
	/* While other runs are placed, the claimant's tasks must not
	 * count as theirs. */
	count_trial(e, false);
	own_tasks(e, false);
	moved = !move_steps(e, before->nsteps);
	evict_search_for_claimant(e);
	if (!moved)
		evict_search_back(e, before);
	count_trial(e, true);
	return moved;
}

void evict_search_share(struct evictor *e, const struct evict_mark *before)
{
	struct place *place = e->p->place;

	for (size_t t = before->ntasks; t < place->ntasks; t++)
		place_disown(place, place->task[t].node);
	own_tasks(e, false);
}

/* Offer all these nodes, unless they were offered before; in MODE_STRICT offer
 * them again whenever there are new victims, because the rules may then allow
 * further evictions. Returns false if there are no offers. */
static bool offer_nodes(struct evictor *e, const uint32_t *node, uint32_t n,
                        size_t *steps_then)
{
	if (e->step.n == *steps_then ||
	    (*steps_then != SIZE_MAX && e->mode != MODE_STRICT))
		return false;
	*steps_then = e->step.n;
	for (uint32_t i = 0; i < n && !evict_search_spent(e); i++)
		offer_node(e, node[i]);
	return e->offers.n;
}

/* Place all tasks of the claimant, or of its current segment, on some
 * of these nodes. */
static bool fill_nodes(struct evictor *e, const uint32_t *node, uint32_t n)
{
	size_t steps_then = SIZE_MAX;

	e->todo = e->segment ? e->segment : e->c->tasks;
	e->nodes_left = e->c->nodes;
	if (e->segment && e->nodes_left)
		e->nodes_left = e->segment / snap_segment_part(e->s, e->c->req);
	e->offers.n = 0;
	e->worst = 0;
	for (uint32_t i = 0; i < n; i++)
		e->reach[node[i]] = may_be_used(e, node[i]) &&
		                    (e->pool == SNAP_NONE ||
		                     e->pool == e->s->node.pool[node[i]]);
	if (e->mode == MODE_MOVE)
		count_placed(e, 1);
	while (e->todo > 0 && !evict_search_spent(e) &&
	       (e->offers.n || offer_nodes(e, node, n, &steps_then))) {
		struct offer offer = offer_pop(e);
		struct evict_mark before = evict_search_mark(e);
		uint64_t cost;
		bool can = evict_node_clear(e, offer.node, &cost);

		/* Evictions may have raised the cost since the offer was made:
		 * then offer the node again. */
		if (!can || cost > offer.cost) {
			evict_trial_undo(e, before.mark, before.nsteps);
			offer.cost = cost;
			if (can)
				offer_push(e, offer);
			continue;
		}
		if (!settle_on(e, offer.node, &before))
			continue;
		e->todo -= evict_node_chunk(e);
		e->nodes_left -= e->nodes_left > 0;
		e->worst = cost > e->worst ? cost : e->worst;
		offer_again(e, before.nsteps, offer.node);
	}
	if (e->mode == MODE_MOVE)
		count_placed(e, -1);
	for (uint32_t i = 0; i < n; i++)
		e->reach[node[i]] = 0;
	return e->todo <= 0 && !e->nodes_left;
}

/* --- place the claimant in a domain or pool ---------------------------- */

/* Evict the first victim in the queue, or in a queue below it, that uses some
 * of the resource: with `whole` the whole run, else one surplus task. Returns
 * false if there is no such victim. */
static bool take_below(struct evictor *e, uint32_t queue, int64_t resource,
                       bool whole)
{
	const struct snap *s = e->s;

	for (uint32_t i = 0; i < e->norder; i++) {
		uint32_t run = e->order[i];
		uint32_t t = s->run.task_first[run + 1];
		int64_t has[RES_N];

		work_amount(s, run, 1, has);
		if (!has[resource] ||
		    !snap_queue_is_above(s, queue, s->run.queue[run]) ||
		    e->whole[run] || (!whole && e->surplus[run] <= 0) ||
		    run == e->c->run || !evict_rules_allow(e, run))
			continue;
		if (whole) {
			evict_trial_take(e, run);
			return true;
		}
		do
			t--;
		while (e->left[t] != FATE_STAYS);
		evict_trial_take_task(e, t);
		return true;
	}
	return false;
}

/* Evict runs until the claimant is within the limits of its queues. Returns
 * false if no evictions achieve this. */
static bool clear_limits(struct evictor *e)
{
	size_t nsteps = e->step.n;
	struct verdict v;
	enum reason why;

	while ((why = admit_then(e->w, &e->c->demand, &v)) == WHY_QueueLimit) {
		int what = v.what;

		if (e->mode == MODE_MOVE ||
		    (!take_below(e, v.name, what, false) &&
		     !take_below(e, v.name, what, true)))
			return false;
	}
	evict_trial_refresh(e, nsteps);
	return why == WHY_None;
}

/* Undo the trial back to `to`. Segments that were placed before `to` stay
 * placed. Count their tasks again: undoing has also removed the counts of nodes
 * that they share with the undone part. */
static void go_back(struct evictor *e, const struct evict_mark *to)
{
	evict_search_back(e, to);
	if (!e->segment)
		return;
	count_trial(e, false);
	count_trial(e, true);
}

/* Place the claimant, or its next segment, on some of these nodes. On failure,
 * the trial is left as it was. */
static bool fill(struct evictor *e, const uint32_t *node, uint32_t n)
{
	struct evict_mark before = evict_search_mark(e);

	if (fill_nodes(e, node, n) && clear_limits(e)) {
		/* For a job in segments or shares, victims are spared once all
		 * of these are placed. */
		if (e->mode != MODE_MOVE && !e->segment)
			evict_spare_steps(e, before.nsteps);
		return true;
	}
	go_back(e, &before);
	return false;
}

/* Place the claimant, or its next segment, in the cheapest domain of this
 * level. */
static bool fill_domain(struct evictor *e, uint8_t level)
{
	const struct domains *d = e->domains;
	uint64_t least = UINT64_MAX;
	uint32_t best = SNAP_NONE;

	for (uint32_t i = d->at_first[level]; i < d->at_first[level + 1]; i++) {
		uint32_t at = d->at[i];
		struct evict_mark before = evict_search_mark(e);

		if (!fill(e, d->node + d->first[at], d->end[at] - d->first[at]))
			continue;
		go_back(e, &before);
		if (e->worst < least) {
			least = e->worst;
			best = at;
		}
	}
	return best != SNAP_NONE &&
	       fill(e, d->node + d->first[best], d->end[best] - d->first[best]);
}

/* Place all segments in this pool, each in the domain in which
 * evictions cost least. */
static bool fill_segments(struct evictor *e, uint32_t pool)
{
	struct evict_mark before = evict_search_mark(e);
	uint32_t req = e->c->req, tasks = e->s->req.tasks[req], placed = 0;

	e->pool = pool;
	e->segment = e->s->req.segment[req];
	while (placed < tasks && fill_domain(e, e->s->req.need[req]))
		placed += e->segment;
	e->pool = SNAP_NONE;
	e->segment = 0;
	if (placed < tasks) {
		evict_search_back(e, &before);
		return false;
	}
	if (e->mode != MODE_MOVE)
		evict_spare_steps(e, before.nsteps);
	return true;
}

/* Place this many parts of a spread job in domain number i of `sp`. */
static bool fill_share(struct evictor *e, const struct spread *sp, uint32_t i,
                       int64_t parts)
{
	const struct domains *d = e->domains;
	uint32_t at = sp->domain[i];

	e->segment = (uint32_t)parts * sp->part;
	if (sp->level == LEVEL_NODE)
		return fill(e, sp->node + i, 1);
	return fill(e, d->node + d->first[at], d->end[at] - d->first[at]);
}

/* Place one more part in the domain where evictions cost least. */
static bool fill_one_more(struct evictor *e, struct spread *sp)
{
	uint64_t least = UINT64_MAX;
	uint32_t best = SNAP_NONE;

	for (uint32_t i = 0; i < sp->n; i++) {
		struct evict_mark before = evict_search_mark(e);

		if (sp->give[i] > sp->low || !fill_share(e, sp, i, 1))
			continue;
		go_back(e, &before);
		if (e->worst < least) {
			least = e->worst;
			best = i;
		}
	}
	if (best == SNAP_NONE || !fill_share(e, sp, best, 1))
		return false;
	sp->give[best]++;
	return true;
}

/* Place one more task on each of sp->extra of the nodes. */
static bool fill_some_nodes(struct evictor *e, const struct spread *sp)
{
	struct place *place = e->p->place;
	bool filled;

	e->segment = (uint32_t)sp->extra;
	place->cap = (uint32_t)sp->low + 1;
	place->capped = place->job;
	filled = fill(e, sp->node, sp->n);
	place->cap = 0;
	return filled;
}

static bool fill_shares(struct evictor *e, struct spread *sp)
{
	for (uint32_t i = 0; i < sp->n; i++) {
		sp->give[i] = sp->low;
		if (sp->low && !fill_share(e, sp, i, sp->low))
			return false;
	}
	if (sp->level == LEVEL_NODE)
		return !sp->extra || fill_some_nodes(e, sp);
	for (int64_t k = 0; k < sp->extra; k++) {
		if (!fill_one_more(e, sp))
			return false;
	}
	return true;
}

/* Place a job that is spread in this pool, divided evenly among the domains. */
static bool fill_spread(struct evictor *e, uint32_t pool)
{
	struct evict_mark before = evict_search_mark(e);
	struct spread *sp = e->spread;
	bool filled;

	spread_make(sp, e->c->req, pool, false);
	e->pool = pool;
	filled = fill_shares(e, sp);
	e->pool = SNAP_NONE;
	e->segment = 0;
	if (!filled)
		evict_search_back(e, &before);
	else if (e->mode != MODE_MOVE)
		evict_spare_steps(e, before.nsteps);
	return filled;
}

/* Place the segments or shares of the claimant in the first pool in which
 * they fit. */
static bool fill_parts(struct evictor *e)
{
	const struct match *match = e->p->place->match;
	const struct allowed *a = match_req(e->p->place->match, e->c->req);
	uint32_t last = SNAP_NONE;

	for (uint32_t c = 0; c < a->nclasses; c++) {
		uint32_t pool = match_class(match, a->class[c])->pool;

		if (pool != last &&
		    (e->s->req.segment[e->c->req] ? fill_segments(e, pool)
		                                  : fill_spread(e, pool)))
			return true;
		last = pool;
	}
	return false;
}

/* Place the claimant in the first pool in which it fits. */
static bool fill_pool(struct evictor *e)
{
	const struct match *match = e->p->place->match;
	const struct allowed *a = match_req(e->p->place->match, e->c->req);
	uint32_t *node = arena_array(e->p->arena, uint32_t, e->s->node.n);

	for (uint32_t c = 0; c < a->nclasses;) {
		uint32_t pool = match_class(match, a->class[c])->pool, n = 0;

		for (; c < a->nclasses; c++) {
			const struct node_class *nc =
			    match_class(match, a->class[c]);

			if (nc->pool != pool)
				break;
			memcpy(node + n, nc->node, nc->nnodes * sizeof(*node));
			n += nc->nnodes;
		}
		if (fill(e, node, n))
			return true;
	}
	return false;
}

/* Find nodes for the claimant: try one level after the other, from the
 * narrowest that is preferred to the widest that is allowed. For a run that
 * grows, may_be_used() allows only nodes of its domain. */
bool evict_search_find(struct evictor *e)
{
	uint8_t need = e->s->req.need[e->c->req];
	uint8_t like = e->s->req.like[e->c->req];
	int wide = need == LEVEL_NONE ? 0 : need;
	int narrow = like == LEVEL_NONE || like < wide ? need : like;

	if (e->c->run != SNAP_NONE)
		return fill_pool(e);
	if (e->s->req.segment[e->c->req] ||
	    e->s->req.spread[e->c->req] != LEVEL_NONE)
		return fill_parts(e);
	for (int level = narrow; narrow != LEVEL_NONE && level >= wide;
	     level--) {
		if (fill_domain(e, (uint8_t)level))
			return true;
	}
	return need == LEVEL_NONE && fill_pool(e);
}
