/* order_position.c - the position of waiting jobs in their queues */
#include "aischedd/sched/order_position.h"

#include <stdlib.h>

/*
 * The turn of a member of a row. Members of a row are served by waiting time,
 * rows with equal keys by the job id of their next member. A requeued member
 * may have a lower id than the member before it in its row, but has its turn
 * only after that member. So `job` is the highest id of this member and of the
 * members before it with the same key.
 */
struct turn_of {
	struct order_key key;
	uint64_t job;
	uint32_t row, member;
};

/* A job whose position is to be found. Entries are sorted by queue and turn.
 * other: the job is not the first waiting job of its row. */
struct queued_row {
	struct turn_of turn;
	uint32_t queue;
	/* how many jobs wait after the previous entry, up to and including
	 * this one */
	uint64_t ahead;
	uint32_t *ret;
	bool other;
};

static int by_key(const struct turn_of *x, const struct turn_of *y)
{
	int cmp = order_key_cmp(&x->key, &y->key);

	if (cmp)
		return cmp;
	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->member > y->member) - (x->member < y->member);
}

static int by_turn(const void *a, const void *b)
{
	const struct queued_row *x = a, *y = b;

	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	return by_key(&x->turn, &y->turn);
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

/* Returns the first member of a row that has waiting jobs, including a member
 * that waits only because of the limit of its array. */
static uint32_t first_in_turn(const struct row_order *o, uint32_t row)
{
	uint32_t begun, first = first_waiting(o, row, &begun);

	return o->limited[row] < first ? o->limited[row] : first;
}

static struct turn_of turn_first(const struct row_order *o, uint32_t row,
                                 uint32_t m)
{
	return (struct turn_of){ order_key(o, row, m), o->snap->member[m].job,
		                 row, m };
}

/* Change the turn to that of the next member of the row. */
static void turn_next(const struct row_order *o, struct turn_of *t)
{
	struct turn_of next = turn_first(o, t->row, t->member + 1);

	if (!order_key_cmp(&next.key, &t->key) && next.job < t->job)
		next.job = t->job;
	*t = next;
}

/* Set *w to the entry for a member of a row. last: the entry made before, or
 * NULL; if it is of the same row, the turn is computed from that of `last`. */
static void make_queued_row(const struct row_order *o, uint32_t row, uint32_t m,
                            uint32_t *ret, const struct queued_row *last,
                            struct queued_row *w)
{
	uint32_t from = first_in_turn(o, row);
	struct turn_of t = turn_first(o, row, from < m ? from : m);

	if (last && last->turn.row == row && last->turn.member <= m)
		t = last->turn;
	while (t.member < m)
		turn_next(o, &t);
	*w = (struct queued_row){ .turn = t,
		                  .queue = o->snap->pend.queue[row],
		                  .ret = ret };
}

/* Returns how many jobs of a member wait. */
static uint32_t still_waiting(const struct row_order *o, uint32_t row,
                              uint32_t m)
{
	const struct snap_member *mem = &o->snap->member[m];
	uint32_t begun, first = first_waiting(o, row, &begun);

	if (m == first)
		return mem->count - begun;
	return m > first ? mem->count : mem->count - order_may_start(mem);
}

/* Returns the first of n entries whose turn comes after this one, or n. */
static uint32_t first_after(const struct queued_row *w, uint32_t n,
                            const struct turn_of *t)
{
	uint32_t lo = 0;

	while (lo < n) {
		uint32_t mid = lo + (n - lo) / 2;

		if (by_key(t, &w[mid].turn) < 0)
			n = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Count the waiting jobs of each row of a queue: add them to the member `ahead`
 * of the first entry whose turn comes after theirs. */
static void count_between(const struct row_order *o, struct queued_row *w,
                          uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = w[i].turn.row, at;
		uint32_t end = o->snap->pend.member_first[row + 1];
		struct turn_of t;

		if (w[i].other)
			continue;
		t = turn_first(o, row, first_in_turn(o, row));
		while ((at = first_after(w, n, &t)) < n) {
			w[at].ahead += still_waiting(o, row, t.member);
			if (t.member + 1 == end)
				break;
			turn_next(o, &t);
		}
	}
}

/* Returns, by row, the last member that gets a position because it is the first
 * waiting job or has a promise; SNAP_NONE if there is none. */
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

/* List the waiting members that come after those of last_listed(), at most
 * LINE_ROW of each row. */
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
		     i++) {
			struct queued *it;

			if (!still_waiting(o, row, last[row] + i))
				continue;
			it = arena_push(arena, queued, sizeof(*it));
			*it = (struct queued){ row, last[row] + i, 0 };
		}
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

		if (m == SNAP_NONE)
			continue;
		make_queued_row(o, row, m, &verdict[row].position, NULL, &w[n]);
		n++;
	}
	nfirst = n;
	for (size_t i = 0; i < promised->n; i++, n++)
		make_queued_row(o, p[i].row, p[i].member, &p[i].position, NULL,
		                &w[n]);
	for (size_t i = 0; i < queued->n; i++, n++)
		make_queued_row(o, q[i].row, q[i].member, &q[i].position,
		                i ? &w[n - 1] : NULL, &w[n]);
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
