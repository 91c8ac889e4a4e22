/* nodes.c - which nodes could be the first with enough free resources */
#include "aischedd/sched/future/nodes.h"
#include "libcommon/heap.h"

/* The amounts of a resource are divided into levels. These begin at 0, above 0,
 * at 1, 2, ..., 8 units, and then at 12, 16, 24, 32, ... units. */
enum { LEVELS = 64, UNIT = 1000, EACH_UP_TO = 8 };

/* Sort keys hold the seconds from now and the node. Times that do not fit are
 * clamped to this maximum. */
#define LATEST ((int64_t)UINT32_MAX - 1)

struct future_nodes_order {
	uint32_t n, nsorted, nheap;
	/* The first nsorted keys are sorted. After them, up to index nheap,
	 * comes a heap whose root is its last element; then, in any order, come
	 * keys that are larger than all of these. */
	uint64_t *key;
	const uint32_t *in;
};

/* guess_early() looks at about SAMPLE keys, and returns the FIRST-th lowest of
 * them. */
enum { SAMPLE = 64, FIRST = 4 };

/* The times at which nodes have amounts of one resource free. */
struct supply {
	const int64_t *have; /* by node: free now */
	/* By level and node: 1 + seconds until the node has that much free; 0:
	 * it never has. */
	uint32_t *in[LEVELS];
	struct future_nodes_order *order[LEVELS];
};

struct future_nodes {
	const struct snap *s;
	const struct future_runs *stays;
	struct arena *arena;
	int64_t least[LEVELS];        /* by level: the lowest amount of the
	                                 level */
	struct supply *supply[RES_N]; /* made when first asked for */
	/* by node: 1 if future_nodes_early() was called for it */
	uint8_t *is_early;
	struct arena_list early;
};

struct future_nodes *future_nodes_new(const struct snap *s,
                                      const struct future_runs *stays,
                                      struct arena *arena)
{
	struct future_nodes *soon = arena_array(arena, struct future_nodes, 1);

	soon->s = s;
	soon->stays = stays;
	soon->arena = arena;
	soon->is_early = arena_array(arena, uint8_t, s->node.n);
	soon->least[1] = 1;
	for (int i = 2; i < LEVELS; i++) {
		if (i - 1 <= EACH_UP_TO)
			soon->least[i] = (i - 1) * UNIT;
		else
			soon->least[i] = i % 2 ? soon->least[i - 1] / 3 * 4
			                       : soon->least[i - 1] / 2 * 3;
	}
	return soon;
}

void future_nodes_early(struct future_nodes *soon, uint32_t node)
{
	if (soon->is_early[node])
		return;
	soon->is_early[node] = 1;
	*(uint32_t *)arena_push(soon->arena, &soon->early, sizeof(uint32_t)) =
	    node;
}

static const int64_t *gpus_free(const struct snap *s, struct arena *arena)
{
	int64_t *have = arena_array_raw(arena, int64_t, s->node.n);
	uint32_t d = 0;

	for (uint32_t i = 0; i < s->node.n; i++) {
		have[i] = 0;
		for (; d < s->node.gpu_first[i + 1]; d++)
			have[i] += s->gpu.free[d];
	}
	return have;
}

/* Set sup->in of a node: in how many seconds it has each level free, if all
 * jobs end on time and none starts. each: by request, what one task holds. */
static void find_times(struct future_nodes *soon, struct supply *sup,
                       const int64_t *each, uint32_t node)
{
	const struct future_runs *st = soon->stays;
	const uint32_t *req = soon->s->run.req;
	int64_t have = sup->have[node], now = soon->s->now;
	int64_t at = now, retry = soon->s->node.retry_at[node];
	uint32_t i = st->first[node], end = st->first[node + 1];

	if (retry > now)
		at = retry;
	for (int level = 0; level < LEVELS; level++) {
		for (; have < soon->least[level]; i++) {
			if (i == end || st->stay[i].end == SNAP_NEVER)
				return;
			if (st->stay[i].end > at)
				at = st->stay[i].end;
			have += each[req[st->stay[i].run]];
		}
		if (!sup->in[level])
			sup->in[level] =
			    arena_array(soon->arena, uint32_t, soon->s->node.n);
		sup->in[level][node] =
		    (uint32_t)(at - now < LATEST ? at - now : LATEST) + 1;
	}
}

static struct supply *supply_new(struct future_nodes *soon, enum resource res)
{
	const struct snap *s = soon->s;
	struct supply *sup = arena_array(soon->arena, struct supply, 1);
	const int64_t *each = res == RES_CPU   ? s->req.cpus
	                      : res == RES_MEM ? s->req.mem
	                                       : s->req.gpus;

	if (res == RES_CPU)
		sup->have = s->node.cpu_free;
	else if (res == RES_MEM)
		sup->have = s->node.mem_free;
	else
		sup->have = gpus_free(s, soon->arena);
	for (uint32_t i = 0; i < s->node.n; i++)
		find_times(soon, sup, each, i);
	return sup;
}

/* Returns entry i of the heap, 0 for the root. */
static uint64_t *heap_at(const struct future_nodes_order *o, size_t i)
{
	return &o->key[o->nheap - 1 - i];
}

#define AT(o, i)        (*heap_at(o, i))
#define BEFORE(o, a, b) ((a) < (b))
#define PUT(o, i, key)  (*heap_at(o, i) = (key))
HEAP(keys, uint64_t, struct future_nodes_order *, AT, BEFORE, PUT)

static void sink(struct future_nodes_order *o, size_t i, uint64_t key)
{
	keys_sink(o, o->nheap - o->nsorted, i, key);
}

/* Make a heap of the keys that follow the sorted ones, up to index `end`. */
static void make_heap(struct future_nodes_order *o, uint32_t end)
{
	o->nheap = end;
	for (uint32_t i = (end - o->nsorted) / 2; i-- > 0;)
		sink(o, i, *heap_at(o, i));
}

static void sort_next(struct future_nodes_order *o)
{
	uint64_t first, last;

	if (o->nsorted == o->nheap)
		make_heap(o, o->n);
	first = *heap_at(o, 0);
	last = o->key[o->nsorted];
	o->key[o->nsorted++] = first;
	if (o->nsorted < o->nheap)
		sink(o, 0, last);
}

/* Guess a key from a sample, so that about a sixteenth of all keys are
 * below it. */
static uint64_t guess_early(const struct future_nodes_order *o)
{
	uint64_t least[FIRST];
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->n; i += o->n / SAMPLE + 1) {
		uint64_t it = o->key[i];
		uint32_t k = n < FIRST ? n++ : FIRST;

		for (; k && it < least[k - 1]; k--) {
			if (k < FIRST)
				least[k] = least[k - 1];
		}
		if (k < FIRST)
			least[k] = it;
	}
	return n ? least[n - 1] : 0;
}

/* Begin with a heap of only the lowest keys, because most searches look at a
 * few nodes. The other keys are added once all of these are sorted. */
static void put_early_first(struct future_nodes_order *o)
{
	uint64_t bound = guess_early(o);
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->n; i++) {
		uint64_t it = o->key[i];

		o->key[i] = o->key[n];
		o->key[n] = it;
		n += it <= bound;
	}
	make_heap(o, n);
}

static struct future_nodes_order *order_new(struct future_nodes *soon,
                                            const uint32_t *in)
{
	uint32_t n = soon->s->node.n;
	struct future_nodes_order *o =
	    arena_array(soon->arena, struct future_nodes_order, 1);

	o->in = in;
	o->key = arena_array_raw(soon->arena, uint64_t, in ? n : 0);
	for (uint32_t i = 0; in && i < n; i++) {
		if (in[i])
			o->key[o->n++] = (uint64_t)in[i] << 32 | i;
	}
	put_early_first(o);
	return o;
}

struct future_nodes_order *future_nodes_order_for(struct future_nodes *soon,
                                                  enum resource res,
                                                  int64_t amount, bool *ret_new)
{
	struct supply *sup = soon->supply[res];
	int level = 0;

	if (!sup)
		sup = soon->supply[res] = supply_new(soon, res);
	while (level + 1 < LEVELS && soon->least[level + 1] <= amount)
		level++;
	*ret_new = !sup->order[level];
	if (*ret_new)
		sup->order[level] = order_new(soon, sup->in[level]);
	return sup->order[level];
}

static bool is_by(const struct future_nodes *soon, uint32_t in, int64_t by)
{
	return in && in - 1 <= by - soon->s->now;
}

bool future_nodes_get(struct future_nodes *soon, struct future_nodes_order *o,
                      uint32_t i, int64_t by, uint32_t *ret_node)
{
	if (i < soon->early.n) {
		*ret_node = ((uint32_t *)soon->early.p)[i];
		return true;
	}
	i -= (uint32_t)soon->early.n;
	if (i == o->n)
		return false;
	if (i == o->nsorted)
		sort_next(o);
	*ret_node = (uint32_t)o->key[i];
	if (soon->is_early[*ret_node])
		*ret_node = SNAP_NONE;
	return is_by(soon, (uint32_t)(o->key[i] >> 32), by);
}

bool future_nodes_could(const struct future_nodes *soon,
                        const struct future_nodes_order *o, uint32_t node,
                        int64_t by)
{
	return soon->is_early[node] || (o->in && is_by(soon, o->in[node], by));
}
