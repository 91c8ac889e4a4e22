/* lists.c - check evictions, growth and claims of a plan, one by one */
#include "aischedd/sched/check/lists.h"

#include <stdarg.h>
#include <stdio.h>

#include "aischedd/sched/check/audit.h"

int check_bad(const struct audit *a, uint64_t job, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(a->err, EINVAL, "plan: job %llu: %s",
	               (unsigned long long)job, text);
}

struct party check_claimant(const struct audit *a, const struct plan_claim *c)
{
	const struct snap *s = a->s;

	if (c->row == SNAP_NONE)
		return (struct party){ .req = s->run.req[c->run],
			               .queue = s->run.queue[c->run],
			               .user = s->run.user[c->run],
			               .tasks = c->n,
			               .standing =
			                   check_standing_of_run(s, c->run),
			               .job = s->run.job[c->run],
			               .firm = !s->run.preemptible[c->run] };
	return (struct party){ .req = s->pend.req[c->row],
		               .queue = s->pend.queue[c->row],
		               .user = s->pend.user[c->row],
		               .tasks = c->n,
		               .standing = check_standing_of_row(s, c->row),
		               .job = s->member[c->member].job,
		               .starts = true,
		               .firm = !s->pend.preemptible[c->row] };
}

const struct plan_claim *check_claim_of(const struct audit *a, uint64_t job)
{
	for (uint32_t i = 0; i < a->plan->nclaims; i++) {
		const struct plan_claim *c = &a->plan->claim[i];

		if (check_claimant(a, c).job == job &&
		    (c->row != SNAP_NONE ||
		     (!check_leaves(a, c->run) && !a->out[c->run])))
			return c;
	}
	return NULL;
}

/* --- evictions --------------------------------------------------------- */

static int check_eviction(struct audit *a, const struct eviction *e)
{
	const struct snap *s = a->s;
	uint32_t n, least, surplus;
	uint64_t job;

	if (e->run >= s->run.n)
		return err_set(a->err, EINVAL, "plan: eviction of nobody");
	job = s->run.job[e->run];
	n = check_ntasks(s, e->run);
	least = s->req.min_tasks[s->run.req[e->run]];
	surplus = n > least ? n - least : 0;
	if (a->out[e->run])
		return check_bad(a, job, "is evicted twice");
	a->out[e->run] = e;
	if (!s->run.preemptible[e->run])
		return check_bad(a, job, "may not be evicted");
	if (s->run.ending[e->run])
		return check_bad(a, job, "leaves already");
	if (s->run.safe_until[e->run] > s->now)
		return check_bad(a, job, "may not be evicted yet");
	if (e->why == EVICT_NONE || !e->nlosses ||
	    (e->nlosses != n && e->nlosses > surplus))
		return check_bad(a, job, "cannot lose %u of %u tasks",
		                 (unsigned)e->nlosses, (unsigned)n);
	for (uint32_t i = 0; i < e->nlosses; i++) {
		uint32_t t = a->plan->loss[e->loss_first + i];

		if (t >= n || a->lost[s->run.task_first[e->run] + t])
			return check_bad(a, job, "loses what it has not");
		a->lost[s->run.task_first[e->run] + t] = 1;
	}
	if (e->suspend && (e->nlosses != n || !s->run.freezable[e->run] ||
	                   s->run.suspended[e->run]))
		return check_bad(a, job, "cannot be suspended");
	return 0;
}

/* Check that the claimant of an eviction has a claim in this plan, is not the
 * victim, and is not barred from evicting after a failed start. */
static int check_cause(struct audit *a, const struct eviction *e)
{
	const struct snap *s = a->s;
	uint64_t job = s->run.job[e->run];
	const struct plan_claim *c = check_claim_of(a, e->by);

	if (!c)
		return check_bad(a, job, "is evicted for nobody");
	for (uint32_t i = s->req.beside_first[check_claimant(a, c).req];
	     i < s->req.beside_first[check_claimant(a, c).req + 1]; i++)
		if (s->beside[i] == job)
			return check_bad(a, job,
			                 "is evicted for job %llu, which is to "
			                 "run near it",
			                 (unsigned long long)e->by);
	if (c->row == SNAP_NONE)
		return c->run == e->run
		           ? check_bad(a, job, "is evicted for itself")
		           : 0;
	if (s->pend.barred[c->row])
		return check_bad(a, job,
		                 "is evicted for job %llu, which "
		                 "failed to start",
		                 (unsigned long long)e->by);
	return 0;
}

/* --- growth ------------------------------------------------------------ */

static int check_more(struct audit *a, uint32_t run, uint32_t n)
{
	const struct snap *s = a->s;
	uint64_t job = s->run.job[run];

	a->more[run] += n;
	if (check_leaves(a, run) || s->run.suspended[run])
		return check_bad(a, job, "grows while it leaves");
	/* An elastic job that has more tasks than its maximum may still move
	 * some of them. */
	if (check_stays(a, run) + a->more[run] >
	        s->req.tasks[s->run.req[run]] &&
	    check_stays(a, run) + a->more[run] > check_ntasks(s, run))
		return check_bad(a, job, "grows too much");
	return 0;
}

/* --- claims ------------------------------------------------------------ */

static bool same_nodes(const struct audit *a, const struct plan_claim *c,
                       uint32_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < c->n; i++) {
		if (a->s->claim[first + i] !=
		    a->plan->claim_node[c->node_first + i])
			return false;
	}
	return c->n == n;
}

/* Whether a run that moves would be on a node again whose kubelet chooses
 * devices. */
static bool returns(const struct audit *a, const struct plan_claim *c)
{
	const struct snap *s = a->s;

	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t node = a->plan->claim_node[c->node_first + i];
		uint32_t t = s->run.task_first[c->run];

		while (t < s->run.task_first[c->run + 1] &&
		       s->task[t].node != node)
			t++;
		if (t < s->run.task_first[c->run + 1] && s->node.chooses[node])
			return true;
	}
	return false;
}

/* Check the claim of a run, which is evicted and starts again elsewhere, or
 * which grows. */
static int check_run_claim(struct audit *a, const struct plan_claim *c)
{
	const struct snap *s = a->s;
	uint32_t first, had, n;
	uint64_t job;

	if (c->run >= s->run.n)
		return err_set(a->err, EINVAL, "plan: claim of nobody");
	job = s->run.job[c->run];
	n = check_ntasks(s, c->run);
	first = s->run.claim_first[c->run];
	had = s->run.claim_first[c->run + 1] - first;
	if (!check_leaves(a, c->run)) {
		/* Only a run whose tasks move may lose and gain tasks in one
		 * plan. */
		if (a->out[c->run] && a->out[c->run]->why != EVICT_CONSOLIDATE)
			return check_bad(a, job, "grows while it leaves");
		return check_more(a, c->run, c->n);
	}
	if (a->moved[c->run])
		return check_bad(a, job, "goes to two places");
	a->moved[c->run] = c;
	if (s->run.ending[c->run])
		return same_nodes(a, c, first, had)
		           ? 0
		           : check_bad(a, job, "goes elsewhere than said");
	if (a->out[c->run]->suspend)
		return check_bad(a, job, "is suspended and moves");
	if (returns(a, c))
		return check_bad(a, job, "moves to where it is");
	if (c->n > n ||
	    (c->n < n && c->n < s->req.min_tasks[s->run.req[c->run]]))
		return check_bad(a, job, "moves with %u tasks", (unsigned)c->n);
	return 0;
}

static int check_row_claim(struct audit *a, const struct plan_claim *c)
{
	const struct snap *s = a->s;
	uint32_t row = c->row, first, had;
	uint64_t job;

	if (row >= s->pend.n || c->member < s->pend.member_first[row] ||
	    c->member >= s->pend.member_first[row + 1])
		return err_set(a->err, EINVAL, "plan: claim of nobody");
	job = s->member[c->member].job;
	first = s->pend.claim_first[row];
	had = s->pend.claim_first[row + 1] - first;
	a->served[c->member]++;
	if (s->pend.resumes[row] != SNAP_NONE)
		return check_bad(a, job, "has a place and claims another");
	/* A claim is either unchanged from an earlier plan or has
	 * min_tasks nodes. */
	if (!(had && same_nodes(a, c, first, had)) &&
	    c->n != s->req.min_tasks[s->pend.req[row]])
		return check_bad(a, job, "claims %u nodes", (unsigned)c->n);
	return 0;
}

static int check_claim(struct audit *a, const struct plan_claim *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		if (a->plan->claim_node[c->node_first + i] >= a->s->node.n)
			return err_set(a->err, EINVAL,
			               "plan: claim of nowhere");
	}
	return c->row == SNAP_NONE ? check_run_claim(a, c)
	                           : check_row_claim(a, c);
}

/* --- starts ------------------------------------------------------------ */

/* Check that this slice of tasks does not overlap the slices checked before,
 * which end at *next, and that each task has a node. Set *next to the end of
 * this slice. */
static int check_tasks(const struct audit *a, uint64_t job, uint32_t first,
                       uint32_t n, uint32_t *next)
{
	const struct snap_task *t = a->plan->task;

	if (first < *next)
		return check_bad(a, job, "shares tasks with another");
	*next = first + n;
	for (uint32_t i = first; i < *next; i++) {
		if (t[i].node >= a->s->node.n ||
		    t[i + 1].cpu_first < t[i].cpu_first)
			return check_bad(a, job, "has a task nowhere");
	}
	return 0;
}

static int check_start(struct audit *a, const struct start *start,
                       uint32_t *next)
{
	const struct snap *s = a->s;
	uint32_t row = start->row, m = start->member;

	if (row >= s->pend.n || m < s->pend.member_first[row] ||
	    m >= s->pend.member_first[row + 1])
		return err_set(a->err, EINVAL, "plan: start of nobody");
	a->served[m]++;
	if (s->pend.resumes[row] != SNAP_NONE && a->out[s->pend.resumes[row]])
		return check_bad(a, s->member[m].job, "goes on and is evicted");
	return check_tasks(a, s->member[m].job, start->task_first,
	                   start->ntasks, next);
}

static int check_grow(struct audit *a, const struct grow *grow, uint32_t *next)
{
	if (grow->run >= a->s->run.n)
		return err_set(a->err, EINVAL, "plan: growth of nobody");
	if (check_more(a, grow->run, grow->ntasks) < 0)
		return -1;
	return check_tasks(a, a->s->run.job[grow->run], grow->task_first,
	                   grow->ntasks, next);
}

static int check_counts(struct audit *a)
{
	const struct snap *s = a->s;
	uint32_t n = s->pend.n ? s->pend.member_first[s->pend.n] : 0;

	for (uint32_t m = 0; m < n; m++) {
		if (a->served[m] > s->member[m].count ||
		    a->served[m] > s->member[m].room)
			return check_bad(a, s->member[m].job,
			                 "starts or claims too often");
	}
	return 0;
}

/* Check that no more tasks of an array run, start and have claims than may. */
static int check_arrays(struct audit *a)
{
	const struct snap *s = a->s;
	uint32_t *n = arena_array(a->arena, uint32_t, s->array.n);

	for (uint32_t run = 0; run < s->run.n; run++) {
		if (s->run.array[run] != SNAP_NONE && !snap_is_part(s, run))
			n[s->run.array[run]]++;
	}
	for (uint32_t row = 0; row < s->pend.n; row++) {
		uint32_t array = s->pend.array[row];

		if (array == SNAP_NONE || s->pend.resumes[row] != SNAP_NONE)
			continue;
		for (uint32_t m = s->pend.member_first[row];
		     m < s->pend.member_first[row + 1]; m++) {
			n[array] += a->served[m];
			if (a->served[m] && n[array] > s->array.limit[array])
				return check_bad(a, s->member[m].job,
				                 "is beyond the limit of its "
				                 "array");
		}
	}
	return 0;
}

int check_lists(struct audit *a)
{
	const struct plan *plan = a->plan;
	uint32_t start = 0, grow = 0;
	int status = 0;

	for (uint32_t i = 0; !status && i < plan->nevictions; i++)
		status = check_eviction(a, &plan->eviction[i]);
	for (uint32_t i = 0; !status && i < plan->nclaims; i++)
		status = check_claim(a, &plan->claim[i]);
	for (uint32_t i = 0; !status && i < plan->nevictions; i++)
		status = check_cause(a, &plan->eviction[i]);
	for (uint32_t i = 0; !status && i < plan->nstarts; i++)
		status = check_start(a, &plan->start[i], &start);
	for (uint32_t i = 0; !status && i < plan->ngrows; i++)
		status = check_grow(a, &plan->grow[i], &grow);
	if (!status)
		status = check_counts(a);
	return status ? status : check_arrays(a);
}
