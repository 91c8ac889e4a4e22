/* place_index.c - nodes with room, in the order in which a pool fills them */
#include "aischedd/sched/place_index.h"

#include <assert.h>

#include "aischedd/sched/place_ratio.h"

/* What a node had free when it was put on the shelf; the keys, the least
 * first, are as the pool orders its nodes. */
struct leaf {
	uint32_t kid[2];
	uint32_t rank; /* parents have the higher one */
	int64_t key_gpu, key_cpu;
	int64_t own[DIM_N], most[DIM_N];
};

struct shelf {
	const struct work *work;
	const struct match *match;
	int64_t worth;                   /* mix_worth() */
	struct leaf *leaf;               /* one a node */
	uint8_t *tree;                   /* one a node: enum shelf_tree */
	uint32_t (*root)[SHELF_NTREES];  /* one a class */
	uint32_t (*count)[SHELF_NTREES]; /* one a class */
	int64_t (*sum)[RES_N];           /* one a class */
	int64_t (*domain_sum)[RES_N];    /* one a domain */
	int64_t (*most)[RES_N];          /* one a pool: of the largest node */
	uint64_t *domain_changed;        /* likewise */
	uint64_t nchanges;
};

static int64_t shared_part(const struct work *w, uint32_t node)
{
	const uint32_t *first = w->snap->node.gpu_first;
	int64_t most = 0;

	for (uint32_t d = first[node]; d < first[node + 1]; d++) {
		if (w->device[d] < 1000 && w->device[d] > most)
			most = w->device[d];
	}
	return most;
}

int64_t shelf_balance(const struct shelf *shelf, int64_t cpu, int64_t gpu)
{
	return mix_balance(shelf->worth, cpu, gpu);
}

/* What is free in parts of the largest node of the pool: the mean of both
 * resources in percent, rounded up. */
static int64_t free_percent(const struct shelf *shelf, uint32_t node)
{
	const struct work *w = shelf->work;
	const int64_t *most = shelf->most[w->snap->node.pool[node]];
	int64_t all = 2 * most[RES_CPU] * most[RES_GPU];
	int64_t sum =
	    w->cpu[node] * most[RES_GPU] + w->gpu[node] * most[RES_CPU];

	return all ? (100 * sum + all - 1) / all : w->cpu[node];
}

static void read_order(struct shelf *shelf, uint32_t node)
{
	const struct work *w = shelf->work;
	struct leaf *l = &shelf->leaf[node];

	switch (w->snap->pool.order[w->snap->node.pool[node]]) {
	case ORDER_BEST_FIT:
		l->key_gpu = free_percent(shelf, node);
		l->key_cpu = 0;
		break;
	case ORDER_SPREAD:
		l->key_gpu = -w->gpu[node];
		l->key_cpu = -w->cpu[node];
		break;
	default:
		l->key_gpu = w->gpu[node];
		l->key_cpu = w->cpu[node];
	}
}

static void read_node(struct shelf *shelf, uint32_t node)
{
	const struct work *w = shelf->work;
	struct leaf *l = &shelf->leaf[node];

	read_order(shelf, node);
	l->own[DIM_CPU] = w->cpu[node];
	l->own[DIM_MEM] = w->mem[node];
	l->own[DIM_SLOT] = w->slot[node];
	l->own[DIM_GPU] = w->gpu[node];
	l->own[DIM_WHOLE] = w->whole[node];
	l->own[DIM_PART] =
	    1000 * w->whole[node] == w->gpu[node] ? 0 : shared_part(w, node);
	l->own[DIM_EMPTY] = !w->tasks[node];
	l->own[DIM_MORE_CPU] = shelf_balance(shelf, w->cpu[node], w->gpu[node]);
	l->own[DIM_MORE_GPU] = -l->own[DIM_MORE_CPU];
	for (int d = 0; d < DIM_N; d++) {
		/* Nobody else gets anything where an exclusive job runs; who
		 * asks for nothing fits where too much was given away. */
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

/* Add (sign 1) or take (-1) the node's free amounts from those of its class
 * and its domains.  A sealed node has none. */
static void count_node(struct shelf *shelf, uint32_t node, int sign)
{
	const struct snap *s = shelf->work->snap;
	const struct leaf *l = &shelf->leaf[node];

	shelf->nchanges++;
	if (l->own[DIM_WHOLE] < 0)
		return;
	add_free(shelf->sum[match_class_of(shelf->match, node)], l, sign);
	for (uint32_t d = s->node.domain[node]; d != SNAP_NONE;
	     d = s->domain.parent[d]) {
		add_free(shelf->domain_sum[d], l, sign);
		shelf->domain_changed[d] = shelf->nchanges;
	}
}

bool shelf_before(const struct shelf *shelf, uint32_t a, uint32_t b)
{
	const struct leaf *x = &shelf->leaf[a], *y = &shelf->leaf[b];

	if (x->key_gpu != y->key_gpu)
		return x->key_gpu < y->key_gpu;
	if (x->key_cpu != y->key_cpu)
		return x->key_cpu < y->key_cpu;
	return a < b;
}

static void pull(struct shelf *shelf, uint32_t t)
{
	struct leaf *l = &shelf->leaf[t];

	for (int d = 0; d < DIM_N; d++)
		l->most[d] = l->own[d];
	for (int k = 0; k < 2; k++) {
		if (l->kid[k] == SNAP_NONE)
			continue;
		for (int d = 0; d < DIM_N; d++) {
			if (shelf->leaf[l->kid[k]].most[d] > l->most[d])
				l->most[d] = shelf->leaf[l->kid[k]].most[d];
		}
	}
}

/* Join two trees; all of a go before all of b. */
static uint32_t join(struct shelf *shelf, uint32_t a, uint32_t b)
{
	if (a == SNAP_NONE)
		return b;
	if (b == SNAP_NONE)
		return a;
	if (shelf->leaf[a].rank > shelf->leaf[b].rank) {
		shelf->leaf[a].kid[1] = join(shelf, shelf->leaf[a].kid[1], b);
		pull(shelf, a);
		return a;
	}
	shelf->leaf[b].kid[0] = join(shelf, a, shelf->leaf[b].kid[0]);
	pull(shelf, b);
	return b;
}

/* Split t into those before node and those after it. */
static void split(struct shelf *shelf, uint32_t t, uint32_t node,
                  uint32_t *ret_a, uint32_t *ret_b)
{
	if (t == SNAP_NONE) {
		*ret_a = *ret_b = SNAP_NONE;
		return;
	}
	if (shelf_before(shelf, t, node)) {
		split(shelf, shelf->leaf[t].kid[1], node,
		      &shelf->leaf[t].kid[1], ret_b);
		*ret_a = t;
	} else {
		split(shelf, shelf->leaf[t].kid[0], node, ret_a,
		      &shelf->leaf[t].kid[0]);
		*ret_b = t;
	}
	pull(shelf, t);
}

static uint32_t insert(struct shelf *shelf, uint32_t t, uint32_t node)
{
	struct leaf *l = &shelf->leaf[node];
	int side;

	if (t == SNAP_NONE || l->rank > shelf->leaf[t].rank) {
		split(shelf, t, node, &l->kid[0], &l->kid[1]);
		pull(shelf, node);
		return node;
	}
	side = shelf_before(shelf, t, node);
	shelf->leaf[t].kid[side] =
	    insert(shelf, shelf->leaf[t].kid[side], node);
	pull(shelf, t);
	return t;
}

static uint32_t erase(struct shelf *shelf, uint32_t t, uint32_t node)
{
	int side;

	assert(t != SNAP_NONE);
	if (t == node)
		return join(shelf, shelf->leaf[t].kid[0],
		            shelf->leaf[t].kid[1]);
	side = shelf_before(shelf, t, node);
	shelf->leaf[t].kid[side] = erase(shelf, shelf->leaf[t].kid[side], node);
	pull(shelf, t);
	return t;
}

static uint32_t *root_of(struct shelf *shelf, uint32_t node)
{
	uint32_t class = match_class_of(shelf->match, node);

	return &shelf->root[class][shelf->tree[node]];
}

enum shelf_tree shelf_tree(const struct shelf *shelf, uint32_t node)
{
	return shelf->tree[node];
}

void shelf_move(struct shelf *shelf, uint32_t node, enum shelf_tree tree)
{
	uint32_t class = match_class_of(shelf->match, node);
	enum shelf_tree from = shelf->tree[node];

	if (from != SHELF_NONE) {
		*root_of(shelf, node) =
		    erase(shelf, *root_of(shelf, node), node);
		shelf->count[class][from]--;
	}
	shelf->tree[node] = (uint8_t)tree;
	if (tree != SHELF_NONE) {
		*root_of(shelf, node) =
		    insert(shelf, *root_of(shelf, node), node);
		shelf->count[class][tree]++;
	}
}

void shelf_refresh(struct shelf *shelf, uint32_t node)
{
	uint32_t *root;

	if (shelf->tree[node] == SHELF_NONE)
		return;
	root = root_of(shelf, node);
	count_node(shelf, node, -1);
	*root = erase(shelf, *root, node);
	read_node(shelf, node);
	*root = insert(shelf, *root, node);
	count_node(shelf, node, 1);
}

uint32_t shelf_count(const struct shelf *shelf, uint32_t class,
                     enum shelf_tree tree)
{
	return shelf->count[class][tree];
}

static bool enough(const int64_t have[DIM_N], const struct shelf_need *need)
{
	return have[DIM_CPU] >= need->cpu && have[DIM_MEM] >= need->mem &&
	       have[DIM_SLOT] >= need->slot && have[DIM_WHOLE] >= need->whole &&
	       have[DIM_PART] >= need->part && have[DIM_EMPTY] >= need->empty &&
	       have[DIM_MORE_CPU] >= need->more_cpu &&
	       have[DIM_MORE_GPU] >= need->more_gpu;
}

static uint32_t find(const struct shelf *shelf, uint32_t t,
                     const struct shelf_need *need, shelf_accept_fn *accept,
                     void *arg)
{
	const struct leaf *l;
	uint32_t found;

	if (t == SNAP_NONE || !enough(shelf->leaf[t].most, need))
		return SNAP_NONE;
	l = &shelf->leaf[t];
	found = find(shelf, l->kid[0], need, accept, arg);
	if (found != SNAP_NONE)
		return found;
	if (enough(l->own, need) && accept(t, arg))
		return t;
	return find(shelf, l->kid[1], need, accept, arg);
}

uint32_t shelf_find(const struct shelf *shelf, uint32_t class,
                    enum shelf_tree tree, const struct shelf_need *need,
                    shelf_accept_fn *accept, void *arg)
{
	return find(shelf, shelf->root[class][tree], need, accept, arg);
}

bool shelf_has(const struct shelf *shelf, uint32_t node,
               const struct shelf_need *need)
{
	return enough(shelf->leaf[node].own, need);
}

int64_t shelf_have(const struct shelf *shelf, uint32_t node, enum shelf_dim dim)
{
	return shelf->leaf[node].own[dim];
}

int64_t shelf_most(const struct shelf *shelf, uint32_t class,
                   enum shelf_tree tree, enum shelf_dim dim, uint32_t *ret_node)
{
	uint32_t t = shelf->root[class][tree];
	int64_t most;

	if (t == SNAP_NONE)
		return -1;
	most = shelf->leaf[t].most[dim];
	while (ret_node) {
		const struct leaf *l = &shelf->leaf[t];

		if (l->kid[0] != SNAP_NONE &&
		    shelf->leaf[l->kid[0]].most[dim] == most) {
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

const int64_t *shelf_sum(const struct shelf *shelf, uint32_t class)
{
	return shelf->sum[class];
}

const int64_t *shelf_domain_sum(const struct shelf *shelf, uint32_t domain)
{
	return shelf->domain_sum[domain];
}

uint64_t shelf_domain_changed(const struct shelf *shelf, uint32_t domain)
{
	return shelf->domain_changed[domain];
}

uint64_t shelf_changes(const struct shelf *shelf)
{
	return shelf->nchanges;
}

static enum shelf_tree first_tree(const struct snap *s, uint32_t node)
{
	if (s->node.state[node] != NODE_UP ||
	    !s->pool.ready[s->node.pool[node]])
		return SHELF_NONE;
	return s->node.retry_at[node] > s->now ? SHELF_LATE : SHELF_OPEN;
}

/* Well spread and the same on every machine. */
static uint32_t rank_of(uint32_t node)
{
	uint64_t x = (node + 1) * (uint64_t)0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * (uint64_t)0xbf58476d1ce4e5b9;
	return (uint32_t)(x >> 32);
}

static void find_largest(struct shelf *shelf, struct arena *arena)
{
	const struct snap *s = shelf->work->snap;

	shelf->most = arena_alloc(arena, s->pool.n, sizeof(*shelf->most));
	for (uint32_t i = 0; i < s->node.n; i++) {
		int64_t *most = shelf->most[s->node.pool[i]];
		int64_t gpus = 1000 * (int64_t)node_ngpus(s, i);

		if (s->node.cpu_total[i] > most[RES_CPU])
			most[RES_CPU] = s->node.cpu_total[i];
		if (gpus > most[RES_GPU])
			most[RES_GPU] = gpus;
	}
}

/* One node to be put on the shelf for the first time. */
struct first {
	uint32_t shelf; /* class and tree */
	uint32_t node;
	int64_t key_gpu, key_cpu;
};

static bool goes_first(const struct first *x, const struct first *y)
{
	if (x->shelf != y->shelf)
		return x->shelf < y->shelf;
	if (x->key_gpu != y->key_gpu)
		return x->key_gpu < y->key_gpu;
	if (x->key_cpu != y->key_cpu)
		return x->key_cpu < y->key_cpu;
	return x->node < y->node;
}

/* Where the order that begins at i ends. */
static uint32_t run_end(const struct first *it, uint32_t i, uint32_t n)
{
	if (i < n)
		i++;
	while (i < n && goes_first(&it[i - 1], &it[i]))
		i++;
	return i;
}

/* Nodes are in order here and there: merge what is. */
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

/* A tree of nodes in order: each hangs below the last one of higher rank; what
 * was below that is before it.  last: scratch, the right edge. */
static uint32_t build(struct shelf *shelf, const struct first *it, uint32_t n,
                      uint32_t *last)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = it[i].node, below = SNAP_NONE;
		struct leaf *l = &shelf->leaf[node];

		/* As in join(): of equals the later is above. */
		while (depth && shelf->leaf[last[depth - 1]].rank <= l->rank) {
			below = last[--depth];
			pull(shelf, below);
		}
		l->kid[0] = below;
		l->kid[1] = SNAP_NONE;
		if (depth)
			shelf->leaf[last[depth - 1]].kid[1] = node;
		last[depth++] = node;
	}
	while (depth > 1)
		pull(shelf, last[--depth]);
	pull(shelf, last[0]);
	return last[0];
}

static void fill_shelf(struct shelf *shelf, struct arena *arena)
{
	const struct snap *s = shelf->work->snap;
	struct first *unsorted =
	    arena_array_raw(arena, struct first, s->node.n);
	struct first *other = arena_array_raw(arena, struct first, s->node.n);
	uint32_t *last = arena_array_raw(arena, uint32_t, s->node.n), n = 0;
	const struct first *it;

	for (uint32_t i = 0; i < s->node.n; i++) {
		const struct leaf *l = &shelf->leaf[i];
		uint32_t class = match_class_of(shelf->match, i);

		shelf->tree[i] = (uint8_t)first_tree(s, i);
		if (shelf->tree[i] == SHELF_NONE)
			continue;
		count_node(shelf, i, 1);
		unsorted[n++] =
		    (struct first){ class * SHELF_NTREES + shelf->tree[i], i,
			            l->key_gpu, l->key_cpu };
	}
	it = sort_nodes(unsorted, other, n);
	for (uint32_t i = 0, end; i < n; i = end) {
		uint32_t class = it[i].shelf / SHELF_NTREES;
		uint32_t tree = it[i].shelf % SHELF_NTREES;

		end = i;
		while (end < n && it[end].shelf == it[i].shelf)
			end++;
		shelf->root[class][tree] = build(shelf, it + i, end - i, last);
		shelf->count[class][tree] = end - i;
	}
}

struct shelf *shelf_new(const struct work *w, const struct match *m,
                        int64_t worth, struct arena *arena)
{
	struct shelf *shelf = arena_array(arena, struct shelf, 1);
	uint32_t n = w->snap->node.n, nclasses = match_nclasses(m);

	shelf->work = w;
	shelf->match = m;
	shelf->worth = worth;
	find_largest(shelf, arena);
	shelf->leaf = arena_array_raw(arena, struct leaf, n);
	shelf->tree = arena_array(arena, uint8_t, n);
	shelf->root = arena_alloc(arena, nclasses, sizeof(*shelf->root));
	shelf->count = arena_alloc(arena, nclasses, sizeof(*shelf->count));
	shelf->sum = arena_alloc(arena, nclasses, sizeof(*shelf->sum));
	shelf->domain_sum =
	    arena_alloc(arena, w->snap->domain.n, sizeof(*shelf->domain_sum));
	shelf->domain_changed = arena_array(arena, uint64_t, w->snap->domain.n);
	for (uint32_t c = 0; c < nclasses; c++) {
		for (int t = 0; t < SHELF_NTREES; t++)
			shelf->root[c][t] = SNAP_NONE;
	}
	for (uint32_t i = 0; i < n; i++) {
		shelf->leaf[i].rank = rank_of(i);
		read_node(shelf, i);
	}
	fill_shelf(shelf, arena);
	return shelf;
}
