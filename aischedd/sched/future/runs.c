/* runs.c - running tasks by node, in the order in which they end */
#include "aischedd/sched/future/runs.h"

#include <stdlib.h>
#include <string.h>

int64_t future_runs_assumed(const struct snap *s, uint32_t run)
{
	int64_t assumed = s->queue.assumed_time[s->run.queue[run]];
	uint32_t resv = s->req.reservation[s->run.req[run]];

	if (assumed <= 0)
		return resv != SNAP_NONE && s->resv.end[resv] > s->now
		           ? s->resv.end[resv]
		           : SNAP_NEVER;
	while (s->run.start[run] + assumed <= s->now && assumed < INT64_MAX / 4)
		assumed *= 2;
	return s->run.start[run] + assumed;
}

static int by_end(const void *a, const void *b)
{
	const struct future_run *x = a, *y = b;

	if (x->end != y->end)
		return future_ends_before(x->end, y->end) ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

/* Use insertion sort for short lists: most nodes have few tasks, which are
 * nearly in order. */
void future_runs_sort(struct future_run *stay, size_t n)
{
	if (n > 32) {
		qsort(stay, n, sizeof(*stay), by_end);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct future_run it = stay[i];
		size_t k = i;

		for (; k && future_ends_before(it.end, stay[k - 1].end); k--)
			stay[k] = stay[k - 1];
		stay[k] = it;
	}
}

struct future_runs *future_runs_new(const struct snap *s, struct arena *arena)
{
	struct future_runs *st = arena_array(arena, struct future_runs, 1);
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0;
	uint32_t *first, *next;

	/* next[node] is first[node + 1]: while tasks are entered, it rises from
	 * the start of the node's slice to its end, which is the start of the
	 * next slice. */
	first = next = arena_array(arena, uint32_t, s->node.n + 2);
	next++;
	st->stay = arena_array_raw(arena, struct future_run, ntasks);
	for (uint32_t t = 0; t < ntasks; t++)
		first[s->task[t].node + 2]++;
	for (uint32_t i = 0; i < s->node.n; i++)
		next[i + 1] += next[i];
	for (uint32_t r = 0, t = 0; r < s->run.n; r++) {
		int64_t end = future_runs_end(s, r);

		for (; t < s->run.task_first[r + 1]; t++)
			st->stay[next[s->task[t].node]++] =
			    (struct future_run){ end, r, t };
	}
	for (uint32_t i = 0; i < s->node.n; i++)
		future_runs_sort(st->stay + first[i], first[i + 1] - first[i]);
	st->first = first;
	return st;
}

void future_runs_change(struct future_runs *st, const struct snap *s,
                        uint32_t run, int64_t end)
{
	for (uint32_t t = s->run.task_first[run];
	     t < s->run.task_first[run + 1]; t++) {
		uint32_t from = st->first[s->task[t].node];
		uint32_t n = st->first[s->task[t].node + 1] - from, i = from;

		while (st->stay[i].task != t)
			i++;
		st->stay[i].end = end;
		future_runs_sort(st->stay + from, n);
	}
}
