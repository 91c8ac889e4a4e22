/* plan.c - the pass: serve claims in their order; then write the plan */
#include "aischedd/sched/plan.h"

#include <string.h>

#include "aischedd/sched/claim.h"
#include "aischedd/sched/evict.h"
#include "aischedd/sched/evict_rules.h"
#include "aischedd/sched/future/coming.h"
#include "aischedd/sched/order_position.h"
#include "aischedd/sched/promise_last.h"
#include "aischedd/sched/rehearse.h"
#include "aischedd/sched/serve.h"
#include "aischedd/sched/verdict.h"

static struct verdict *verdicts_new(const struct snap *snap,
                                    struct arena *arena)
{
	struct verdict *v = arena_array(arena, struct verdict, snap->pend.n);

	for (uint32_t i = 0; i < snap->pend.n; i++) {
		uint8_t judged = snap->pend.judged[i];

		v[i] = (struct verdict){ .name = SNAP_NONE,
			                 .expected = SNAP_NEVER };
		v[i].kept = judged == JUDGED_WAITS ||
		            judged == JUDGED_BLOCKED || judged == JUDGED_OPEN;
		v[i].why = v[i].kept ? WHY_Unevaluated : WHY_None;
	}
	return v;
}

/* A claim for which more nodes than this are looked at counts more than once
 * against the budget. */
enum { LOOKS_A_CLAIM = 64 };

static int64_t count_looks(const struct pass *p)
{
	uint64_t looks =
	    p->place->looks + evict_looks(p) + *p->place->work->tried;

	return (int64_t)looks / LOOKS_A_CLAIM;
}

static enum serve_answer ask(struct pass *p, struct turn turn,
                             uint32_t *ret_tasks)
{
	bool counts = turn.row == SNAP_NONE ||
	              (!p->verdict[turn.row].kept &&
	               p->snap->pend.judged[turn.row] != JUDGED_PROMISED);
	int64_t before = count_looks(p);
	enum serve_answer answer;

	pass_disown(p, turn.elastic);
	answer = turn.row != SNAP_NONE ? serve_row(p, turn.row)
	         : turn.elastic        ? serve_elastic(p, turn.elastic)
	                               : serve_grower(p, turn.run, ret_tasks);

	if (counts)
		p->spent += 1 + count_looks(p) - before;
	return answer;
}

static bool is_spent(const struct pass *p)
{
	int64_t budget = p->snap->policy.budget;

	return budget != CONF_NONE && p->spent >= budget;
}

static void serve(struct pass *p, uint32_t queue)
{
	struct turn turn = order_first(p->order, queue);
	bool grows = turn.row == SNAP_NONE;
	uint32_t tasks = 1;
	enum serve_answer answer = ask(p, turn, &tasks);

	if (answer == WAITS)
		order_drop(p->order, queue);
	else if (grows)
		order_grown(p->order, queue, tasks);
	else if (answer == STARTS)
		order_started(p->order, queue);
	else if (answer == CLAIMS)
		order_claimed(p->order, queue);
	else
		order_promised(p->order, queue);
	order_queues_update(p->queues, queue);
}

/* For each row that waits for resources and whose verdict names no job yet,
 * name the running job whose end it waits for. */
static void name_blockers(struct pass *p)
{
	for (uint32_t row = 0; row < p->snap->pend.n; row++) {
		struct verdict *v = &p->verdict[row];
		enum reason_kind kind = reason_kind(v->why);

		if ((kind == REASON_ROOM || kind == REASON_PLACE) && !v->job &&
		    v->expected == SNAP_NEVER && v->name != SNAP_NONE)
			v->job = promise_blocker(p->promises, v->name, v->what);
	}
}

/* Set the verdict of rows that had no turn before the pass had used up
 * its budget. */
static void say_unevaluated(struct pass *p)
{
	for (uint32_t q = 0; q < p->snap->queue.n; q++) {
		const struct order_heap *h = &p->order->rows[q];

		for (uint32_t i = 0; i < h->n; i++) {
			struct verdict *v = &p->verdict[h->at[i]];

			if (v->why != WHY_None)
				continue;
			v->why = WHY_Unevaluated;
			v->name = SNAP_NONE;
		}
	}
}

/* Fill in those parts of the verdicts that are known only once all rows have
 * had their turn. */
static void complete_verdicts(struct pass *p)
{
	const struct snap *s = p->snap;

	name_blockers(p);
	order_position_find(p->order, p->verdict, &p->promised, &p->queued,
	                    p->arena);
	for (uint32_t row = 0; row < s->pend.n; row++) {
		struct verdict *v = &p->verdict[row];
		uint32_t m = order_waiting(p->order, row);

		v->first = m != SNAP_NONE ? s->member[m].job : 0;
		m = p->order->limited[row];
		if (v->why == WHY_None && m != SNAP_NONE) {
			v->why = WHY_ArrayLimit;
			v->job = s->member[m].job;
		}
		v->started = p->order->started[row];
	}
}

static void *copy(struct arena *arena, const void *p, size_t n, size_t size)
{
	void *ret = arena_alloc(arena, n, size);

	return n ? memcpy(ret, p, n * size) : ret;
}

static void *copy_list(struct arena *arena, const struct arena_list *list,
                       uint32_t *ret_n, size_t size)
{
	if (ret_n)
		*ret_n = (uint32_t)list->n;
	return copy(arena, list->p, list->n, size);
}

/* Copy the result out of the pass, whose arena is freed next. */
static const struct plan *plan_of(struct pass *p, struct arena *arena)
{
	const struct place *place = p->place;
	struct plan *plan = arena_array(arena, struct plan, 1);
	const struct arena_list *made, *made_node;
	uint32_t queue;

	evict_list(p);
	pass_lay_out(p);
	plan->gen = p->snap->gen;
	plan->wake = p->wake;
	/* Ask for another pass only if this plan changes something: otherwise
	 * passes would follow each other without end. */
	plan->again =
	    (p->held_back && (p->start.n || p->grow.n || p->eviction.n)) ||
	    evict_rules_repeat(p);
	plan->partial = order_queues_first(p->queues, &queue);
	plan->nverdicts = p->snap->pend.n;
	plan->verdict = p->verdict;
	plan->promised = copy_list(arena, &p->promised, &plan->npromised,
	                           sizeof(struct promised));
	promise_made(p->promises, &made, &made_node);
	plan->promise = copy_list(arena, made, &plan->npromises,
	                          sizeof(struct snap_promise));
	plan->promise_node =
	    copy_list(arena, made_node, NULL, sizeof(uint32_t));
	plan->starts_before =
	    copy_list(arena, &p->starts_before, NULL, sizeof(uint32_t));
	coming_find(p->snap, plan, arena);
	plan->queued =
	    copy_list(arena, &p->queued, &plan->nqueued, sizeof(struct queued));
	plan->share = copy(arena, p->queues->share, p->snap->queue.n,
	                   sizeof(*p->queues->share));
	plan->start =
	    copy_list(arena, &p->start, &plan->nstarts, sizeof(struct start));
	plan->grow =
	    copy_list(arena, &p->grow, &plan->ngrows, sizeof(struct grow));
	plan->eviction = copy_list(arena, &p->eviction, &plan->nevictions,
	                           sizeof(struct eviction));
	plan->loss = copy_list(arena, &p->loss, NULL, sizeof(uint32_t));
	plan->claim = copy_list(arena, &p->claim, &plan->nclaims,
	                        sizeof(struct plan_claim));
	plan->claim_node =
	    copy_list(arena, &p->claim_node, NULL, sizeof(uint32_t));
	plan->task =
	    copy(arena, place->task, place->ntasks + 1, sizeof(*place->task));
	plan->cpu_use =
	    copy(arena, place->use, place->nuse, sizeof(*place->use));
	if (place->held)
		plan->held = copy(arena, place->held, place->ntasks,
		                  sizeof(*place->held));
	return plan;
}

/* Make one plan. vain: by row, the starts to leave out; NULL: none.
 * *ret_doubtful: whether the next plan may evict jobs that this one starts. */
static const struct plan *plan_once(const struct snap *snap,
                                    const struct vain *vain,
                                    struct arena *arena, bool *ret_doubtful)
{
	struct arena *scratch = arena_new();
	struct pass *p = pass_new(snap, scratch);
	const struct plan *plan;
	uint32_t queue;

	p->verdict = verdicts_new(snap, arena);
	p->vain = vain;
	claim_settle(p);
	p->nsettled = p->start.n;
	order_open(p->order);
	p->queues = order_queues_new(p->tally, p->place->work, p->order,
	                             p->empty, p->capacity, scratch);
	while (order_queues_first(p->queues, &queue) && !is_spent(p))
		serve(p, queue);
	say_unevaluated(p);
	complete_verdicts(p);
	plan = plan_of(p, arena);
	*ret_doubtful = plan->again || evict_rules_doubt(p);
	arena_free(scratch);
	return plan;
}

/* Find the jobs that `plan` starts and `next` evicts, and note them in `vain`,
 * by row. `next` was made on `then`, the snapshot as `plan` leaves it. Returns
 * whether there are any. */
static bool find_vain(const struct snap *snap, const struct plan *plan,
                      const struct snap *then, const struct plan *next,
                      struct vain *vain)
{
	bool any = false;

	for (uint32_t row = 0; row < snap->pend.n; row++)
		vain[row].most =
		    vain[row].by ? vain[row].most : plan->verdict[row].started;
	for (uint32_t i = 0; i < next->nevictions; i++) {
		const struct eviction *e = &next->eviction[i];
		uint32_t row;

		if (e->run < snap->run.n || e->why == EVICT_CONSOLIDATE ||
		    e->nlosses < snap_run_ntasks(then, e->run))
			continue;
		row = plan->start[e->run - snap->run.n].row;
		vain[row].most--;
		vain[row].by = e->by;
		any = true;
	}
	return any;
}

/* Whether the plan gives something (a start, a claim or growth) to each job for
 * which `vain` keeps other jobs from starting. */
static bool is_of_use(const struct snap *snap, const struct plan *plan,
                      const struct vain *vain)
{
	for (uint32_t row = 0; row < snap->pend.n; row++) {
		bool served = !vain[row].by;

		for (uint32_t i = 0; !served && i < plan->nstarts; i++)
			served = snap->member[plan->start[i].member].job ==
			         vain[row].by;
		for (uint32_t i = 0; !served && i < plan->nclaims; i++)
			served = (plan->claim[i].row != SNAP_NONE
			              ? snap->member[plan->claim[i].member].job
			              : snap->run.job[plan->claim[i].run]) ==
			         vain[row].by;
		for (uint32_t i = 0; !served && i < plan->ngrows; i++)
			served =
			    snap->run.job[plan->grow[i].run] == vain[row].by;
		if (!served)
			return false;
	}
	return true;
}

/* A plan that rehearsals may improve. */
struct draft {
	const struct snap *origin, *snap; /* snap: origin, plus claims that were
	                                     granted */
	const struct plan *plan, *first;  /* first: made without a rehearsal */
	struct vain *vain;                /* by row: starts that are left out */
	bool doubtful;
};

static uint32_t nclaims_of(const uint32_t *first, uint32_t i)
{
	return first[i + 1] - first[i];
}

/* Whether the plan starts or grows every job to which a claim was granted. */
static bool serves_claims(const struct snap *s, const struct snap *before,
                          const struct plan *plan)
{
	bool served = true;

	for (uint32_t row = 0; served && row < s->pend.n; row++) {
		served = nclaims_of(s->pend.claim_first, row) <=
		         nclaims_of(before->pend.claim_first, row);
		for (uint32_t i = 0; !served && i < plan->nstarts; i++)
			served = plan->start[i].row == row;
	}
	for (uint32_t run = 0; served && run < s->run.n; run++) {
		served = nclaims_of(s->run.claim_first, run) <=
		         nclaims_of(before->run.claim_first, run);
		for (uint32_t i = 0; !served && i < plan->ngrows; i++)
			served = plan->grow[i].run == run;
	}
	return served;
}

/* Returns the row of a waiting job, or SNAP_NONE if it does not wait. */
static uint32_t row_of(const struct snap *s, uint64_t job)
{
	for (uint32_t row = 0; row < s->pend.n; row++) {
		for (uint32_t m = s->pend.member_first[row];
		     m < s->pend.member_first[row + 1]; m++) {
			if (s->member[m].job == job)
				return row;
		}
	}
	return SNAP_NONE;
}

/* Whether the snapshot `s` grants a claim to a row that is behind this waiting
 * job in its queue, by the positions in the first plan. */
static bool is_granted_behind(const struct draft *d, const struct snap *s,
                              uint64_t job)
{
	uint32_t of = row_of(s, job);
	const struct verdict *v = d->first->verdict;
	bool any = false;

	for (uint32_t row = 0; of != SNAP_NONE && row < s->pend.n; row++)
		any |= s->pend.queue[row] == s->pend.queue[of] &&
		       nclaims_of(s->pend.claim_first, row) >
		           nclaims_of(d->origin->pend.claim_first, row) &&
		       (!v[row].position || v[row].position > v[of].position);
	return any;
}

/* Whether no job is promised a later start than in the last plan because a job
 * behind it in its queue was granted a claim. This could happen because granted
 * claims are served before all other jobs. */
static bool keeps_promises(const struct draft *d, const struct snap *s,
                           const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->npromises; i++) {
		const struct snap_promise *it = &plan->promise[i];
		const struct snap_promise *last = promise_last(s, it->job, 0);

		if (last && it->start > last->start && it->start > s->now &&
		    is_granted_behind(d, s, it->job))
			return false;
	}
	return true;
}

static bool has_its_claim(const struct plan *plan, uint32_t row)
{
	const struct verdict *v = &plan->verdict[row];

	return v->started || v->why == WHY_Preempting;
}

/* Whether the plan still serves or holds each earlier claim that the draft
 * serves or holds, except those of jobs that would be evicted at once (vain).
 */
static bool keeps_claims(const struct draft *d, const struct plan *plan,
                         const struct vain *vain)
{
	const struct snap *s = d->origin;
	bool keeps = true;

	for (uint32_t row = 0; row < s->pend.n; row++)
		keeps &= !nclaims_of(s->pend.claim_first, row) ||
		         vain[row].by || !has_its_claim(d->plan, row) ||
		         has_its_claim(plan, row);
	return keeps;
}

/* Make the plan again without the starts that the next plan would evict. Keep
 * the new plan if it gives something to each job for which those starts would
 * be evicted. */
static bool leave_out(struct draft *d, const struct vain *vain,
                      struct arena *arena)
{
	bool doubtful;
	const struct plan *plan = plan_once(d->snap, vain, arena, &doubtful);

	if (!is_of_use(d->snap, plan, vain) || !keeps_claims(d, plan, vain) ||
	    !keeps_promises(d, d->snap, plan))
		return false;
	memcpy(d->vain, vain, d->snap->pend.n * sizeof(*vain));
	d->plan = plan;
	d->doubtful = doubtful;
	return true;
}

/* Make the plan again with the claims of the next plan already granted. So jobs
 * that would have their turn too late, such as those that grow, get the
 * resources for which they would otherwise evict others. */
static bool grant(struct draft *d, const struct snap *then,
                  const struct plan *next, const struct vain *vain,
                  struct arena *arena, struct arena *scratch)
{
	const struct snap *snap =
	    rehearse_grant(d->snap, then, next, d->origin, vain, scratch);
	const struct snap *s = d->origin;
	struct vain *out = arena_array(scratch, struct vain, s->pend.n);
	bool doubtful;
	const struct plan *plan;

	if (!snap)
		return false;
	/* A row with a claim of an earlier plan may hold nodes that a granted
	 * claim needs. In these rows, leave out the starts that would be
	 * evicted at once. */
	for (uint32_t i = 0; i < s->pend.n; i++)
		out[i] =
		    nclaims_of(s->pend.claim_first, i) ? vain[i] : d->vain[i];
	plan = plan_once(snap, out, arena, &doubtful);
	if (!serves_claims(snap, d->snap, plan) ||
	    !is_of_use(snap, plan, out) || !keeps_claims(d, plan, out) ||
	    !keeps_promises(d, snap, plan))
		return false;
	memcpy(d->vain, out, s->pend.n * sizeof(*out));
	d->snap = snap;
	d->plan = plan;
	d->doubtful = doubtful;
	return true;
}

/* Make the plan that would follow the draft. If that plan evicts jobs that the
 * draft starts, try to replace the draft by a better plan. Returns whether it
 * was replaced. */
static bool improve(struct draft *d, struct arena *arena, struct arena *scratch)
{
	uint32_t n = d->snap->pend.n;
	struct vain *vain = arena_array(scratch, struct vain, n);
	const struct snap *then;
	const struct plan *next;
	bool doubtful;

	if (!d->doubtful || !rehearse_can(d->snap, d->plan))
		return false;
	memcpy(vain, d->vain, n * sizeof(*vain));
	then = rehearse_after(d->snap, d->plan, scratch);
	next = plan_once(then, NULL, scratch, &doubtful);
	return find_vain(d->snap, d->plan, then, next, vain) &&
	       (leave_out(d, vain, arena) ||
	        grant(d, then, next, vain, arena, scratch));
}

/* How many times a plan is rehearsed at most: FEW, or MANY if there are at most
 * FEW_ROWS rows and runs. A rehearsal costs as much as a pass. */
enum { FEW = 3, MANY = 12, FEW_ROWS = 2000 };

const struct plan *sched_plan(const struct snap *snap, struct arena *arena)
{
	struct draft d = { .origin = snap, .snap = snap };
	struct arena *scratch;
	int left = snap->pend.n + snap->run.n > FEW_ROWS ? FEW : MANY;

	d.plan = d.first = plan_once(snap, NULL, arena, &d.doubtful);
	if (!d.doubtful || !rehearse_can(snap, d.plan))
		return d.plan;
	scratch = arena_new();
	d.vain = arena_array(scratch, struct vain, snap->pend.n);
	while (left-- > 0 && improve(&d, arena, scratch))
		continue;
	arena_free(scratch);
	return d.plan;
}

int sched_could_fit(const struct snap *snap, uint32_t row, struct err *err)
{
	struct arena *arena;
	struct verdict v = { .why = WHY_None };
	struct buf text = { 0 };
	int ret = 0;

	if (snap->pend.resumes[row] != SNAP_NONE)
		return 0;
	arena = arena_new();
	if (admit_ever(snap, row, &v) == WHY_None)
		fit_empty_holds(fit_empty_new(snap, match_new(snap, arena),
		                              domain_new(snap, arena), arena),
		                row, &v);
	if (reason_kind(v.why) == REASON_NEVER) {
		verdict_text(snap, row, &v, &text);
		ret = err_set(err, EINVAL, "%s", text.data);
	}
	buf_free(&text);
	arena_free(arena);
	return ret;
}
