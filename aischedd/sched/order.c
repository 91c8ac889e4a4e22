/* order.c - whose turn it is */
#include "aischedd/sched/order.h"

#include <assert.h>
#include <stdlib.h>

static uint64_t next_job(const struct order *o, uint32_t row)
{
	return o->snap->member[o->next[row]].job;
}

static bool before(const struct order *o, uint32_t a, uint32_t b)
{
	const int64_t *priority = o->snap->pend.priority;

	if (priority[a] != priority[b])
		return priority[a] > priority[b];
	if (next_job(o, a) != next_job(o, b))
		return next_job(o, a) < next_job(o, b);
	return a < b;
}

static void sink(struct order *o, uint32_t i)
{
	uint32_t row = o->heap[i];

	for (uint32_t kid; (kid = 2 * i + 1) < o->n; i = kid) {
		if (kid + 1 < o->n && before(o, o->heap[kid + 1], o->heap[kid]))
			kid++;
		if (!before(o, o->heap[kid], row))
			break;
		o->heap[i] = o->heap[kid];
	}
	o->heap[i] = row;
}

static uint32_t may_start(const struct snap_member *m)
{
	return m->room < m->count ? m->room : m->count;
}

/* Go to the next job that may start; false when the row has none left. */
static bool advance(struct order *o, uint32_t row)
{
	uint32_t end = o->snap->pend.member_first[row + 1];

	while (o->next[row] < end) {
		const struct snap_member *m = &o->snap->member[o->next[row]];

		if (o->begun[row] < may_start(m))
			return true;
		if (o->begun[row] < m->count && o->limited[row] == SNAP_NONE)
			o->limited[row] = o->next[row];
		o->next[row]++;
		o->begun[row] = 0;
	}
	return false;
}

struct order *order_new(const struct snap *snap, struct arena *arena)
{
	struct order *o = arena_array(arena, struct order, 1);
	uint32_t n = snap->pend.n;

	o->snap = snap;
	o->heap = arena_array(arena, uint32_t, n);
	o->next = arena_array(arena, uint32_t, n);
	o->begun = arena_array(arena, uint32_t, n);
	o->started = arena_array(arena, uint32_t, n);
	o->limited = arena_array(arena, uint32_t, n);
	for (uint32_t i = 0; i < n; i++) {
		o->next[i] = snap->pend.member_first[i];
		o->limited[i] = SNAP_NONE;
		if (advance(o, i))
			o->heap[o->n++] = i;
	}
	for (uint32_t i = o->n / 2; i-- > 0;)
		sink(o, i);
	return o;
}

bool order_first(const struct order *o, uint32_t *ret_row)
{
	if (!o->n)
		return false;
	*ret_row = o->heap[0];
	return true;
}

void order_drop(struct order *o)
{
	o->heap[0] = o->heap[--o->n];
	if (o->n)
		sink(o, 0);
}

void order_started(struct order *o)
{
	uint32_t row = o->heap[0];

	o->begun[row]++;
	o->started[row]++;
	if (advance(o, row))
		sink(o, 0);
	else
		order_drop(o);
}

uint32_t order_waiting(const struct order *o, uint32_t row)
{
	if (o->next[row] < o->snap->pend.member_first[row + 1])
		return o->next[row];
	return o->limited[row];
}

/* One row that waits; sorted they are in the order of each queue. */
struct waiter {
	uint32_t row, queue;
	int64_t priority;
	uint64_t job;
	uint64_t ahead; /* jobs between the waiter before it and itself */
};

static int by_turn(const void *a, const void *b)
{
	const struct waiter *x = a, *y = b;

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* The first of n waiters whose job comes after this one; n: none. */
static uint32_t first_after(const struct waiter *w, uint32_t n, uint64_t job)
{
	uint32_t lo = 0;

	while (lo < n) {
		uint32_t mid = lo + (n - lo) / 2;

		if (w[mid].job > job)
			n = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* How many jobs of a member wait. */
static uint32_t still_waiting(const struct order *o, uint32_t row, uint32_t m)
{
	const struct snap_member *mem = &o->snap->member[m];

	if (m == o->next[row])
		return mem->count - o->begun[row];
	return m > o->next[row] ? mem->count : mem->count - may_start(mem);
}

/* Spread the jobs of each waiter's row over the gaps between the n waiters of
 * one queue and priority; returns how many come after the last. */
static uint64_t count_between(const struct order *o, struct waiter *w,
                              uint32_t n)
{
	uint64_t after = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = w[i].row;
		uint32_t end = o->snap->pend.member_first[row + 1];
		uint32_t from = o->limited[row] < o->next[row] ? o->limited[row]
		                                               : o->next[row];

		for (uint32_t m = from; m < end; m++) {
			uint64_t job = o->snap->member[m].job;

			if (job >= w[n - 1].job)
				after += still_waiting(o, row, m);
			else
				w[first_after(w, n, job)].ahead +=
				    still_waiting(o, row, m);
		}
	}
	return after;
}

void order_positions(const struct order *o, uint32_t *ret, struct arena *arena)
{
	const struct snap *s = o->snap;
	struct waiter *w = arena_array(arena, struct waiter, s->pend.n);
	uint32_t n = 0;
	uint64_t ahead = 0;

	for (uint32_t row = 0; row < s->pend.n; row++) {
		uint32_t m = order_waiting(o, row);

		ret[row] = 0;
		if (m != SNAP_NONE)
			w[n++] = (struct waiter){ row, s->pend.queue[row],
				                  s->pend.priority[row],
				                  s->member[m].job, 0 };
	}
	qsort(w, n, sizeof(*w), by_turn);
	for (uint32_t i = 0, end; i < n; i = end) {
		uint64_t after;

		end = i;
		while (end < n && w[end].queue == w[i].queue &&
		       w[end].priority == w[i].priority)
			end++;
		if (!i || w[i].queue != w[i - 1].queue)
			ahead = 0;
		after = count_between(o, w + i, end - i);
		for (uint32_t k = i; k < end; k++) {
			ahead += w[k].ahead;
			ret[w[k].row] = (uint32_t)(ahead + 1);
		}
		ahead += after;
	}
}
