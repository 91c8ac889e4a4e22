/* order_queues.c - which queue is served next */
#include "aischedd/sched/order_queues.h"

#include <string.h>

#include "aischedd/sched/admit.h"
#include "aischedd/sched/share.h"
#include "libcommon/heap.h"

/* --- shares ------------------------------------------------------------ */

static bool rations(const struct snap *s, uint32_t queue)
{
	for (int r = 0; r < RES_N; r++) {
		if (s->queue.quota[queue][r] != CONF_NONE)
			return true;
	}
	return false;
}

/* Set ret[q] to 1 for each queue that has a quota or is below a queue that has
 * one: only the demand of these queues affects shares. */
static void find_rationed(const struct snap *s, uint8_t *ret)
{
	for (uint32_t q = 0; q < s->queue.n; q++) {
		uint32_t parent = s->queue.parent[q];

		ret[q] = rations(s, q) || (parent != SNAP_NONE && ret[parent]);
	}
}

static void ask_pending(struct order_queues *t, uint32_t row,
                        struct fit_empty *empty)
{
	const struct snap *s = t->snap;
	uint32_t req = s->pend.req[row];
	int64_t *sum = t->ask[s->pend.queue[row]], tasks;
	struct verdict v;

	if (s->pend.resumes[row] != SNAP_NONE ||
	    admit_ever(s, row, &v) != WHY_None ||
	    !fit_empty_holds(empty, row, &v))
		return;
	tasks = (int64_t)t->order->ready[row] * s->req.tasks[req];
	sum[RES_CPU] += tasks * s->req.cpus[req];
	sum[RES_MEM] += tasks * s->req.mem[req];
	sum[RES_GPU] += tasks * s->req.gpus[req];
}

/* Sum up the demand of all queues and compute their fair shares. The demand of
 * evicted jobs is included, because they will start again. */
static void divide(struct order_queues *t, const struct tally *tally,
                   struct fit_empty *empty, struct arena *arena)
{
	const struct snap *s = t->snap;
	uint8_t *rationed = arena_array(arena, uint8_t, s->queue.n);

	find_rationed(s, rationed);
	for (uint32_t q = 0; q < s->queue.n; q++) {
		if (rationed[q])
			memcpy(t->ask[q], tally->queue[q].ask,
			       sizeof(t->ask[q]));
	}
	for (uint32_t row = 0; row < s->pend.n; row++) {
		if (rationed[s->pend.queue[row]])
			ask_pending(t, row, empty);
	}
	share_divide(&s->queue, t->ask, t->capacity, t->share, arena);
}

/* --- the queue to be served next ---------------------------------------- */

/* Returns the sign of a - b. A ratio with share 0 is above all others. */
static int ratio_cmp(const struct ratio *a, const struct ratio *b)
{
	__int128 x = (__int128)a->use * b->share;
	__int128 y = (__int128)b->use * a->share;

	if (!a->share || !b->share)
		return !a->share - !b->share;
	return (x > y) - (x < y);
}

/* Returns the amount of a resource with which a queue's use is compared: its
 * fair share or, if the queue has no quota for any resource, its limit or the
 * capacity. CONF_NONE: not compared. With `quota`, returns at least the quota,
 * even if the queue asks for less. */
static int64_t own_of(const struct order_queues *t, uint32_t queue, int r,
                      bool quota)
{
	const struct snap_queues *q = &t->snap->queue;
	int64_t share = t->share[queue][r], most = q->limit[queue][r];

	if (!rations(t->snap, queue))
		return most == CONF_NONE ? t->capacity[r] : most;
	if (share == CONF_NONE || !quota || q->quota[queue][r] <= share)
		return share;
	return most == CONF_NONE || most > q->quota[queue][r]
	           ? q->quota[queue][r]
	           : most;
}

/* Returns the largest ratio of use to share of any resource, either at present
 * (next NULL) or after these amounts are added. */
static struct ratio ratio_of(const struct order_queues *t, uint32_t queue,
                             const int64_t *next)
{
	struct ratio most = { 0, 1 };
	bool rationed = rations(t->snap, queue);

	for (int r = 0; r < RES_N; r++) {
		struct ratio one = { t->work->used[queue][r],
			             own_of(t, queue, r, next) };

		if (one.share == CONF_NONE)
			continue;
		if (next)
			one.use += next[r];
		if (!one.use && (!rationed || !t->ask[queue][r]))
			continue;
		if (!one.use && !one.share)
			/* a share of 0 counts as used up */
			one = (struct ratio){ 1, 1 };
		if (ratio_cmp(&one, &most) > 0)
			most = one;
	}
	return most;
}

/* Returns the leaf queue that is to be served next, of those below a queue; the
 * queue itself if it is a leaf. */
static uint32_t leaf_of(const struct order_queues *t, uint32_t queue)
{
	while (t->nkids[queue])
		queue = t->kid[t->kid_first[queue]];
	return queue;
}

/* Whether the next claim of a queue keeps the queue within its share, or has
 * waited too long. If neither, the queue comes last, because other queues might
 * reclaim at once what it gets. */
static bool stays_within(const struct order_queues *t, uint32_t queue)
{
	return t->next[queue].use <= t->next[queue].share ||
	       order_is_due(t->order, leaf_of(t, queue));
}

static bool before(const struct order_queues *t, uint32_t a, uint32_t b)
{
	const int64_t *priority = t->snap->queue.priority;
	int cmp = stays_within(t, b) - stays_within(t, a);

	if (!cmp)
		cmp = ratio_cmp(&t->far[a], &t->far[b]);
	if (cmp)
		return cmp < 0;
	if (priority[a] != priority[b])
		return priority[a] > priority[b];
	cmp = order_is_due(t->order, leaf_of(t, b)) -
	      order_is_due(t->order, leaf_of(t, a));
	if (!cmp)
		cmp = ratio_cmp(&t->next[a], &t->next[b]);
	if (cmp)
		return cmp < 0;
	cmp = order_compare(t->order, leaf_of(t, a), leaf_of(t, b));
	return cmp ? cmp < 0 : a < b;
}

/* A heap of a queue's children; each child knows its index in the heap. */
struct siblings {
	struct order_queues *t;
	uint32_t *heap;
};

static void put(struct siblings of, size_t i, uint32_t queue)
{
	of.heap[i] = queue;
	of.t->at[queue] = (uint32_t)i;
}

#define AT(of, i)        ((of).heap[i])
#define BEFORE(of, a, b) before((of).t, a, b)
HEAP(siblings, uint32_t, struct siblings, AT, BEFORE, put)

static bool has_claim(const struct order_queues *t, uint32_t queue)
{
	return t->nkids[queue] || order_has(t->order, queue);
}

/* Compute the ratios of use to share of a queue, now and with its next claim.
 */
static void measure(struct order_queues *t, uint32_t queue)
{
	int64_t next[RES_N];

	t->far[queue] = t->next[queue] = ratio_of(t, queue, NULL);
	if (!has_claim(t, queue))
		return;
	order_next(t->order, leaf_of(t, queue), next);
	t->next[queue] = ratio_of(t, queue, next);
}

/* Compute the ratios of a queue again, then insert, move or remove it in its
 * parent's heap. */
static void settle(struct order_queues *t, uint32_t queue)
{
	uint32_t parent = t->snap->queue.parent[queue], *n, at;
	struct siblings of = { .t = t };

	if (parent == SNAP_NONE)
		parent = t->snap->queue.n;
	of.heap = t->kid + t->kid_first[parent];
	n = &t->nkids[parent];
	measure(t, queue);
	if (t->at[queue] == SNAP_NONE) {
		if (has_claim(t, queue))
			siblings_rise(of, (*n)++, queue);
		return;
	}
	at = t->at[queue];
	if (!has_claim(t, queue)) {
		t->at[queue] = SNAP_NONE;
		if (at == --*n)
			return;
		queue = of.heap[*n];
	}
	siblings_rise(of, at, queue);
	siblings_sink(of, *n, t->at[queue], queue);
}

void order_queues_update(struct order_queues *t, uint32_t queue)
{
	for (; queue != SNAP_NONE; queue = t->snap->queue.parent[queue])
		settle(t, queue);
}

bool order_queues_first(const struct order_queues *t, uint32_t *ret_queue)
{
	uint32_t root = t->snap->queue.n;

	if (!t->nkids[root])
		return false;
	*ret_queue = leaf_of(t, root);
	return true;
}

struct order_queues *order_queues_new(const struct tally *tally,
                                      const struct work *work,
                                      const struct row_order *order,
                                      struct fit_empty *empty,
                                      const int64_t capacity[RES_N],
                                      struct arena *arena)
{
	struct order_queues *t = arena_array(arena, struct order_queues, 1);
	const struct snap *s = work->snap;
	uint32_t n = s->queue.n, *count;

	t->snap = s;
	t->work = work;
	t->order = order;
	t->ask = arena_alloc(arena, n, sizeof(*t->ask));
	t->share = arena_alloc(arena, n, sizeof(*t->share));
	t->capacity = capacity;
	divide(t, tally, empty, arena);

	t->far = arena_array(arena, struct ratio, n);
	t->next = arena_array(arena, struct ratio, n);
	t->kid = arena_array(arena, uint32_t, n);
	t->kid_first = arena_array(arena, uint32_t, n + 2);
	t->nkids = arena_array(arena, uint32_t, n + 1);
	t->at = arena_array(arena, uint32_t, n);
	count = t->kid_first + 1;
	for (uint32_t q = 0; q < n; q++) {
		uint32_t parent = s->queue.parent[q];

		t->at[q] = SNAP_NONE;
		count[parent == SNAP_NONE ? n : parent]++;
	}
	for (uint32_t q = 0; q <= n; q++)
		count[q] += t->kid_first[q];
	/* Children have higher indices than their parents: go backwards to
	 * settle them first. */
	for (uint32_t q = n; q-- > 0;)
		settle(t, q);
	return t;
}
