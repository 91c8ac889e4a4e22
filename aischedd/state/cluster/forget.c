/* forget.c - forget nodes that are gone for good */
#include "aischedd/state/cluster/forget.h"

#include <stdlib.h>

#include "aischedd/state/pass/snap_node.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/mem.h"

enum {
	/* when to look again at a node that something still refers to */
	AGAIN_S = 60
};

/* --- which nodes are referred to ------------------------------------------ */

static void mark_tasks(bool *used, const struct placement *place)
{
	for (uint32_t i = 0; place && i < place->ntasks; i++)
		used[place->task[i].node] = true;
}

static void mark_job(bool *used, const struct job *job)
{
	mark_tasks(used, job->place);
	mark_tasks(used, job->runs->leaving);
	for (uint32_t i = 0; job->claim && i < job->claim->n; i++)
		used[job->claim->node[i]] = true;
}

static void mark_jobs(const struct state *state, bool *used)
{
	for (const struct job *job = state->records.placed; job;
	     job = job->row_next)
		mark_job(used, job);
	for (size_t i = 0; i < state->claims.n; i++)
		mark_job(used, state->claims.holder[i]);
	for (size_t i = 0; i < state->unwritten.njobs; i++)
		mark_job(used, state->unwritten.job[i]);
}

static void mark_promises(const struct last_plan *plan, bool *used)
{
	for (uint32_t i = 0; i < plan->npromises; i++)
		for (uint32_t k = 0; k < plan->promise[i].n; k++)
			used[plan->promise_node[plan->promise[i].node_first +
			                        k]] = true;
}

/* Returns for each node whether something refers to it; the caller frees the
 * result. */
static bool *find_used(const struct state *state)
{
	bool *used = xcalloc(state->nodes.n + 1, sizeof(*used));

	mark_jobs(state, used);
	mark_promises(&state->last_plan, used);
	for (size_t i = 0; i < state->reservations.n; i++)
		for (uint32_t k = 0; k < state->reservations.resv[i].nnodes;
		     k++)
			used[state->reservations.resv[i].node[k]] = true;
	for (size_t i = 0; i < state->effects.n; i++)
		used[state->effects.effect[i].node] = true;
	return used;
}

/* --- forgetting them -------------------------------------------------------
 */

static bool may_go(const struct state *state, const struct node *node)
{
	return node->gone && !node->removed && !node->expected &&
	       !node->drained && !node->scale && !node->member &&
	       node->want == WANT_NOTHING && !node->conf &&
	       state->pools.pool[node->pool].ready;
}

static void drop_refusals(struct refusal_list *list, uint32_t node)
{
	for (uint32_t i = list->n; i--;)
		if (list->it[i].node == node)
			list->it[i] = list->it[--list->n];
}

static void forget(struct state *state, uint32_t n)
{
	struct node *node = &state->nodes.node[n];

	drop_refusals(&state->refusals, n);
	node_clear(node);
	*node = (struct node){ .full = node->full,
		               .name = node->name,
		               .serial = node->serial,
		               .pool = node->pool,
		               .gone = true,
		               .removed = true,
		               .forgotten = true,
		               .dirty = true,
		               .idle_since = NO_TIME };
	state->nodes.dirty = true;
}

static bool is_spare(const struct node_table *t, uint32_t n)
{
	return !t->node[n].full;
}

/* Allow the index of a forgotten node to be used for another one. */
static void spare(struct node_table *t, uint32_t n)
{
	free(t->node[n].full);
	t->node[n].full = NULL;
	t->node[n].name = "";
	t->spare = GROW(t->spare, t->nspare, &t->spare_cap);
	t->spare[t->nspare++] = n;
}

void nodes_forget(struct state *state, int64_t now)
{
	struct node_table *t = &state->nodes;
	bool *used, any = false;

	if (t->forget_at == NO_TIME || now < t->forget_at)
		return;
	t->forget_at = NO_TIME;
	used = find_used(state);
	for (uint32_t i = 0; i < t->n; i++) {
		struct node *node = &t->node[i];

		if (node->forgotten && !is_spare(t, i)) {
			if (!node->dirty && !used[i])
				spare(t, i);
			else
				t->forget_at = 0;
		} else if (may_go(state, node) && !used[i]) {
			forget(state, i);
			t->forget_at = 0;
			any = true;
		} else if (may_go(state, node) && t->forget_at != 0) {
			t->forget_at = now + AGAIN_S;
		}
	}
	free(used);
	if (any)
		nodes_reconf(state, state->conf);
}
