/* claim.c - nodes held for jobs until evicted jobs have ended there */
#include "aischedd/sched/claim.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/fit.h"
#include "aischedd/sched/verdict.h"

/* arrange() gives up after it has moved this many holders to the front. */
enum { TRIES = 32 };

/* The owner of a claim: a job that waits (row), or a running job that grows or
 * moves (run). */
struct claim_holder {
	uint32_t row, run;
	uint32_t req;
	const uint32_t *node;
	uint32_t n;
	uint32_t index; /* position of the holder in the order of the
	                   snapshot */
	/* typed: each task needs GPUs of a certain type; strict: its devices
	 * must be aligned. gpus and cpus: amounts of each task. */
	bool typed, strict;
	int64_t gpus, cpus;
	bool over; /* settled: the holder starts now, or its claim is void */
};

/* The tasks that one holder wants to place on one node. */
struct want {
	uint32_t holder, n;
	uint32_t next; /* the next want on the same node, or SNAP_NONE */
};

/* The state of claim_settle(): all claims, and the tasks of runs that
 * are ending. */
struct settling {
	struct pass *p;
	struct claim_holder *holder;
	uint32_t nholders;
	struct want *want;
	uint32_t nwants;
	uint32_t *wants; /* by node: the first want, or SNAP_NONE */
	/* leaves: by node, the first of its ending tasks; next: by task, the
	 * next ending task on the same node; SNAP_NONE: there is none */
	uint32_t *leaves, *next;
	uint32_t *owner; /* by task: its run */
};

static struct claim_holder of_row(const struct snap *s, uint32_t row)
{
	uint32_t first = s->pend.claim_first[row];

	return (struct claim_holder){ .row = row,
		                      .run = SNAP_NONE,
		                      .req = s->pend.req[row],
		                      .node = s->claim + first,
		                      .n = s->pend.claim_first[row + 1] -
		                           first };
}

static struct claim_holder of_run(const struct snap *s, uint32_t run)
{
	uint32_t first = s->run.claim_first[run];

	return (struct claim_holder){ .row = SNAP_NONE,
		                      .run = run,
		                      .req = s->run.req[run],
		                      .node = s->claim + first,
		                      .n =
		                          s->run.claim_first[run + 1] - first };
}

static bool is_mover(const struct pass *p, const struct claim_holder *h)
{
	return h->row == SNAP_NONE && p->snap->run.ending[h->run];
}

/* Try to place a holder's tasks on the nodes that it holds. */
static bool place_tasks(struct pass *p, const struct claim_holder *h)
{
	struct place *place = p->place;

	if (is_mover(p, h))
		place_for_moved(place, h->run);
	else if (h->row == SNAP_NONE)
		place_for_run(place, h->run);
	else
		place_for(place, h->row,
		          p->snap->member[p->order->next[h->row]].job);
	place_begin(place);
	for (uint32_t i = 0, n; i < h->n; i += n) {
		n = place_may_use(place, h->req, h->node[i])
		        ? place_put_next(place, h->req, h->node + i, h->n - i)
		        : 0;
		if (!n) {
			place_undo(place);
			return false;
		}
	}
	return true;
}

static void own_task(struct work *w, const struct snap_task *t, bool own)
{
	if (!own)
		w->own_gpus[t->node] = 0;
	else if (t->gpu_milli == 1000)
		w->own_gpus[t->node] |= t->gpus;
}

/* Count the GPUs that a run has, and those that it got in this pass, as GPUs of
 * the job being placed (own), or no longer. */
static void own_gpus(struct pass *p, uint32_t run, bool own)
{
	const struct snap *s = p->snap;
	const struct more *more = p->more_node.p;
	struct work *w = p->place->work;

	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++)
		own_task(w, &s->task[t], own);
	for (uint32_t i = p->more[run]; i; i = more[i - 1].next)
		own_task(w, &more[i - 1].task, own);
}

/* Place a holder's tasks on the nodes that it holds. While a run grows, count
 * the GPUs that it already has as its own, because links depend on them. */
static bool place_held(struct pass *p, const struct claim_holder *h)
{
	bool grows = h->row == SNAP_NONE && !is_mover(p, h), placed;

	if (grows)
		own_gpus(p, h->run, true);
	placed = place_tasks(p, h);
	if (grows)
		own_gpus(p, h->run, false);
	return placed;
}

/* A run moves: add its tasks at the new place to the use of its queue (sign 1),
 * or subtract them (-1). Its licences are counted already. */
static void count_mover(struct pass *p, const struct claim_holder *h, int sign)
{
	struct demand d = admit_demand_more(p->snap, h->run, h->n);

	admit_charge(p->place->work, &d, sign);
	work_charge_job(p->place->work, d.queue, d.user, 0, true, sign);
	work_delay(p->place->work, d.queue, d.user, d.amount, true, -sign);
}

/* Whether a run that grows may have one more task on the node: it may have
 * demands for the number of its nodes, of its tasks on each, and of its nodes
 * of some kind. */
static bool may_have(struct pass *p, uint32_t run, uint32_t node)
{
	const struct snap_reqs *r = &p->snap->req;
	uint32_t req = p->snap->run.req[run], have, own;
	struct place_growth more = pass_growth(p, run);
	bool right;

	have = pass_own(p, run, true);
	own = p->place->own[node];
	/* All nodes that the job is to open then come later. */
	more.later += more.opens && own;
	right = place_grows_right(p->place, req, node, &more);
	pass_own(p, run, false);
	if (!right || (r->tasks_per_node[req] && own >= r->tasks_per_node[req]))
		return false;
	return !r->nodes[req] || own || have < r->nodes[req];
}

/* Whether limits allow the holder its tasks once all evicted jobs have ended;
 * with `now`, also while they still run. */
static bool is_admitted(struct pass *p, const struct claim_holder *h, bool now)
{
	struct verdict v;
	struct demand d;

	if (is_mover(p, h))
		return true;
	if (h->row == SNAP_NONE) {
		d = admit_demand_more(p->snap, h->run, 1);
		if (order_tasks(p->order, h->run) >=
		        p->snap->req.tasks[h->req] ||
		    !may_have(p, h->run, h->node[0]))
			return false;
	} else {
		d = admit_demand_start(p->snap, h->row, h->n);
		if (h->n < p->snap->req.min_tasks[h->req])
			return false;
	}
	return (now ? admit_now(p->place->work, &d, &v)
	            : admit_then(p->place->work, &d, &v)) == WHY_None;
}

/* Free all that the ending tasks on a node hold, until work_undo(). */
static void leave_node(const struct settling *c, uint32_t node)
{
	for (uint32_t t = c->leaves[node]; t != SNAP_NONE; t = c->next[t])
		work_run_task(c->p->place->work, c->owner[t], t, 1);
}

/* Place a holder's tasks on a node: subtract their needs from the counters of
 * the node. Returns false if they do not fit. */
static bool try_want(const struct settling *c, const struct want *want,
                     uint32_t node)
{
	struct work *w = c->p->place->work;
	uint32_t req = c->holder[want->holder].req;
	struct snap_cpu_use *use = arena_array(c->p->arena, struct snap_cpu_use,
	                                       fit_max_cpus(w->snap, req));
	uint64_t own = w->own_gpus[node];
	struct snap_task task;
	bool fits;

	w->own_gpus[node] = 0;
	fits = fit_has(w, req, node, 0, want->n);
	for (uint32_t i = 0; fits && i < want->n; i++)
		fit_task(w, req, node, want->n - i, &task, use);
	w->own_gpus[node] = own;
	if (fits && w->snap->req.exclusive[req])
		work_add(w, &w->sealed[node], 1);
	return fits;
}

/* Returns the first holder of a node, other than h, whose tasks do not fit
 * there even after the ending tasks are gone; SNAP_NONE if all fit. */
static uint32_t without_room(const struct settling *c,
                             const struct claim_holder *h, uint32_t node)
{
	struct work *w = c->p->place->work;
	size_t mark = work_mark(w);
	uint32_t ret = SNAP_NONE;

	leave_node(c, node);
	for (uint32_t i = c->wants[node]; ret == SNAP_NONE && i != SNAP_NONE;
	     i = c->want[i].next) {
		uint32_t holder = c->want[i].holder;
		const struct claim_holder *other = &c->holder[holder];

		if (other != h && !other->over &&
		    !try_want(c, &c->want[i], node))
			ret = holder;
	}
	work_undo(w, mark);
	return ret;
}

/* Place a holder's tasks beside the memory of all other tasks if possible, else
 * as if tasks that are not bound moved their memory elsewhere. */
static bool place_beside(struct pass *p, const struct claim_holder *h)
{
	bool placed;

	p->place->work->fluid = false;
	placed = place_held(p, h);
	p->place->work->fluid = true;
	return placed || place_held(p, h);
}

/* Try to start the holder now, on devices that may differ from those it would
 * get after all victims have ended. Fails if another holder of its nodes then
 * does not fit. */
static bool place_now(const struct settling *c, const struct claim_holder *h)
{
	if (!is_admitted(c->p, h, true) || !place_beside(c->p, h))
		return false;
	for (uint32_t i = 0; i < h->n; i++) {
		if (without_room(c, h, h->node[i]) != SNAP_NONE) {
			place_undo(c->p->place);
			return false;
		}
	}
	return true;
}

static void begin(struct pass *p, const struct claim_holder *h)
{
	if (h->row == SNAP_NONE) {
		pass_grow(p, h->run);
		p->order->grown[h->run] += h->n;
		return;
	}
	pass_start(p, h->row);
	p->order->started[h->row]++;
	p->order->begun[h->row]++;
}

static void hold(struct pass *p, const struct claim_holder *h)
{
	const struct snap *s = p->snap;
	struct place *place = p->place;

	pass_claim(p, h->row, h->run);
	for (uint32_t i = 0; i < h->n; i++)
		pass_claim_node(p, h->node[i]);
	if (h->row != SNAP_NONE) {
		struct verdict *v = &p->verdict[h->row];
		struct demand d = admit_demand_start(s, h->row, h->n);

		admit_hold(place->work, &d);
		promise_took(place->promises, h->row, &d,
		             place_row_end(s, h->row));
		v->why = WHY_Preempting;
		v->name = h->node[0];
		v->held = h->n;
		p->order->begun[h->row]++;
		p->order->claimed[h->row]++;
	} else if (!is_mover(p, h)) {
		struct demand d = admit_demand_more(s, h->run, 1);

		admit_hold(place->work, &d);
		promise_grew(place->promises, h->run, 1);
		p->order->grown[h->run]++;
	} else {
		promise_moved(place->promises, h->run, place->until);
	}
	promise_started(place->promises, h->req);
	place_commit(place, h->req);
}

/* Add what all ending runs hold to what is free (sign 1), or subtract it
 * again (-1). */
static void leave(struct pass *p, int sign)
{
	const struct snap *s = p->snap;

	for (uint32_t r = 0; r < s->run.n; r++) {
		if (!s->run.ending[r])
			continue;
		for (uint32_t t = s->run.task_first[r];
		     t < s->run.task_first[r + 1]; t++)
			work_run_task(p->place->work, r, t, sign);
	}
	work_commit(p->place->work);
}

static void refresh(struct pass *p)
{
	const struct snap *s = p->snap;

	for (uint32_t r = 0; r < s->run.n; r++) {
		for (uint32_t t = s->run.task_first[r];
		     s->run.ending[r] && t < s->run.task_first[r + 1]; t++)
			place_index_refresh(p->place->index, s->task[t].node);
	}
}

static uint32_t list(const struct snap *s, struct claim_holder *ret)
{
	uint32_t n = 0;

	for (uint32_t row = 0; row < s->pend.n; row++) {
		if (s->pend.claim_first[row] < s->pend.claim_first[row + 1])
			ret[n++] = of_row(s, row);
	}
	for (uint32_t run = 0; run < s->run.n; run++) {
		struct claim_holder h = of_run(s, run);

		/* Each task that a run is to gain is a holder of its own. */
		for (uint32_t i = 0; !s->run.ending[run] && i < h.n; i++) {
			ret[n] = h;
			ret[n].node += i;
			ret[n++].n = 1;
		}
		if (s->run.ending[run] && h.n)
			ret[n++] = h;
	}
	return n;
}

static void add_want(struct settling *c, uint32_t holder, uint32_t node)
{
	uint32_t *first = &c->wants[node];

	if (*first != SNAP_NONE && c->want[*first].holder == holder) {
		c->want[*first].n++;
		return;
	}
	c->want[c->nwants] = (struct want){ holder, 1, *first };
	*first = c->nwants++;
}

static void list_leaving(struct settling *c)
{
	const struct snap *s = c->p->snap;

	for (uint32_t r = 0; r < s->run.n; r++) {
		for (uint32_t t = s->run.task_first[r];
		     s->run.ending[r] && t < s->run.task_first[r + 1]; t++) {
			c->owner[t] = r;
			c->next[t] = c->leaves[s->task[t].node];
			c->leaves[s->task[t].node] = t;
		}
	}
}

static int by_size(const struct claim_holder *x, const struct claim_holder *y)
{
	if (x->gpus != y->gpus)
		return x->gpus > y->gpus ? -1 : 1;
	if (x->cpus != y->cpus)
		return x->cpus > y->cpus ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

/* Order: first holders that need a certain type of GPU, then those whose
 * devices must be aligned, because such devices are hardest to find; then the
 * holders that ask for most. */
static int by_type(const void *a, const void *b)
{
	const struct claim_holder *x = a, *y = b;

	if (x->typed != y->typed)
		return x->typed ? -1 : 1;
	if (x->strict != y->strict)
		return x->strict ? -1 : 1;
	return by_size(x, y);
}

static int by_numa(const void *a, const void *b)
{
	const struct claim_holder *x = a, *y = b;

	if (x->strict != y->strict)
		return x->strict ? -1 : 1;
	return by_type(a, b);
}

/* Order: that of the snapshot. The order by size can fail, because a large
 * request comes first and may take devices of which smaller requests need
 * parts; this order may then succeed. */
static int by_index(const void *a, const void *b)
{
	const struct claim_holder *x = a, *y = b;

	return x->index < y->index ? -1 : 1;
}

/* Whether the claim is still valid: the holder may use its nodes, and would not
 * be evicted for another job as soon as it starts (p->vain). */
static bool is_valid(struct pass *p, const struct claim_holder *h)
{
	const struct snap *s = p->snap;

	if (h->row != SNAP_NONE && p->vain && p->vain[h->row].by &&
	    !p->vain[h->row].most)
		return false;
	for (uint32_t i = 0; i < h->n; i++) {
		if (!place_may_use(p->place, h->req, h->node[i]))
			return false;
	}
	if (h->row != SNAP_NONE || s->run.ending[h->run])
		return place_suits(p->place, h->req, h->node, h->n);
	return !s->run.suspended[h->run] &&
	       domain_may_grow(s, h->run, h->node[0]);
}

/* List the holders of each node in their order. Returns a holder that does not
 * fit in this order, or SNAP_NONE if all fit. */
static uint32_t list_wants(struct settling *c)
{
	uint32_t nnodes = c->p->snap->node.n, ret = SNAP_NONE;

	c->nwants = 0;
	for (uint32_t i = 0; i < nnodes; i++)
		c->wants[i] = SNAP_NONE;
	/* add_want() prepends: go backwards, so that each node's list
	 * is in order. */
	for (uint32_t i = c->nholders; i-- > 0;) {
		const struct claim_holder *h = &c->holder[i];

		for (uint32_t k = 0; !h->over && k < h->n; k++)
			add_want(c, i, h->node[k]);
	}
	for (uint32_t i = 0; ret == SNAP_NONE && i < nnodes; i++) {
		if (c->wants[i] != SNAP_NONE)
			ret = without_room(c, NULL, i);
	}
	return ret;
}

/* Sort the holders by `compare`. Then, up to `tries` times, find a holder that
 * does not fit, and move it to the front. Returns whether all fit. */
static bool arrange(struct settling *c,
                    int (*compare)(const void *a, const void *b), int tries)
{
	uint32_t lacks;

	qsort(c->holder, c->nholders, sizeof(*c->holder), compare);
	while ((lacks = list_wants(c)) != SNAP_NONE && lacks && tries-- > 0) {
		struct claim_holder h = c->holder[lacks];

		memmove(c->holder + 1, c->holder, lacks * sizeof(h));
		c->holder[0] = h;
	}
	return lacks == SNAP_NONE;
}

static struct settling *settling_new(struct pass *p, uint32_t nclaims)
{
	const struct snap *s = p->snap;
	struct settling *c = arena_array(p->arena, struct settling, 1);
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;

	c->p = p;
	c->holder = arena_array(p->arena, struct claim_holder, nclaims);
	c->nholders = list(s, c->holder);
	c->want = arena_array(p->arena, struct want, nclaims);
	c->wants = arena_array(p->arena, uint32_t, s->node.n);
	c->leaves = arena_array(p->arena, uint32_t, s->node.n);
	c->next = arena_array(p->arena, uint32_t, ntasks);
	c->owner = arena_array(p->arena, uint32_t, ntasks);
	for (uint32_t i = 0; i < s->node.n; i++)
		c->leaves[i] = SNAP_NONE;
	list_leaving(c);
	for (uint32_t i = 0; i < c->nholders; i++) {
		struct claim_holder *h = &c->holder[i];

		h->index = i;
		h->typed = s->req.gpu_type[h->req] != SNAP_NONE ||
		           s->req.profile[h->req];
		h->strict = s->req.numa[h->req] == NUMA_STRICT ||
		            s->req.numa[h->req] == NUMA_TIGHT ||
		            s->req.links[h->req] == LINKS_STRICT;
		h->gpus = s->req.gpus[h->req];
		h->cpus = s->req.cpus[h->req];
		h->over = !is_valid(p, h);
	}
	if (!arrange(c, by_type, 0) && !arrange(c, by_numa, 0) &&
	    !arrange(c, by_index, 0) && !arrange(c, by_type, TRIES) &&
	    !arrange(c, by_index, TRIES))
		arrange(c, by_type, 0);
	return c;
}

void claim_settle(struct pass *p)
{
	const struct snap *s = p->snap;
	struct settling *c;
	uint32_t n;

	n = s->pend.claim_first[s->pend.n] +
	    (s->run.n ? s->run.claim_first[s->run.n] : 0);
	if (!n)
		return;
	p->place->work->fluid = true;
	c = settling_new(p, n);
	for (uint32_t i = 0; i < c->nholders; i++) {
		if (!c->holder[i].over && is_mover(p, &c->holder[i]))
			count_mover(p, &c->holder[i], 1);
	}
	for (uint32_t i = 0; i < c->nholders; i++) {
		struct claim_holder *h = &c->holder[i];

		if (h->over || is_mover(p, h) || !place_now(c, h))
			continue;
		begin(p, h);
		h->over = true;
	}
	leave(p, 1);
	for (uint32_t i = 0; i < c->nholders; i++) {
		struct claim_holder *h = &c->holder[i];

		if (h->over)
			continue;
		if (is_admitted(p, h, false) && place_held(p, h))
			hold(p, h);
		else if (is_mover(p, h))
			count_mover(p, h, -1);
	}
	leave(p, -1);
	p->place->work->fluid = false;
	refresh(p);
}
