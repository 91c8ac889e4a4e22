/* place_index.c - nodes in the order in which their pool is filled */
#include "aischedd/sched/place_index.h"

#include <assert.h>
#include <string.h>

#include "aischedd/sched/fit/blocks.h"
#include "aischedd/sched/fit_mig.h"

typedef __int128 wide;

/* An upper bound of index->worth, so that products with it do not overflow. */
static const int64_t WORTH_MOST = (int64_t)1 << 36;

/* A node in its tree. own: its free amounts when it was last refreshed; most:
 * the largest of these amounts in its subtree; key_gpu, then key_cpu: sort keys
 * of the node by the order of its pool; smaller keys come first. */
struct leaf {
	uint32_t kid[2];
	uint32_t rank;    /* a parent has a higher rank than its kids */
	uint32_t changed; /* index->nchanges at its last change */
	int64_t key_gpu, key_cpu;
	int64_t own[DIM_N], most[DIM_N];
};

/* The harms of a node and of its subtree (blocks.h), by number of GPUs
 * less one. */
struct harm {
	uint16_t own[FIT_BLOCKS_GPUS], any[FIT_BLOCKS_GPUS];
};

struct place_index {
	const struct work *work;
	const struct match *match;
	int64_t worth;                /* place_index_worth() */
	struct leaf *leaf;            /* by node */
	struct fit_blocks *blocks;    /* NULL: no node does harm */
	struct harm *harm;            /* by node; NULL, too */
	uint8_t *tree;                /* by node: enum place_tree */
	uint32_t (*root)[NTREES];     /* by class */
	uint32_t (*count)[NTREES];    /* by class */
	int64_t (*sum)[RES_N];        /* by class */
	int64_t (*domain_sum)[RES_N]; /* by domain */
	int64_t (*most)[RES_N];       /* by pool: total of its largest
	                                 node */
	uint64_t *domain_changed;     /* by domain: nchanges at its last
	                                 change */
	uint64_t nchanges;
};

static int64_t shared_part(const struct work *w, uint32_t node)
{
	const uint32_t *first = w->snap->node.gpu_first;
	int64_t most = 0;

	for (uint32_t d = first[node]; d < first[node + 1]; d++) {
		int64_t here = w->device[d];

		if (here == 1000)
			continue;
		if (w->slices && w->slices[d])
			here = fit_mig_most(w, node, d);
		most = here > most ? here : most;
	}
	return most;
}

/* Returns what these CPUs are worth in GPUs, minus these GPUs, in thousandths.
 */
static int64_t excess(int64_t worth, int64_t cpu, int64_t gpu)
{
	return worth ? (cpu * worth >> 20) - gpu : 0;
}

int64_t place_index_balance(const struct place_index *index, int64_t cpu,
                            int64_t gpu)
{
	return excess(index->worth, cpu, gpu);
}

/* Returns how much of a node is free: the mean of its free CPUs and free GPUs,
 * each in percent of the largest node of the pool, rounded up. */
static int64_t free_percent(const struct place_index *index, uint32_t node)
{
	const struct work *w = index->work;
	const int64_t *most = index->most[w->snap->node.pool[node]];
	int64_t all = 2 * most[RES_CPU] * most[RES_GPU];
	int64_t sum =
	    w->cpu[node] * most[RES_GPU] + w->gpu[node] * most[RES_CPU];

	return all ? (100 * sum + all - 1) / all : w->cpu[node];
}

static void read_order(struct place_index *index, uint32_t node)
{
	const struct work *w = index->work;
	struct leaf *l = &index->leaf[node];

	switch (
	    (enum node_order)w->snap->pool.order[w->snap->node.pool[node]]) {
	case ORDER_BEST_FIT:
		l->key_gpu = free_percent(index, node);
		l->key_cpu = 0;
		break;
	case ORDER_SPREAD:
		l->key_gpu = -w->gpu[node];
		l->key_cpu = -w->cpu[node];
		break;
	case ORDER_PACK:
		l->key_gpu = w->gpu[node];
		l->key_cpu = w->cpu[node];
	}
}

static void read_node(struct place_index *index, uint32_t node)
{
	const struct work *w = index->work;
	struct leaf *l = &index->leaf[node];

	read_order(index, node);
	l->own[DIM_CPU] = w->cpu[node];
	l->own[DIM_MEM] = w->mem[node];
	l->own[DIM_TMP] = w->tmp[node];
	l->own[DIM_SLOT] = w->slot[node];
	l->own[DIM_GPU] = w->gpu[node];
	l->own[DIM_WHOLE] = w->whole[node];
	l->own[DIM_PART] =
	    1000 * w->whole[node] == w->gpu[node] ? 0 : shared_part(w, node);
	l->own[DIM_EMPTY] = !w->tasks[node];
	l->own[DIM_MORE_CPU] =
	    place_index_balance(index, w->cpu[node], w->gpu[node]);
	l->own[DIM_MORE_GPU] = -l->own[DIM_MORE_CPU];
	if (index->harm)
		fit_blocks_read(index->blocks, node, index->harm[node].own);
	for (int d = 0; d < DIM_N; d++) {
		/* If an exclusive job has closed the node, set -1, so that
		 * nothing fits. Count other amounts below 0 as 0, so that a
		 * request that needs none of the resource still fits. */
		if (w->sealed[node])
			l->own[d] = -1;
		else if (l->own[d] < 0)
			l->own[d] = 0;
	}
}

static void add_free(int64_t sum[RES_N], const struct leaf *l, int sign)
{
	sum[RES_CPU] += sign * l->own[DIM_CPU];
	sum[RES_MEM] += sign * l->own[DIM_MEM];
	sum[RES_GPU] += sign * l->own[DIM_GPU];
}

/* Add the node's free amounts to the sums of its class and its domains (sign
 * 1), or subtract them (-1). A node that an exclusive job has closed, or
 * that is not there yet, adds nothing. */
static void count_node(struct place_index *index, uint32_t node, int sign)
{
	const struct snap *s = index->work->snap;
	struct leaf *l = &index->leaf[node];

	l->changed = (uint32_t)++index->nchanges;
	if (l->own[DIM_WHOLE] < 0 || s->node.coming[node] != NODE_HERE)
		return;
	add_free(index->sum[match_class_of(index->match, node)], l, sign);
	for (uint32_t d = s->node.domain[node]; d != SNAP_NONE;
	     d = s->domain.parent[d]) {
		add_free(index->domain_sum[d], l, sign);
		index->domain_changed[d] = index->nchanges;
	}
}

bool place_index_before(const struct place_index *index, uint32_t a, uint32_t b)
{
	const struct leaf *x = &index->leaf[a], *y = &index->leaf[b];

	if (x->key_gpu != y->key_gpu)
		return x->key_gpu < y->key_gpu;
	if (x->key_cpu != y->key_cpu)
		return x->key_cpu < y->key_cpu;
	return a < b;
}

static void add_harm(struct harm *to, const uint16_t from[FIT_BLOCKS_GPUS])
{
	for (int i = 0; i < FIT_BLOCKS_GPUS; i++)
		to->any[i] |= from[i];
}

static void pull_harm(struct place_index *index, uint32_t t)
{
	struct harm *harm = &index->harm[t];

	memcpy(harm->any, harm->own, sizeof(harm->any));
	for (int k = 0; k < 2; k++)
		if (index->leaf[t].kid[k] != SNAP_NONE)
			add_harm(harm, index->harm[index->leaf[t].kid[k]].any);
}

static void pull(struct place_index *index, uint32_t t)
{
	struct leaf *l = &index->leaf[t];

	for (int d = 0; d < DIM_N; d++)
		l->most[d] = l->own[d];
	for (int k = 0; k < 2; k++) {
		if (l->kid[k] == SNAP_NONE)
			continue;
		for (int d = 0; d < DIM_N; d++) {
			if (index->leaf[l->kid[k]].most[d] > l->most[d])
				l->most[d] = index->leaf[l->kid[k]].most[d];
		}
	}
	if (index->harm)
		pull_harm(index, t);
}

/* Join two trees into one, and return its root; all nodes of a are before all
 * nodes of b. */
static uint32_t join(struct place_index *index, uint32_t a, uint32_t b)
{
	if (a == SNAP_NONE)
		return b;
	if (b == SNAP_NONE)
		return a;
	if (index->leaf[a].rank > index->leaf[b].rank) {
		index->leaf[a].kid[1] = join(index, index->leaf[a].kid[1], b);
		pull(index, a);
		return a;
	}
	index->leaf[b].kid[0] = join(index, a, index->leaf[b].kid[0]);
	pull(index, b);
	return b;
}

/* Split tree t into the nodes before `node` and the rest. */
static void split(struct place_index *index, uint32_t t, uint32_t node,
                  uint32_t *ret_a, uint32_t *ret_b)
{
	if (t == SNAP_NONE) {
		*ret_a = *ret_b = SNAP_NONE;
		return;
	}
	if (place_index_before(index, t, node)) {
		split(index, index->leaf[t].kid[1], node,
		      &index->leaf[t].kid[1], ret_b);
		*ret_a = t;
	} else {
		split(index, index->leaf[t].kid[0], node, ret_a,
		      &index->leaf[t].kid[0]);
		*ret_b = t;
	}
	pull(index, t);
}

static uint32_t insert(struct place_index *index, uint32_t t, uint32_t node)
{
	struct leaf *l = &index->leaf[node];
	int side;

	if (t == SNAP_NONE || l->rank > index->leaf[t].rank) {
		split(index, t, node, &l->kid[0], &l->kid[1]);
		pull(index, node);
		return node;
	}
	side = place_index_before(index, t, node);
	index->leaf[t].kid[side] =
	    insert(index, index->leaf[t].kid[side], node);
	for (int d = 0; d < DIM_N; d++) {
		if (index->leaf[t].most[d] < l->own[d])
			index->leaf[t].most[d] = l->own[d];
	}
	if (index->harm)
		add_harm(&index->harm[t], index->harm[node].own);
	return t;
}

/* As pull(). Returns whether the amounts and harms of the subtree changed. */
static bool pull_again(struct place_index *index, uint32_t t)
{
	struct harm harm = { 0 };
	int64_t most[DIM_N];

	memcpy(most, index->leaf[t].most, sizeof(most));
	if (index->harm)
		harm = index->harm[t];
	pull(index, t);
	return memcmp(most, index->leaf[t].most, sizeof(most)) ||
	       (index->harm && memcmp(&harm, &index->harm[t], sizeof(harm)));
}

/* Returns whether the amounts and harms of the tree may have changed: if those
 * of a subtree stay, so do those of the trees above it. */
static bool erase(struct place_index *index, uint32_t *root, uint32_t node)
{
	uint32_t t = *root;
	struct leaf *l = &index->leaf[t];

	assert(t != SNAP_NONE);
	if (t == node) {
		*root = join(index, l->kid[0], l->kid[1]);
		return true;
	}
	return erase(index, &l->kid[place_index_before(index, t, node)],
	             node) &&
	       pull_again(index, t);
}

static uint32_t *root_of(struct place_index *index, uint32_t node)
{
	uint32_t class = match_class_of(index->match, node);

	return &index->root[class][index->tree[node]];
}

enum place_tree place_index_tree(const struct place_index *index, uint32_t node)
{
	return index->tree[node];
}

void place_index_move(struct place_index *index, uint32_t node,
                      enum place_tree tree)
{
	uint32_t class = match_class_of(index->match, node);
	enum place_tree from = index->tree[node];

	if (from != TREE_NONE) {
		erase(index, root_of(index, node), node);
		index->count[class][from]--;
	}
	index->tree[node] = (uint8_t)tree;
	if (tree != TREE_NONE) {
		*root_of(index, node) =
		    insert(index, *root_of(index, node), node);
		index->count[class][tree]++;
	}
}

void place_index_refresh(struct place_index *index, uint32_t node)
{
	uint32_t *root;

	if (index->tree[node] == TREE_NONE)
		return;
	root = root_of(index, node);
	count_node(index, node, -1);
	erase(index, root, node);
	read_node(index, node);
	*root = insert(index, *root, node);
	count_node(index, node, 1);
}

uint32_t place_index_count(const struct place_index *index, uint32_t class,
                           enum place_tree tree)
{
	return index->count[class][tree];
}

static bool enough(const int64_t have[DIM_N], const struct place_need *need)
{
	return have[DIM_CPU] >= need->cpu && have[DIM_MEM] >= need->mem &&
	       have[DIM_TMP] >= need->tmp && have[DIM_SLOT] >= need->slot &&
	       have[DIM_WHOLE] >= need->whole && have[DIM_PART] >= need->part &&
	       have[DIM_EMPTY] >= need->empty &&
	       have[DIM_MORE_CPU] >= need->more_cpu &&
	       have[DIM_MORE_GPU] >= need->more_gpu;
}

/* Returns the first node of a tree that has enough, or SNAP_NONE. */
static uint32_t find(const struct place_index *index, uint32_t t,
                     const struct place_need *need,
                     place_index_accept_fn *accept, void *arg)
{
	const struct leaf *l;
	uint32_t found;

	if (t == SNAP_NONE || !enough(index->leaf[t].most, need))
		return SNAP_NONE;
	l = &index->leaf[t];
	found = find(index, l->kid[0], need, accept, arg);
	if (found != SNAP_NONE)
		return found;
	if (enough(l->own, need) && accept(t, arg))
		return t;
	return find(index, l->kid[1], need, accept, arg);
}

/* As find(), for nodes that do one of the harms of the need. */
static uint32_t find_harm(const struct place_index *index, uint32_t t,
                          const struct place_need *need,
                          place_index_accept_fn *accept, void *arg)
{
	int64_t n = need->whole - 1;
	const struct leaf *l;
	uint32_t found;

	if (t == SNAP_NONE || !(index->harm[t].any[n] & need->harm) ||
	    !enough(index->leaf[t].most, need))
		return SNAP_NONE;
	l = &index->leaf[t];
	found = find_harm(index, l->kid[0], need, accept, arg);
	if (found != SNAP_NONE)
		return found;
	if (index->harm[t].own[n] & need->harm && enough(l->own, need) &&
	    accept(t, arg))
		return t;
	return find_harm(index, l->kid[1], need, accept, arg);
}

uint32_t place_index_find(const struct place_index *index, uint32_t class,
                          enum place_tree tree, const struct place_need *need,
                          place_index_accept_fn *accept, void *arg)
{
	uint32_t t = index->root[class][tree];

	return need->harm ? find_harm(index, t, need, accept, arg)
	                  : find(index, t, need, accept, arg);
}

bool place_index_has(const struct place_index *index, uint32_t node,
                     const struct place_need *need)
{
	return enough(index->leaf[node].own, need);
}

bool place_index_has_harm(const struct place_index *index)
{
	return index->harm != NULL;
}

uint16_t place_index_harms(const struct place_index *index, uint32_t class,
                           enum place_tree tree, int64_t n)
{
	uint32_t t = index->root[class][tree];

	return t == SNAP_NONE ? 0 : index->harm[t].any[n - 1];
}

int64_t place_index_have(const struct place_index *index, uint32_t node,
                         enum place_dim dim)
{
	return index->leaf[node].own[dim];
}

int64_t place_index_most(const struct place_index *index, uint32_t class,
                         enum place_tree tree, enum place_dim dim,
                         uint32_t *ret_node)
{
	uint32_t t = index->root[class][tree];
	int64_t most;

	if (t == SNAP_NONE)
		return -1;
	most = index->leaf[t].most[dim];
	while (ret_node) {
		const struct leaf *l = &index->leaf[t];

		if (l->kid[0] != SNAP_NONE &&
		    index->leaf[l->kid[0]].most[dim] == most) {
			t = l->kid[0];
			continue;
		}
		if (l->own[dim] == most) {
			*ret_node = t;
			break;
		}
		t = l->kid[1];
	}
	return most;
}

const int64_t *place_index_sum(const struct place_index *index, uint32_t class)
{
	return index->sum[class];
}

const int64_t *place_index_domain_sum(const struct place_index *index,
                                      uint32_t domain)
{
	return index->domain_sum[domain];
}

uint64_t place_index_changed(const struct place_index *index, uint32_t node)
{
	return index->leaf[node].changed;
}

uint64_t place_index_domain_changed(const struct place_index *index,
                                    uint32_t domain)
{
	return index->domain_changed[domain];
}

uint64_t place_index_changes(const struct place_index *index)
{
	return index->nchanges;
}

static enum place_tree first_tree(const struct snap *s, uint32_t node)
{
	if (s->node.state[node] != NODE_UP ||
	    !s->pool.ready[s->node.pool[node]])
		return TREE_NONE;
	return s->node.retry_at[node] > s->now ? TREE_LATE : TREE_OPEN;
}

/* Returns a rank for the node that looks random, but is the same on
 * every machine. */
static uint32_t rank_of(uint32_t node)
{
	uint64_t x = (node + 1) * (uint64_t)0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * (uint64_t)0xbf58476d1ce4e5b9;
	return (uint32_t)(x >> 32);
}

static void find_largest(struct place_index *index, struct arena *arena)
{
	const struct snap *s = index->work->snap;

	index->most = arena_alloc(arena, s->pool.n, sizeof(*index->most));
	for (uint32_t i = 0; i < s->node.n; i++) {
		int64_t *most = index->most[s->node.pool[i]];
		int64_t gpus = 1000 * (int64_t)snap_node_ngpus(s, i);

		if (s->node.cpu_total[i] > most[RES_CPU])
			most[RES_CPU] = s->node.cpu_total[i];
		if (gpus > most[RES_GPU])
			most[RES_GPU] = gpus;
	}
}

/* A node that is put into the index for the first time. */
struct first {
	uint32_t index; /* class and tree of the node, as one number */
	uint32_t node;
	int64_t key_gpu, key_cpu;
};

static bool goes_first(const struct first *x, const struct first *y)
{
	if (x->index != y->index)
		return x->index < y->index;
	if (x->key_gpu != y->key_gpu)
		return x->key_gpu < y->key_gpu;
	if (x->key_cpu != y->key_cpu)
		return x->key_cpu < y->key_cpu;
	return x->node < y->node;
}

/* Returns the index after the ascending run of nodes that begins at i. */
static uint32_t run_end(const struct first *it, uint32_t i, uint32_t n)
{
	if (i < n)
		i++;
	while (i < n && goes_first(&it[i - 1], &it[i]))
		i++;
	return i;
}

/* Sort by merging ascending runs, because the nodes are partly in order.
 * Returns the array that holds the result, either `it` or `other`. */
static const struct first *sort_nodes(struct first *it, struct first *other,
                                      uint32_t n)
{
	while (run_end(it, 0, n) < n) {
		struct first *from = it;

		for (uint32_t i = 0, mid, end; i < n; i = end) {
			uint32_t a = i, b = mid = run_end(it, i, n);

			end = run_end(it, mid, n);
			for (uint32_t k = i; k < end; k++) {
				bool first =
				    b == end ||
				    (a < mid && goes_first(&it[a], &it[b]));

				other[k] = first ? it[a++] : it[b++];
			}
		}
		it = other;
		other = from;
	}
	return it;
}

/* Nodes that differ only in their numbers, chained in the order of these. */
struct kinds {
	struct first *kind; /* node: instead, the index of the first one */
	uint32_t *last;     /* by kind: index of the last one so far */
	uint32_t *next;     /* by index: the next of the kind, or SNAP_NONE */
	uint32_t *slot;     /* hash table: kind plus one; 0: empty */
	uint32_t n, mask;
};

static bool is_alike(const struct first *x, const struct first *y)
{
	return x->index == y->index && x->key_gpu == y->key_gpu &&
	       x->key_cpu == y->key_cpu;
}

static void add_to_kind(struct kinds *kinds, const struct first *it, uint32_t i)
{
	uint64_t key = ((uint64_t)it[i].key_gpu << 24 ^
	                (uint64_t)it[i].key_cpu << 8 ^ it[i].index) *
	               (uint64_t)0x9e3779b97f4a7c15;
	uint32_t at = (uint32_t)(key >> 32) & kinds->mask, k;

	while (kinds->slot[at] &&
	       !is_alike(&kinds->kind[kinds->slot[at] - 1], &it[i]))
		at = (at + 1) & kinds->mask;
	kinds->next[i] = SNAP_NONE;
	if (kinds->slot[at]) {
		k = kinds->slot[at] - 1;
		kinds->next[kinds->last[k]] = i;
	} else {
		k = kinds->n++;
		kinds->slot[at] = kinds->n;
		kinds->kind[k] = it[i];
		kinds->kind[k].node = i;
	}
	kinds->last[k] = i;
}

/* Sort nodes, which are in order of their numbers. Many of them are alike: only
 * sort the kinds. */
static const struct first *sort_kinds(const struct first *it, uint32_t n,
                                      struct arena *arena)
{
	struct first *other = arena_array_raw(arena, struct first, n);
	struct first *to = arena_array_raw(arena, struct first, n);
	struct kinds kinds = {
		.kind = arena_array_raw(arena, struct first, n),
		.last = arena_array_raw(arena, uint32_t, n),
		.next = arena_array_raw(arena, uint32_t, n),
		.mask = 1,
	};
	const struct first *kind;
	uint32_t at = 0;

	while (kinds.mask < 2 * n)
		kinds.mask = 2 * kinds.mask + 1;
	kinds.slot = arena_array(arena, uint32_t, (size_t)kinds.mask + 1);
	for (uint32_t i = 0; i < n; i++)
		add_to_kind(&kinds, it, i);
	kind = sort_nodes(kinds.kind, other, kinds.n);
	for (uint32_t k = 0; k < kinds.n; k++) {
		for (uint32_t i = kind[k].node; i != SNAP_NONE;
		     i = kinds.next[i])
			to[at++] = it[i];
	}
	return to;
}

/* Build a treap from sorted nodes. Each node becomes the right kid of the last
 * one before it that has a higher rank, and gets that node's previous right kid
 * as its own left kid. last: scratch for the nodes on the right edge of the
 * tree. Returns the root. */
static uint32_t build(struct place_index *index, const struct first *it,
                      uint32_t n, uint32_t *last)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = it[i].node, below = SNAP_NONE;
		struct leaf *l = &index->leaf[node];

		/* If two ranks are equal, the later node is above, as
		 * in join(). */
		while (depth && index->leaf[last[depth - 1]].rank <= l->rank) {
			below = last[--depth];
			pull(index, below);
		}
		l->kid[0] = below;
		l->kid[1] = SNAP_NONE;
		if (depth)
			index->leaf[last[depth - 1]].kid[1] = node;
		last[depth++] = node;
	}
	while (depth > 1)
		pull(index, last[--depth]);
	pull(index, last[0]);
	return last[0];
}

static void fill_shelf(struct place_index *index, struct arena *arena)
{
	const struct snap *s = index->work->snap;
	struct first *unsorted =
	    arena_array_raw(arena, struct first, s->node.n);
	uint32_t *last = arena_array_raw(arena, uint32_t, s->node.n), n = 0;
	const struct first *it;

	for (uint32_t i = 0; i < s->node.n; i++) {
		const struct leaf *l = &index->leaf[i];
		uint32_t class = match_class_of(index->match, i);

		index->tree[i] = (uint8_t)first_tree(s, i);
		if (index->tree[i] == TREE_NONE)
			continue;
		count_node(index, i, 1);
		unsorted[n++] = (struct first){ class * NTREES + index->tree[i],
			                        i, l->key_gpu, l->key_cpu };
	}
	it = sort_kinds(unsorted, n, arena);
	for (uint32_t i = 0, end; i < n; i = end) {
		uint32_t class = it[i].index / NTREES;
		uint32_t tree = it[i].index % NTREES;

		end = i;
		while (end < n && it[end].index == it[i].index)
			end++;
		index->root[class][tree] = build(index, it + i, end - i, last);
		index->count[class][tree] = end - i;
	}
}

struct place_index *place_index_new(const struct work *w, const struct match *m,
                                    int64_t worth, struct arena *arena)
{
	struct place_index *index = arena_array(arena, struct place_index, 1);
	uint32_t n = w->snap->node.n, nclasses = match_nclasses(m);

	index->work = w;
	index->match = m;
	index->worth = worth;
	find_largest(index, arena);
	index->leaf = arena_array_raw(arena, struct leaf, n);
	index->blocks = fit_blocks_new(w, arena);
	if (index->blocks)
		index->harm = arena_array_raw(arena, struct harm, n);
	index->tree = arena_array(arena, uint8_t, n);
	index->root = arena_alloc(arena, nclasses, sizeof(*index->root));
	index->count = arena_alloc(arena, nclasses, sizeof(*index->count));
	index->sum = arena_alloc(arena, nclasses, sizeof(*index->sum));
	index->domain_sum =
	    arena_alloc(arena, w->snap->domain.n, sizeof(*index->domain_sum));
	index->domain_changed = arena_array(arena, uint64_t, w->snap->domain.n);
	for (uint32_t c = 0; c < nclasses; c++) {
		for (int t = 0; t < NTREES; t++)
			index->root[c][t] = SNAP_NONE;
	}
	for (uint32_t i = 0; i < n; i++) {
		index->leaf[i].rank = rank_of(i);
		read_node(index, i);
	}
	fill_shelf(index, arena);
	return index;
}

int64_t place_index_worth(const struct snap *s, const struct tally *tally)
{
	int64_t cpus = tally->cpus, gpus = tally->gpus, worth;

	for (uint32_t i = 0; i < s->pend.n; i++) {
		uint32_t req = s->pend.req[i];
		int64_t n =
		    s->pend.member_first[i + 1] - s->pend.member_first[i];

		if (!s->req.gpus[req])
			continue;
		cpus += n * s->req.tasks[req] * s->req.cpus[req];
		gpus += n * s->req.tasks[req] * s->req.gpus[req];
	}
	if (!cpus)
		return 0;
	worth = (int64_t)(((wide)gpus << 20) / cpus);
	return worth < WORTH_MOST ? worth : WORTH_MOST;
}
