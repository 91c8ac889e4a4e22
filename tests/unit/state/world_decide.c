/* world_decide.c - plans written by a test in place of the scheduler's */
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/pass/apply.h"
#include "aischedd/state/pass/snapshot.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

enum { MANY = 32 };

/* A plan that is being made from text. */
struct decision {
	struct world *w;
	const struct snap *snap;
	struct plan plan;
	struct start start[MANY];
	struct grow grow[MANY];
	struct eviction eviction[MANY];
	struct plan_claim claim[MANY];
	uint32_t loss[MANY], node[MANY], ntasks, nlosses, nnodes;
	struct snap_task task[MANY + 1];
};

static char *word(char **rest)
{
	char *s = strsep(rest, " ");

	ck_assert_msg(s && *s, "a word is missing");
	return s;
}

/* Returns the index of a pending job in the snapshot, and sets *ret_row to its
 * row. */
static uint32_t find_member(const struct decision *d, const char *job,
                            uint32_t *ret_row)
{
	uint64_t id = strtoull(job, NULL, 10);
	const struct snap_pend *p = &d->snap->pend;

	for (uint32_t row = 0; row < p->n; row++)
		for (uint32_t m = p->member_first[row];
		     m < p->member_first[row + 1]; m++)
			if (d->snap->member[m].job == id) {
				*ret_row = row;
				return m;
			}
	ck_abort_msg("job %s does not wait", job);
}

static uint32_t find_run(const struct decision *d, const char *job)
{
	uint64_t id = strtoull(job, NULL, 10);

	for (uint32_t i = 0; i < d->snap->run.n; i++)
		if (d->snap->run.job[i] == id)
			return i;
	ck_abort_msg("job %s does not run", job);
}

static uint32_t find_node(const struct decision *d, const char *name)
{
	int node = state_node_find(d->w->state, name);

	ck_assert_msg(node >= 0, "there is no node %s", name);
	return (uint32_t)node;
}

/* Add tasks on the nodes "n0,n1" to the plan. Returns how many. */
static uint32_t add_tasks(struct decision *d, char *nodes)
{
	uint32_t first = d->ntasks;

	for (char *name; (name = strsep(&nodes, ","));)
		d->task[d->ntasks++] =
		    (struct snap_task){ .node = find_node(d, name) };
	return d->ntasks - first;
}

static void add_claim(struct decision *d, struct plan_claim claim, char *nodes)
{
	claim.node_first = d->nnodes;
	for (char *name; (name = strsep(&nodes, ","));)
		d->node[d->nnodes++] = find_node(d, name);
	claim.n = d->nnodes - claim.node_first;
	d->claim[d->plan.nclaims++] = claim;
}

static void add_eviction(struct decision *d, char *rest)
{
	static const char *const whys[] = { [EVICT_PREEMPT] = "preempt",
		                            [EVICT_RECLAIM] = "reclaim",
		                            [EVICT_CONSOLIDATE] =
		                                "consolidate" };
	uint32_t run = find_run(d, word(&rest));
	uint32_t n =
	    d->snap->run.task_first[run + 1] - d->snap->run.task_first[run];
	struct eviction e = { .run = run, .loss_first = d->nlosses };
	char *losses = word(&rest), *why = word(&rest);

	if (strcmp(losses, "all")) {
		for (char *s; (s = strsep(&losses, ","));)
			d->loss[d->nlosses++] = (uint32_t)strtoul(s, NULL, 10);
	} else {
		for (uint32_t i = 0; i < n; i++)
			d->loss[d->nlosses++] = i;
	}
	e.nlosses = d->nlosses - e.loss_first;
	for (uint8_t i = EVICT_PREEMPT; i <= EVICT_CONSOLIDATE; i++)
		if (!strcmp(whys[i], why))
			e.why = i;
	ck_assert_msg(e.why, "why is '%s'?", why);
	e.by = strtoull(word(&rest), NULL, 10);
	e.suspend = rest && !strcmp(rest, "suspend");
	d->eviction[d->plan.nevictions++] = e;
}

static void add_step(struct decision *d, char *step)
{
	char *verb = word(&step);
	struct start start = { 0 };
	struct plan_claim claim = { .row = SNAP_NONE };
	struct grow grow = { 0 };

	if (!strcmp(verb, "start")) {
		start.member = find_member(d, word(&step), &start.row);
		start.task_first = d->ntasks;
		start.ntasks = add_tasks(d, step);
		d->start[d->plan.nstarts++] = start;
	} else if (!strcmp(verb, "grow")) {
		grow.run = find_run(d, word(&step));
		grow.task_first = d->ntasks;
		grow.ntasks = add_tasks(d, step);
		d->grow[d->plan.ngrows++] = grow;
	} else if (!strcmp(verb, "claim")) {
		claim.member = find_member(d, word(&step), &claim.row);
		add_claim(d, claim, step);
	} else if (!strcmp(verb, "hold")) {
		claim.run = find_run(d, word(&step));
		add_claim(d, claim, step);
	} else if (!strcmp(verb, "evict")) {
		add_eviction(d, step);
	} else if (!strcmp(verb, "wake")) {
		d->plan.wake = d->w->now + strtoll(step, NULL, 10);
	} else {
		ck_abort_msg("nobody decides '%s'", verb);
	}
}

void world_look(struct world *w)
{
	arena_free(w->looked);
	w->looked = arena_new();
	w->seen = state_snapshot(w->state, w->now, w->looked);
}

void world_decide(struct world *w, const char *text)
{
	struct decision d = { .w = w };
	char *copy = xstrdup(text), *rest = copy;
	struct verdict *verdict;

	if (!w->looked)
		world_look(w);
	d.snap = w->seen;
	verdict = arena_array(w->looked, struct verdict, d.snap->pend.n + 1);
	for (uint32_t i = 0; i < d.snap->pend.n; i++)
		verdict[i] = (struct verdict){ .why = WHY_Resources,
			                       .expected = SNAP_NEVER,
			                       .position = i + 1 };
	d.plan = (struct plan){
		.gen = d.snap->gen,
		.nverdicts = d.snap->pend.n,
		.verdict = verdict,
		.start = d.start,
		.grow = d.grow,
		.eviction = d.eviction,
		.loss = d.loss,
		.claim = d.claim,
		.claim_node = d.node,
		.wake = SNAP_NEVER,
		.task = d.task,
	};
	for (char *step; *text && (step = strsep(&rest, ";"));)
		add_step(&d, step + strspn(step, " "));
	free(copy);
	state_apply_plan(w->state, d.snap, &d.plan, &w->looked, w->now);
	world_check(w);
}
