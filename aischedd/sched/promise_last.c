/* promise_last.c - starts that the last plan promised */
#include "aischedd/sched/promise_last.h"

#include "aischedd/sched/fit.h"
#include "aischedd/sched/promise.h"

const struct snap_promise *promise_last(const struct snap *s, uint64_t job,
                                        uint32_t nth)
{
	uint32_t lo = 0, hi = s->npromises;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->promise[mid].job < job)
			lo = mid + 1;
		else
			hi = mid;
	}
	lo += nth;
	return lo < s->npromises && s->promise[lo].job == job ? &s->promise[lo]
	                                                      : NULL;
}

/* Whether promises to other jobs allow the tasks that the trial placed on a
 * node. */
static bool is_allowed(const struct place *p, uint32_t req, uint32_t node)
{
	int64_t n = 0;

	if (!p->watched[node] && !p->careful)
		return true;
	for (size_t i = p->first_task; i < p->ntasks; i++)
		n += p->task[i].node == node;
	return promise_allows(p->promises, req, node, n);
}

bool promise_last_try(struct place *p, uint32_t req,
                      const struct snap_promise *it)
{
	const struct snap *s = p->snap;
	const uint32_t *node = s->promise_node + it->node_first;

	if (it->n != s->req.min_tasks[req] || !place_suits(p, req, node, it->n))
		return false;
	place_begin(p);
	for (uint32_t i = 0, n; i < it->n; i += n) {
		n = place_may_use(p, req, node[i])
		        ? place_put_next(p, req, node + i, it->n - i)
		        : 0;
		if (!n || !is_allowed(p, req, node[i])) {
			place_undo(p);
			return false;
		}
	}
	return true;
}
