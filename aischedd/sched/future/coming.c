/* coming.c - nodes that autoscaling adds */
#include "aischedd/sched/future/coming.h"

/* Returns when a node must be asked for so that a job can start on it at
 * `start`. */
static int64_t ask_at(const struct snap *s, uint32_t node, int64_t start)
{
	return start - (s->node.retry_at[node] - s->now);
}

void coming_find(const struct snap *s, struct plan *plan, struct arena *arena)
{
	uint8_t *wanted = arena_array(arena, uint8_t, s->node.n);
	uint32_t *asked, n = 0;

	for (uint32_t i = 0; i < plan->npromises; i++) {
		const struct snap_promise *it = &plan->promise[i];

		for (uint32_t k = 0; k < it->n; k++) {
			uint32_t node = plan->promise_node[it->node_first + k];
			int64_t at = ask_at(s, node, it->start);

			if (s->node.coming[node] != NODE_OFF)
				continue;
			if (at <= s->now)
				wanted[node] = 1;
			else if (!wanted[node] &&
			         (plan->wake == SNAP_NEVER || at < plan->wake))
				plan->wake = at;
		}
	}
	for (uint32_t i = 0; i < s->node.n; i++)
		n += wanted[i];
	asked = arena_array(arena, uint32_t, n);
	plan->asked = asked;
	for (uint32_t i = 0; i < s->node.n; i++)
		if (wanted[i])
			asked[plan->nasked++] = i;
}

bool coming_any(const struct snap *s)
{
	for (uint32_t i = 0; i < s->node.n; i++)
		if (s->node.coming[i] != NODE_HERE)
			return true;
	return false;
}

uint32_t coming_count(const struct snap *s, const uint32_t *node, uint32_t n,
                      uint32_t *ret_first)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		/* Tasks on the same node follow each other. */
		if (s->node.coming[node[i]] == NODE_HERE ||
		    (i && node[i] == node[i - 1]))
			continue;
		if (!count++)
			*ret_first = node[i];
	}
	return count;
}
