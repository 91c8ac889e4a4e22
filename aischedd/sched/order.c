/* order.c - the order in which jobs of a queue are served */
#include "aischedd/sched/order.h"

#include <string.h>

#include <assert.h>
#include <stdlib.h>

#include "aischedd/sched/order_service.h"
#include "libcommon/heap.h"

/* A score higher than any that points can give. */
static const int64_t boost = (int64_t)1 << 60;

/* --- scores ------------------------------------------------------------ */

static int64_t waited(const struct row_order *o, uint32_t member)
{
	return o->snap->now - o->snap->member[member].since;
}

static bool is_overdue(const struct row_order *o, uint32_t row, uint32_t member)
{
	return o->overdue[row] != CONF_NONE &&
	       waited(o, member) >= o->overdue[row];
}

/* All overdue jobs get the same key, so they are served in the order of
 * submission. */
struct order_key order_key(const struct row_order *o, uint32_t row,
                           uint32_t member)
{
	int64_t age = order_score_age(&o->snap->policy, waited(o, member));

	if (is_overdue(o, row, member))
		return (struct order_key){ boost, 0 };
	return (struct order_key){ o->base[row] + age, o->rank[row] };
}

static void judge_row(struct row_order *o, uint32_t row,
                      const int64_t capacity[RES_N])
{
	const struct snap *s = o->snap;
	uint32_t req = s->pend.req[row];
	const int64_t tasks = s->req.tasks[req];
	const int64_t ask[RES_N] = { tasks * s->req.cpus[req],
		                     tasks * s->req.mem[req],
		                     tasks * s->req.gpus[req] };
	struct order_score score =
	    order_score_make(&s->policy, s->pend.priority[row], 0, ask,
	                     capacity, s->pend.light[row]);
	int64_t length = s->req.time_limit[req];

	if (length == SNAP_NEVER)
		length = s->queue.assumed_time[s->pend.queue[row]];
	o->base[row] = order_score_sum(&score);
	o->rank[row] =
	    order_rung_counts(s->policy.order)
		? order_rung_rank(s, row)
		: order_score_rank(&s->policy, length, ask, capacity);
	o->hold[row] = order_score_hold(s, s->pend.queue[row]);
	o->overdue[row] = order_score_overdue_in(s, s->pend.queue[row]);
	if (order_score_yields(s, s->pend.queue[row], s->pend.light[row]))
		o->overdue[row] = CONF_NONE;
}

/* --- heaps ------------------------------------------------------------- */

static uint64_t next_job(const struct row_order *o, uint32_t row)
{
	return o->snap->member[o->next[row]].job;
}

static int compare_rows(const struct row_order *o, uint32_t a, uint32_t b)
{
	int cmp = order_key_cmp(&o->key[a], &o->key[b]);

	if (cmp)
		return cmp;
	if (next_job(o, a) != next_job(o, b))
		return next_job(o, a) < next_job(o, b) ? -1 : 1;
	return a < b ? -1 : a > b;
}

struct grower {
	uint64_t job;
	int64_t priority;
	uint32_t req, tasks;
	struct order_elastic *elastic; /* NULL if it is a running job */
};

static struct grower grower(const struct row_order *o, uint32_t i)
{
	const struct snap *s = o->snap;
	struct order_elastic *e = o->elastic.p;

	if (i < s->run.n)
		return (struct grower){ .job = s->run.job[i],
			                .priority = s->run.priority[i],
			                .req = s->run.req[i],
			                .tasks = order_tasks(o, i) };
	e += i - s->run.n;
	return (struct grower){ .job = s->member[e->member].job,
		                .priority = s->pend.priority[e->row],
		                .req = s->pend.req[e->row],
		                .tasks = e->ntasks,
		                .elastic = e };
}

static int compare_growers(const struct row_order *o, uint32_t a, uint32_t b)
{
	const struct snap *s = o->snap;
	struct grower x = grower(o, a), y = grower(o, b);
	int64_t more_x = (int64_t)x.tasks - s->req.min_tasks[x.req];
	int64_t more_y = (int64_t)y.tasks - s->req.min_tasks[y.req];

	if (more_x != more_y)
		return more_x < more_y ? -1 : 1;
	if (x.priority != y.priority)
		return x.priority > y.priority ? -1 : 1;
	if (x.job != y.job)
		return x.job < y.job ? -1 : 1;
	return (a > b) - (a < b); /* equal only for two tasks of one array */
}

/* Whether the queue's next claim is for a run that has fewer tasks than its
 * minimum, because a node failed. Such a claim goes before all rows: until the
 * run has its minimum again, its other tasks hold nodes and may be idle. */
static bool is_missed(const struct row_order *o, uint32_t queue)
{
	const struct order_heap *h = &o->growers[queue];
	struct grower it;

	if (!h->n)
		return false;
	it = grower(o, h->at[0]);
	return it.tasks < o->snap->req.min_tasks[it.req];
}

struct ordered {
	const struct row_order *o;
	uint32_t *at;
};

#define AT(of, i)               ((of).at[i])
#define PUT(of, i, item)        ((of).at[i] = (item))
#define ROW_BEFORE(of, a, b)    (compare_rows((of).o, a, b) < 0)
#define GROWER_BEFORE(of, a, b) (compare_growers((of).o, a, b) < 0)
HEAP(rows, uint32_t, struct ordered, AT, ROW_BEFORE, PUT)
HEAP(growers, uint32_t, struct ordered, AT, GROWER_BEFORE, PUT)

static void sink_row(const struct row_order *o, struct order_heap *h,
                     uint32_t i, uint32_t row)
{
	rows_sink((struct ordered){ o, h->at }, h->n, i, row);
}

static void drop_row(const struct row_order *o, struct order_heap *h)
{
	h->n--;
	sink_row(o, h, 0, h->at[h->n]);
}

static void sink_grower(const struct row_order *o, struct order_heap *h,
                        uint32_t i, uint32_t it)
{
	growers_sink((struct ordered){ o, h->at }, h->n, i, it);
}

/* Append an entry to the heap of jobs that may grow. The caller then moves the
 * entry to its place in the heap. */
static void push_grower(struct row_order *o, struct order_heap *h, uint32_t it)
{
	if (h->n == h->cap) {
		uint32_t *old = h->at;

		h->cap = h->cap ? 2 * h->cap : 8;
		h->at = arena_array_raw(o->arena, uint32_t, h->cap);
		if (h->n)
			memcpy(h->at, old, h->n * sizeof(*old));
	}
	h->at[h->n++] = it;
}

static void drop_grower(const struct row_order *o, struct order_heap *h)
{
	h->n--;
	sink_grower(o, h, 0, h->at[h->n]);
}

/* --- rows -------------------------------------------------------------- */

bool order_waits_for_array(const struct row_order *o, uint32_t row)
{
	const struct snap *s = o->snap;
	uint32_t array = s->pend.array[row];

	return array != SNAP_NONE && s->pend.resumes[row] == SNAP_NONE &&
	       (o->in_array[array] >= s->array.limit[array] ||
	        o->begun[row] >= order_may_start(&s->member[o->next[row]]));
}

/* Move on to the row's next job that may start or, as it has a turn for its
 * promise, that waits for its array. Returns false if there is none. */
static bool advance(struct row_order *o, uint32_t row)
{
	uint32_t end = o->snap->pend.member_first[row + 1];

	while (o->next[row] < end) {
		const struct snap_member *m = &o->snap->member[o->next[row]];
		bool is_left = o->begun[row] < m->count;
		bool waits = is_left && order_waits_for_array(o, row);

		if (is_left && (waits || o->begun[row] >= order_may_start(m)) &&
		    o->limited[row] == SNAP_NONE)
			o->limited[row] = o->next[row];
		if (waits || o->begun[row] < order_may_start(m)) {
			o->key[row] = order_key(o, row, o->next[row]);
			return true;
		}
		o->next[row]++;
		o->begun[row] = 0;
	}
	return false;
}

static void next_of_row(struct row_order *o, uint32_t queue)
{
	struct order_heap *h = &o->rows[queue];
	uint32_t row = h->at[0];

	o->begun[row]++;
	if (advance(o, row))
		sink_row(o, h, 0, h->at[0]);
	else
		drop_row(o, h);
}

void order_started(struct row_order *o, uint32_t queue)
{
	o->started[o->rows[queue].at[0]]++;
	next_of_row(o, queue);
}

void order_claimed(struct row_order *o, uint32_t queue)
{
	o->claimed[o->rows[queue].at[0]]++;
	next_of_row(o, queue);
}

void order_promised(struct row_order *o, uint32_t queue)
{
	uint32_t row = o->rows[queue].at[0];

	if (o->first[row] == SNAP_NONE) {
		o->first[row] = o->next[row];
		o->first_begun[row] = o->begun[row];
	}
	next_of_row(o, queue);
}

void order_grown(struct row_order *o, uint32_t queue, uint32_t tasks)
{
	struct order_heap *h = &o->growers[queue];
	struct grower it = grower(o, h->at[0]);

	if (it.elastic)
		it.elastic->ntasks += tasks;
	else
		o->grown[h->at[0]] += tasks;
	if (it.tasks + tasks < o->snap->req.tasks[it.req])
		sink_grower(o, h, 0, h->at[0]);
	else
		drop_grower(o, h);
}

void order_add_elastic(struct row_order *o, const struct order_elastic *e)
{
	struct order_heap *h = &o->growers[o->snap->pend.queue[e->row]];
	uint32_t it = o->snap->run.n + (uint32_t)o->elastic.n;

	*(struct order_elastic *)arena_push(o->arena, &o->elastic, sizeof(*e)) =
	    *e;
	push_grower(o, h, it);
	growers_rise((struct ordered){ o, h->at }, h->n - 1, it);
}

void order_drop(struct row_order *o, uint32_t queue)
{
	if (o->rows[queue].n && !is_missed(o, queue))
		drop_row(o, &o->rows[queue]);
	else
		drop_grower(o, &o->growers[queue]);
}

bool order_has(const struct row_order *o, uint32_t queue)
{
	return o->rows[queue].n || o->growers[queue].n;
}

struct turn order_first(const struct row_order *o, uint32_t queue)
{
	uint32_t it;

	if (o->rows[queue].n && !is_missed(o, queue))
		return (struct turn){ .row = o->rows[queue].at[0],
			              .run = SNAP_NONE };
	it = o->growers[queue].at[0];
	return (struct turn){ .row = SNAP_NONE,
		              .run = it < o->snap->run.n ? it : SNAP_NONE,
		              .elastic = grower(o, it).elastic };
}

void order_next(const struct row_order *o, uint32_t queue, int64_t ret[RES_N])
{
	const struct snap *s = o->snap;
	const struct order_heap *rows = &o->rows[queue];
	bool row = rows->n && !is_missed(o, queue);
	uint32_t req = row ? s->pend.req[rows->at[0]]
	                   : grower(o, o->growers[queue].at[0]).req;
	int64_t tasks = row ? s->req.min_tasks[req] : 1;

	ret[RES_CPU] = tasks * s->req.cpus[req];
	ret[RES_MEM] = tasks * s->req.mem[req];
	ret[RES_GPU] = tasks * s->req.gpus[req];
}

bool order_is_due(const struct row_order *o, uint32_t queue)
{
	const struct order_heap *h = &o->rows[queue];

	return h->n && !is_missed(o, queue) && o->hold[h->at[0]] != CONF_NONE &&
	       waited(o, o->next[h->at[0]]) >= o->hold[h->at[0]];
}

int order_compare(const struct row_order *o, uint32_t a, uint32_t b)
{
	bool missed_a = is_missed(o, a), missed_b = is_missed(o, b);

	if (missed_a && missed_b)
		return compare_growers(o, o->growers[a].at[0],
		                       o->growers[b].at[0]);
	if (missed_a || missed_b)
		return missed_a ? -1 : 1;
	if (!o->rows[a].n || !o->rows[b].n)
		return !o->rows[a].n - !o->rows[b].n;
	return compare_rows(o, o->rows[a].at[0], o->rows[b].at[0]);
}

/* Whether the row gets a turn. A row that an earlier pass has judged gets one
 * only if it may hold other rows back or has a promised start. */
static bool has_turn(const struct row_order *o, uint32_t row)
{
	switch (o->snap->pend.judged[row]) {
	case JUDGED_WAITS:
		return false;
	case JUDGED_BLOCKED:
		return !o->snap->policy.backfill || o->hold[row] != CONF_NONE;
	default:
		return true;
	}
}

void order_open(struct row_order *o)
{
	const struct snap *s = o->snap;

	for (uint32_t row = 0; row < s->pend.n; row++) {
		struct order_heap *h = &o->rows[s->pend.queue[row]];

		if (advance(o, row) && has_turn(o, row))
			h->at[h->n++] = row;
	}
	for (uint32_t run = 0; o->grows && run < s->run.n; run++) {
		struct order_heap *h = &o->growers[s->run.queue[run]];

		if (tally_may_grow(s, run) &&
		    order_tasks(o, run) < s->req.tasks[s->run.req[run]])
			push_grower(o, h, run);
	}
	for (uint32_t q = 0; q < s->queue.n; q++) {
		for (uint32_t i = o->rows[q].n / 2; i-- > 0;)
			sink_row(o, &o->rows[q], i, o->rows[q].at[i]);
		for (uint32_t i = o->growers[q].n / 2; i-- > 0;)
			sink_grower(o, &o->growers[q], i, o->growers[q].at[i]);
	}
}

/* Allocate the heaps of all queues as one array. On entry, the member n of each
 * heap is its capacity. */
static void heaps_alloc(struct order_heap *h, uint32_t nqueues,
                        struct arena *arena)
{
	uint32_t *at, n = 0;

	for (uint32_t q = 0; q < nqueues; q++)
		n += h[q].n;
	at = arena_array_raw(arena, uint32_t, n);
	for (uint32_t q = 0; q < nqueues; q++) {
		h[q].at = at;
		h[q].cap = h[q].n;
		at += h[q].n;
		h[q].n = 0;
	}
}

static void heaps_new(struct row_order *o, const struct tally *tally,
                      struct arena *arena)
{
	const struct snap *s = o->snap;

	o->rows = arena_array(arena, struct order_heap, s->queue.n);
	o->growers = arena_array(arena, struct order_heap, s->queue.n);
	for (uint32_t row = 0; row < s->pend.n; row++)
		o->rows[s->pend.queue[row]].n++;
	for (uint32_t q = 0; q < s->queue.n; q++)
		o->growers[q].n = tally->queue[q].growers;
	heaps_alloc(o->rows, s->queue.n, arena);
	heaps_alloc(o->growers, s->queue.n, arena);
	o->grows = tally->growers;
}

static void count_ready(struct row_order *o, uint32_t row)
{
	const struct snap *s = o->snap;
	uint64_t ready = 0;

	for (uint32_t m = s->pend.member_first[row];
	     m < s->pend.member_first[row + 1]; m++)
		ready += order_may_start(&s->member[m]);
	o->ready[row] = ready;
}

struct row_order *order_new(const struct snap *s, const struct tally *tally,
                            const int64_t capacity[RES_N], struct arena *arena)
{
	struct row_order *o = arena_array(arena, struct row_order, 1);
	uint32_t n = s->pend.n;

	o->snap = s;
	o->arena = arena;
	heaps_new(o, tally, arena);
	o->base = arena_array(arena, int64_t, n);
	o->rank = arena_array(arena, int64_t, n);
	o->key = arena_array_raw(arena, struct order_key, n);
	o->next = arena_array(arena, uint32_t, n);
	o->begun = arena_array(arena, uint32_t, n);
	o->started = arena_array(arena, uint32_t, n);
	o->claimed = arena_array(arena, uint32_t, n);
	o->limited = arena_array(arena, uint32_t, n);
	o->first = arena_array(arena, uint32_t, n);
	o->first_begun = arena_array(arena, uint32_t, n);
	o->hold = arena_array(arena, int64_t, n);
	o->overdue = arena_array(arena, int64_t, n);
	o->grown = arena_array(arena, uint32_t, s->run.n);
	o->in_array = arena_array(arena, uint32_t, s->array.n);
	for (uint32_t i = 0; s->array.n && i < s->run.n; i++) {
		if (s->run.array[i] != SNAP_NONE && !snap_is_part(s, i))
			o->in_array[s->run.array[i]]++;
	}
	o->ready = arena_array(arena, uint64_t, n);
	for (uint32_t i = 0; i < n; i++) {
		judge_row(o, i, capacity);
		count_ready(o, i);
		o->next[i] = s->pend.member_first[i];
		o->limited[i] = o->first[i] = SNAP_NONE;
	}
	return o;
}

uint32_t order_waiting(const struct row_order *o, uint32_t row)
{
	if (o->first[row] != SNAP_NONE)
		return o->first[row];
	if (o->next[row] < o->snap->pend.member_first[row + 1])
		return o->next[row];
	return o->limited[row];
}
