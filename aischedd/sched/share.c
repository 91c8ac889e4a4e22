/* share.c - fair-share division: the part of the cluster that each queue may
 * use */
#include "aischedd/sched/share.h"

#include <stdlib.h>

/* Shares are multiples of whole GPUs, thousandths of a CPU, or MiB. */
static const int64_t unit[RES_N] = {
	[RES_CPU] = 1, [RES_MEM] = 1, [RES_GPU] = 1000
};

/* A queue that shares one resource with its siblings. */
struct share_claim {
	uint32_t queue;
	int64_t priority, weight;
	int64_t need;  /* still needed */
	int64_t share; /* given so far */
	/* the remainder after rounding down; all remainders have
	 * the same denominator */
	__int128 rest;
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t within(int64_t ask, int64_t limit)
{
	return limit == CONF_NONE ? ask : least(ask, limit);
}

static void give(struct share_claim *c, int64_t amount, int64_t *left)
{
	c->share += amount;
	c->need -= amount;
	*left -= amount;
}

static int by_priority(const void *a, const void *b)
{
	const struct share_claim *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return x->queue < y->queue ? -1 : 1;
}

static int by_rest(const void *a, const void *b)
{
	const struct share_claim *x = a, *y = b;

	if (x->rest != y->rest)
		return x->rest > y->rest ? -1 : 1;
	return x->queue < y->queue ? -1 : 1;
}

/* Move to the front the claims that have a weight and still need something.
 * Returns how many there are; *ret_weight is the sum of their weights. */
static size_t needy(struct share_claim *c, size_t n, int64_t *ret_weight)
{
	size_t k = 0;

	*ret_weight = 0;
	for (size_t i = 0; i < n; i++) {
		struct share_claim claim = c[i];

		if (claim.need <= 0 || claim.weight <= 0)
			continue;
		c[i] = c[k];
		c[k++] = claim;
		*ret_weight += claim.weight;
	}
	return k;
}

/* Divide *left among claims of one priority, in proportion to their weights. */
static void by_weight(struct share_claim *c, size_t n, int64_t one,
                      int64_t *left)
{
	int64_t weight, whole;
	bool again;
	size_t k;

	/* Claims that need at most their part get what they need. This makes
	 * the parts of the other claims larger, so repeat the division until no
	 * claim is satisfied by its part. */
	do {
		k = needy(c, n, &weight);
		whole = *left;
		again = false;
		for (size_t i = 0; i < k; i++) {
			if ((__int128)c[i].need * weight >
			    (__int128)whole * c[i].weight)
				continue;
			give(&c[i], c[i].need, left);
			again = true;
		}
	} while (again);
	if (!k)
		return;
	for (size_t i = 0; i < k; i++) {
		__int128 part = (__int128)whole * c[i].weight;
		__int128 step = (__int128)weight * one;

		c[i].rest = part % step;
		give(&c[i], (int64_t)(part / step) * one, left);
	}
	qsort(c, k, sizeof(*c), by_rest);
	for (size_t i = 0; i < k && *left >= one; i++)
		give(&c[i], least(one, c[i].need), left);
}

/* Divide the total among siblings: first the quotas, then the rest by priority
 * and weight. */
static void divide(struct share_claim *c, size_t n, int64_t total, int64_t one,
                   const struct snap_queues *queue, enum resource r)
{
	int64_t left = total;

	for (size_t i = 0; i < n; i++)
		give(&c[i], least(c[i].need, queue->quota[c[i].queue][r]),
		     &left);
	qsort(c, n, sizeof(*c), by_priority);
	for (size_t i = 0, k; i < n && left > 0; i += k) {
		for (k = 1; i + k < n && c[i + k].priority == c[i].priority;)
			k++;
		by_weight(c + i, k, one, &left);
	}
}

static void divide_resource(const struct snap_queues *queue,
                            int64_t (*ask)[RES_N], enum resource r,
                            int64_t capacity, int64_t (*ret)[RES_N],
                            struct share_claim *c)
{
	/* Begin with the queues whose parent is the root (SNAP_NONE). */
	for (uint32_t p = SNAP_NONE, next = 0; p == SNAP_NONE || p < queue->n;
	     p = next++) {
		int64_t total = capacity;
		size_t n = 0;

		if (p != SNAP_NONE)
			total = ret[p][r] != CONF_NONE
			            ? ret[p][r]
			            : within(capacity, queue->limit[p][r]);
		for (uint32_t q = p == SNAP_NONE ? 0 : p + 1; q < queue->n; q++)
			if (queue->parent[q] == p &&
			    queue->quota[q][r] != CONF_NONE)
				c[n++] = (struct share_claim){
					.queue = q,
					.priority = queue->priority[q],
					.weight = queue->weight[q],
					.need = ask[q][r],
				};
		divide(c, n, total, unit[r], queue, r);
		for (size_t i = 0; i < n; i++)
			ret[c[i].queue][r] = c[i].share;
	}
}

void share_divide(const struct snap_queues *queue, int64_t (*ask)[RES_N],
                  const int64_t capacity[RES_N], int64_t (*ret)[RES_N],
                  struct arena *arena)
{
	struct share_claim *c =
	    arena_array(arena, struct share_claim, queue->n + 1);

	/* Children have higher indices than their parents. */
	for (uint32_t q = queue->n; q-- > 0;)
		for (int r = 0; r < RES_N; r++) {
			ask[q][r] = within(ask[q][r], queue->limit[q][r]);
			if (queue->parent[q] != SNAP_NONE)
				ask[queue->parent[q]][r] += ask[q][r];
			ret[q][r] = CONF_NONE;
		}
	for (int r = 0; r < RES_N; r++)
		divide_resource(queue, ask, (enum resource)r, capacity[r], ret,
		                c);
}
