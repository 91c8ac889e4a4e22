/* refuse.c - requests that nodes have refused */
#include "aischedd/state/life/refuse.h"

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/life/evict.h"
#include "aischedd/state/pass/row.h"
#include "aischedd/state/state_priv.h"

/* The first wait is backoff_s() of this: longer than the job itself waits,
 * which would else return to the same node. */
enum { FIRST = 2 };

static struct refusal *find(struct refusal_list *list, uint64_t req_hash,
                            uint32_t node)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->it[i].req_hash == req_hash &&
		    list->it[i].node == node)
			return &list->it[i];
	return NULL;
}

static struct refusal *intern(struct refusal_list *list, uint64_t req_hash,
                              uint32_t node)
{
	struct refusal *r = find(list, req_hash, node);

	if (r)
		return r;
	r = list->it;
	if (list->n < ARRAY_SIZE(list->it))
		r = &list->it[list->n++];
	else
		for (uint32_t i = 1; i < list->n; i++)
			if (list->it[i].retry_at < r->retry_at)
				r = &list->it[i];
	*r = (struct refusal){ .req_hash = req_hash, .node = node };
	return r;
}

void refusals_note(struct state *state, struct job *job,
                   const struct strlist *whose, int64_t now)
{
	uint64_t hash = placed_key(state, job)->req_hash;
	const struct placement *p = job->place;

	for (uint32_t i = 0; i < p->ntasks; i++) {
		uint32_t node = p->task[i].node;
		struct refusal *r;

		if ((i && node == p->task[i - 1].node) ||
		    (whose->n &&
		     !nodes_are_among(whose, state->nodes.node[node].name)))
			continue;
		r = intern(&state->refusals, hash, node);
		r->retry_at = now + backoff_s(FIRST + r->fails++);
		state_alarm(state, r->retry_at, 0);
	}
	state_replan(state);
}

void refusals_forget(struct state *state, struct job *job)
{
	struct refusal_list *list = &state->refusals;
	const struct placement *p = job->place;

	for (uint32_t i = 0; list->n && i < p->ntasks; i++) {
		struct refusal *r = find(list, placed_key(state, job)->req_hash,
		                         p->task[i].node);

		if (r)
			*r = list->it[--list->n];
	}
}

void refusals_retry(struct state *state, int64_t now)
{
	for (uint32_t i = 0; i < state->refusals.n; i++)
		if (state->refusals.it[i].retry_at > now)
			state->refusals.it[i].retry_at = now;
}
