/* order_position.c - how many jobs of its queue wait before another */
#include "aischedd/sched/order_position.h"

#include <stdlib.h>

/* A job whose position is wanted: the first of a row that waits, or another
 * one. Sorted by queue and turn. */
struct queued_row {
	uint32_t row, queue;
	struct order_key key;
	uint64_t job;
	uint64_t ahead; /* jobs between the previous waiter and this one */
	uint32_t *ret;
	bool other;
};

static struct queued_row make_queued_row(const struct row_order *o,
                                         uint32_t row, uint32_t m,
                                         uint32_t *ret)
{
	return (struct queued_row){
		.row = row,
		.queue = o->snap->pend.queue[row],
		.key = order_key(o, row, m),
		.job = o->snap->member[m].job,
		.ret = ret,
	};
}

static int by_turn(const void *a, const void *b)
{
	const struct queued_row *x = a, *y = b;
	int cmp;

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	cmp = order_key_cmp(&x->key, &y->key);
	if (cmp)
		return cmp;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Returns the first member of a row that still has waiting jobs, and how many
 * of its jobs have begun. */
static uint32_t first_waiting(const struct row_order *o, uint32_t row,
                              uint32_t *ret_begun)
{
	bool promised = o->first[row] != SNAP_NONE;

	*ret_begun = promised ? o->first_begun[row] : o->begun[row];
	return promised ? o->first[row] : o->next[row];
}

/* How many jobs of a member wait. */
static uint32_t still_waiting(const struct row_order *o, uint32_t row,
                              uint32_t m)
{
	const struct snap_member *mem = &o->snap->member[m];
	uint32_t begun, first = first_waiting(o, row, &begun);

	if (m == first)
		return mem->count - begun;
	return m > first ? mem->count : mem->count - order_may_start(mem);
}

static bool is_before(const struct row_order *o, uint32_t row, uint32_t m,
                      const struct queued_row *w)
{
	struct order_key key = order_key(o, row, m);
	int cmp = order_key_cmp(&key, &w->key);

	return cmp ? cmp < 0 : o->snap->member[m].job < w->job;
}

/* The first of n waiters whose turn comes after that of a member; n if there is
 * none. */
static uint32_t first_after(const struct row_order *o,
                            const struct queued_row *w, uint32_t n,
                            uint32_t row, uint32_t m)
{
	uint32_t lo = 0;

	while (lo < n) {
		uint32_t mid = lo + (n - lo) / 2;

		if (is_before(o, row, m, &w[mid]))
			n = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* The first of a row's members, from this one on, whose turn comes after the
 * waiter's; found by binary search, as later members have waited no longer. */
static uint32_t members_before(const struct row_order *o, uint32_t row,
                               uint32_t from, const struct queued_row *w)
{
	uint32_t end = o->snap->pend.member_first[row + 1];

	while (from < end) {
		uint32_t mid = from + (end - from) / 2;

		if (is_before(o, row, mid, w))
			from = mid + 1;
		else
			end = mid;
	}
	return from;
}

/* Spread the jobs of each row over the gaps between the n waiters of a queue.
 */
static void count_between(const struct row_order *o, struct queued_row *w,
                          uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = w[i].row, last, at;
		uint32_t begun, from = first_waiting(o, row, &begun);

		if (w[i].other)
			continue;
		if (o->limited[row] < from)
			from = o->limited[row];
		last = members_before(o, row, from, &w[n - 1]);
		for (uint32_t m = from; m < last; m++) {
			at = first_after(o, w, n, row, m);
			if (at < n)
				w[at].ahead += still_waiting(o, row, m);
		}
	}
}

/* The last member of each row that has a position already, or SNAP_NONE. */
static uint32_t *last_listed(const struct row_order *o,
                             const struct arena_list *promised,
                             struct arena *arena)
{
	uint32_t *last = arena_array(arena, uint32_t, o->snap->pend.n);
	const struct promised *it = promised->p;

	for (uint32_t row = 0; row < o->snap->pend.n; row++)
		last[row] = order_waiting(o, row);
	for (size_t i = 0; i < promised->n; i++)
		last[it[i].row] = it[i].member;
	return last;
}

/* List the members behind them. */
static void list_queued(const struct row_order *o,
                        const struct arena_list *promised,
                        struct arena_list *queued, struct arena *arena)
{
	const uint32_t *last = last_listed(o, promised, arena);

	for (uint32_t row = 0; row < o->snap->pend.n; row++) {
		uint32_t end = o->snap->pend.member_first[row + 1];

		for (uint32_t i = 1;
		     i <= LINE_ROW && queued->n < LINE_MAX &&
		     last[row] != SNAP_NONE && last[row] + i < end;
		     i++)
			*(struct queued *)arena_push(arena, queued,
			                             sizeof(struct queued)) =
			    (struct queued){ row, last[row] + i, 0 };
	}
}

static uint32_t list_waiters(const struct row_order *o, struct verdict *verdict,
                             const struct arena_list *promised,
                             const struct arena_list *queued,
                             struct queued_row *w)
{
	struct promised *p = promised->p;
	struct queued *q = queued->p;
	uint32_t n = 0, nfirst;

	for (uint32_t row = 0; row < o->snap->pend.n; row++) {
		uint32_t m = order_waiting(o, row);

		if (m != SNAP_NONE)
			w[n++] =
			    make_queued_row(o, row, m, &verdict[row].position);
	}
	nfirst = n;
	for (size_t i = 0; i < promised->n; i++)
		w[n++] =
		    make_queued_row(o, p[i].row, p[i].member, &p[i].position);
	for (size_t i = 0; i < queued->n; i++)
		w[n++] =
		    make_queued_row(o, q[i].row, q[i].member, &q[i].position);
	for (uint32_t i = nfirst; i < n; i++)
		w[i].other = true;
	return n;
}

void order_position_find(const struct row_order *o, struct verdict *verdict,
                         const struct arena_list *promised,
                         struct arena_list *queued, struct arena *arena)
{
	struct queued_row *w;
	uint32_t n;

	list_queued(o, promised, queued, arena);
	w = arena_array(arena, struct queued_row,
	                o->snap->pend.n + promised->n + queued->n);
	n = list_waiters(o, verdict, promised, queued, w);
	qsort(w, n, sizeof(*w), by_turn);
	for (uint32_t i = 0, end; i < n; i = end) {
		uint64_t ahead = 0;

		for (end = i; end < n && w[end].queue == w[i].queue;)
			end++;
		count_between(o, w + i, end - i);
		for (uint32_t k = i; k < end; k++) {
			ahead += w[k].ahead;
			*w[k].ret = (uint32_t)(ahead + 1);
		}
	}
}
