/* stay.c - running tasks by node, in the order in which they end */
#include "aischedd/sched/stay.h"

#include <stdlib.h>
#include <string.h>

int64_t stay_assumed(const struct snap *s, uint32_t run)
{
	int64_t assumed = s->queue.assumed_time[s->run.queue[run]];

	if (assumed == CONF_NONE || assumed <= 0)
		return SNAP_NEVER;
	while (s->run.start[run] + assumed <= s->now && assumed < INT64_MAX / 4)
		assumed *= 2;
	return s->run.start[run] + assumed;
}

static int by_end(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;

	if (x->end != y->end)
		return ends_before(x->end, y->end) ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

/* Most nodes have few tasks, which are in their order already. */
void stays_sort(struct stay *stay, size_t n)
{
	if (n > 32) {
		qsort(stay, n, sizeof(*stay), by_end);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct stay it = stay[i];
		size_t k = i;

		for (; k && ends_before(it.end, stay[k - 1].end); k--)
			stay[k] = stay[k - 1];
		stay[k] = it;
	}
}

struct stays *stays_new(const struct snap *s, struct arena *arena)
{
	struct stays *st = arena_array(arena, struct stays, 1);
	uint32_t ntasks = s->run.n ? s->run.task_first[s->run.n] : 0, *next;

	st->first = arena_array(arena, uint32_t, s->node.n + 1);
	st->stay = arena_array_raw(arena, struct stay, ntasks);
	st->end = arena_array_raw(arena, int64_t, s->run.n);
	next = arena_array_raw(arena, uint32_t, s->node.n);
	for (uint32_t t = 0; t < ntasks; t++)
		st->first[s->task[t].node + 1]++;
	for (uint32_t i = 0; i < s->node.n; i++) {
		next[i] = st->first[i];
		st->first[i + 1] += st->first[i];
	}
	for (uint32_t r = 0, t = 0; r < s->run.n; r++) {
		int64_t end = st->end[r] = stay_end(s, r);

		for (; t < s->run.task_first[r + 1]; t++)
			st->stay[next[s->task[t].node]++] =
			    (struct stay){ end, r, t };
	}
	for (uint32_t i = 0; i < s->node.n; i++)
		stays_sort(st->stay + st->first[i],
		           st->first[i + 1] - st->first[i]);
	return st;
}
