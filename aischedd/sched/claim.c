/* claim.c - nodes held for jobs while others leave them */
#include "aischedd/sched/claim.h"

#include <assert.h>

#include "aischedd/sched/fit.h"
#include "aischedd/sched/why.h"

/* A job that waits for its place (row), that grows, or that is on its way to
 * another place (run). */
struct holder {
	uint32_t row, run;
	uint32_t req;
	const uint32_t *node;
	uint32_t n;
};

static struct holder of_row(const struct snap *s, uint32_t row)
{
	uint32_t first = s->pend.claim_first[row];

	return (struct holder){ .row = row,
		                .run = SNAP_NONE,
		                .req = s->pend.req[row],
		                .node = s->claim + first,
		                .n = s->pend.claim_first[row + 1] - first };
}

static struct holder of_run(const struct snap *s, uint32_t run)
{
	uint32_t first = s->run.claim_first[run];

	return (struct holder){ .row = SNAP_NONE,
		                .run = run,
		                .req = s->run.req[run],
		                .node = s->claim + first,
		                .n = s->run.claim_first[run + 1] - first };
}

/* Try its tasks where it holds nodes. */
static bool place_held(struct pass *p, const struct holder *h)
{
	struct place *place = p->place;

	if (h->row == SNAP_NONE)
		place_for_run(place, h->run);
	else
		place_for(place, h->row,
		          p->snap->member[p->order->next[h->row]].job);
	place_begin(place);
	for (uint32_t i = 0; i < h->n; i++) {
		uint32_t node = h->node[i];

		if (!place_may_use(place, h->req, node) ||
		    !fit_count(place->work, h->req, node, place->own[node],
		               1)) {
			place_undo(place);
			return false;
		}
		place_put(place, h->req, node, 1);
	}
	return true;
}

static bool is_admitted(struct pass *p, const struct holder *h)
{
	struct verdict v;
	struct demand d;

	if (h->row == SNAP_NONE)
		return true;
	d = demand_start(p->snap, h->row, h->n);
	return h->n >= p->snap->req.min_tasks[h->req] &&
	       admit_now(p->place->work, &d, &v) == WHY_None;
}

static void begin(struct pass *p, const struct holder *h)
{
	if (h->row == SNAP_NONE) {
		pass_grow(p, h->run);
		return;
	}
	pass_start(p, h->row);
	p->order->started[h->row]++;
	p->order->begun[h->row]++;
}

static void hold(struct pass *p, const struct holder *h)
{
	const struct snap *s = p->snap;
	struct place *place = p->place;

	pass_claim(p, h->row, h->run);
	for (uint32_t i = 0; i < h->n; i++)
		pass_claim_node(p, h->node[i]);
	if (h->row != SNAP_NONE) {
		struct verdict *v = &p->verdict[h->row];
		struct demand d = demand_start(s, h->row, h->n);

		admit_charge(place->work, &d, 1);
		v->why = WHY_Preempting;
		v->name = h->node[0];
		v->num[NUM_GOT] = h->n;
		p->order->begun[h->row]++;
		p->order->claimed[h->row]++;
	} else if (!s->run.ending[h->run]) {
		struct demand d = demand_grow(s, h->run);

		for (uint32_t i = 0; i < h->n; i++)
			admit_charge(place->work, &d, 1);
		p->order->grown[h->run] += h->n;
	}
	place_commit(place, h->req);
}

/* All that leaves has left (sign 1), or not (-1). */
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
			shelf_refresh(p->place->shelf, s->task[t].node);
	}
}

static uint32_t list(const struct snap *s, struct holder *ret)
{
	uint32_t n = 0;

	for (uint32_t row = 0; row < s->pend.n; row++) {
		if (s->pend.claim_first[row] < s->pend.claim_first[row + 1])
			ret[n++] = of_row(s, row);
	}
	for (uint32_t run = 0; run < s->run.n; run++) {
		struct holder h = of_run(s, run);

		/* Each task by which a job grows is for itself. */
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

void claims_settle(struct pass *p)
{
	const struct snap *s = p->snap;
	struct holder *h;
	uint32_t n, left = 0;

	n = s->pend.claim_first[s->pend.n] +
	    (s->run.n ? s->run.claim_first[s->run.n] : 0);
	if (!n)
		return;
	h = arena_array(p->arena, struct holder, n);
	n = list(s, h);
	for (uint32_t i = 0; i < n; i++) {
		bool gone = h[i].run == SNAP_NONE || !s->run.ending[h[i].run];

		if (gone && is_admitted(p, &h[i]) && place_held(p, &h[i]))
			begin(p, &h[i]);
		else
			h[left++] = h[i];
	}
	leave(p, 1);
	for (uint32_t i = 0; i < left; i++) {
		if (is_admitted(p, &h[i]) && place_held(p, &h[i]))
			hold(p, &h[i]);
	}
	leave(p, -1);
	refresh(p);
}
