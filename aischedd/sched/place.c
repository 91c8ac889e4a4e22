/* place.c - choose nodes for one job, all of its tasks or none */
#include "aischedd/sched/place.h"

#include <assert.h>
#include <string.h>

#include "aischedd/sched/fit.h"
#include "aischedd/sched/mix.h"
#include "aischedd/sched/promise.h"
#include "aischedd/sched/trial.h"
#include "aischedd/sched/why.h"

/* How a trial spreads tasks over nodes. */
enum fill {
	FILL_MOST, /* as many together as fit */
	FILL_EVEN, /* the same number on each of a given number of nodes */
	FILL_ONE   /* one by one */
};

/* Thousandths of GPUs. */
enum { BALANCE_STEP = 100 };

struct place *place_new(const struct snap *snap, const struct tally *tally,
                        struct arena *arena)
{
	struct place *p = arena_array(arena, struct place, 1);

	p->snap = snap;
	p->arena = arena;
	p->pool = p->within = SNAP_NONE;
	p->work = work_new(snap, tally, arena);
	p->match = match_new(snap, arena);
	p->shelf = shelf_new(p->work, p->match, mix_worth(snap, tally), arena);
	p->own = arena_array(arena, uint32_t, snap->node.n);
	p->domains = domains_new(snap, arena);
	p->gather = gather_new(p);
	p->watched = arena_array(arena, uint8_t, snap->node.n);
	p->run = SNAP_NONE;
	p->until = SNAP_NEVER;
	p->task_cap = p->use_cap = 64;
	p->task = arena_array(arena, struct snap_task, p->task_cap);
	p->use = arena_array(arena, struct snap_cpu_use, p->use_cap);
	return p;
}

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* When what starts now ends if it takes as long as this, or SNAP_NEVER. */
static int64_t end_of(const struct snap *s, int64_t length)
{
	return length == SNAP_NEVER || length == CONF_NONE ? SNAP_NEVER
	                                                   : s->now + length;
}

void place_for(struct place *p, uint32_t row, uint64_t job)
{
	const struct snap *s = p->snap;
	uint32_t req = s->pend.req[row];

	p->job = job;
	p->queue = s->pend.queue[row];
	p->run = s->pend.resumes[row];
	p->until = end_of(s, s->req.time_limit[req]);
	if (p->until == SNAP_NEVER)
		p->until = end_of(s, s->queue.assumed_time[p->queue]);
	p->careful = p->promises && promise_begin(p->promises, req);
}

void place_for_run(struct place *p, uint32_t run)
{
	const struct snap *s = p->snap;

	p->job = s->run.job[run];
	p->queue = s->run.queue[run];
	p->run = SNAP_NONE;
	p->until = s->run.end[run];
	p->careful = p->promises && promise_begin(p->promises, s->run.req[run]);
}

static void *grow(struct arena *arena, const void *old, size_t n, size_t need,
                  size_t *cap, size_t size)
{
	void *p;

	if (!*cap)
		*cap = 4;
	while (*cap < need)
		*cap *= 2;
	p = arena_alloc(arena, *cap, size);
	return n ? memcpy(p, old, n * size) : p;
}

/* The next task of the plan; room for it and all its CPUs. */
static struct snap_task *next_task(struct place *p, size_t ncpus)
{
	if (p->ntasks + 2 > p->task_cap)
		p->task = grow(p->arena, p->task, p->ntasks + 1, p->ntasks + 2,
		               &p->task_cap, sizeof(*p->task));
	if (p->nuse + ncpus > p->use_cap)
		p->use = grow(p->arena, p->use, p->nuse, p->nuse + ncpus,
		              &p->use_cap, sizeof(*p->use));
	return &p->task[p->ntasks];
}

static void end_task(struct place *p, uint32_t nuse)
{
	p->nuse += nuse;
	p->task[++p->ntasks].cpu_first = (uint32_t)p->nuse;
}

bool place_may_use(const struct place *p, uint32_t req, uint32_t node)
{
	const struct allowed *a = match_req(p->match, req);
	uint32_t class = match_class_of(p->match, node);
	uint32_t i = 0;

	while (i < a->nclasses && a->class[i] != class)
		i++;
	return i < a->nclasses && allowed_node(a, node) &&
	       shelf_tree(p->shelf, node) == SHELF_OPEN;
}

/* The place of a node's class in those of the request. */
static uint32_t class_at(const struct place *p, const struct allowed *a,
                         uint32_t node)
{
	uint32_t class = match_class_of(p->match, node), i = 0;

	while (i < a->nclasses && a->class[i] != class)
		i++;
	return i;
}

/* Whether enough of these nodes meet each counted part. */
static bool has_counts(const struct place *p, const struct allowed *a,
                       const uint32_t *node, uint32_t n)
{
	for (uint32_t k = 0; k < a->ncounts; k++) {
		uint32_t have = 0;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t at = class_at(p, a, node[i]);
			uint32_t before = 0;

			while (before < i && node[before] != node[i])
				before++;
			have += before == i && at < a->nclasses &&
			        a->counted[at] >> k & 1;
		}
		if (have < a->count[k])
			return false;
	}
	return true;
}

bool place_suits(struct place *p, uint32_t req, const uint32_t *node,
                 uint32_t n)
{
	const struct snap *s = p->snap;
	uint8_t need = s->req.need[req];
	uint32_t nodes = 0, most = 0;
	bool near = true;

	for (uint32_t i = 0; i < n; i++) {
		nodes += !p->own[node[i]]++;
		if (p->own[node[i]] > most)
			most = p->own[node[i]];
		near &= s->node.pool[node[i]] == s->node.pool[node[0]];
		near &= need == LEVEL_NONE ||
		        (domain_of(s, node[i], need) != SNAP_NONE &&
		         domain_of(s, node[i], need) ==
		             domain_of(s, node[0], need));
	}
	for (uint32_t i = 0; i < n; i++)
		p->own[node[i]] = 0;
	return near && (!s->req.nodes[req] || nodes == s->req.nodes[req]) &&
	       (!s->req.tasks_per_node[req] ||
	        most <= s->req.tasks_per_node[req]) &&
	       has_counts(p, match_req(p->match, req), node, n);
}

/* Whether n tasks there break no promise. */
static bool keeps_promises(const struct place *p, uint32_t req, uint32_t node,
                           int64_t n)
{
	if (p->heedless || !(p->watched[node] || p->careful))
		return true;
	return promise_allows(p->promises, req, node, n);
}

bool place_fits(const struct place *p, uint32_t req, uint32_t node, int64_t n)
{
	const struct snap_reqs *r = &p->snap->req;
	uint32_t own = p->own[node];

	if (r->nodes[req] && own)
		return false;
	if (r->tasks_per_node[req] && own + n > r->tasks_per_node[req])
		return false;
	return fit_count(p->work, req, node, own, n) >= n &&
	       keeps_promises(p, req, node, own + n);
}

int64_t place_room(const struct place *p, uint32_t req, uint32_t node,
                   int64_t max)
{
	const struct snap_reqs *r = &p->snap->req;
	uint32_t own = p->own[node];
	int64_t some = 0;

	if (r->nodes[req] && own)
		return 0;
	if (r->tasks_per_node[req])
		max = min(max, (int64_t)r->tasks_per_node[req] - own);
	max = max > 0 ? fit_count(p->work, req, node, own, max) : 0;
	if (!max || keeps_promises(p, req, node, own + max))
		return max;
	/* There is room for some, not for max. */
	while (max - some > 1) {
		int64_t n = some + (max - some) / 2;

		if (keeps_promises(p, req, node, own + n))
			some = n;
		else
			max = n;
	}
	return some;
}

/* Whether n tasks of a job without GPUs leave each GPU that is free there its
 * share of the CPUs and memory of the node. */
static bool leaves_shares(const struct place *p, uint32_t req, uint32_t node,
                          int64_t n)
{
	const struct snap *s = p->snap;
	int64_t all = 1000 * (int64_t)node_ngpus(s, node);
	int64_t nfree = p->work->gpu[node];
	int64_t cpu = p->work->cpu[node] - n * s->req.cpus[req];
	int64_t mem = p->work->mem[node] - n * s->req.mem[req];

	return cpu * all >= s->node.cpu_total[node] * nfree &&
	       mem * all >= s->node.mem_total[node] * nfree;
}

static bool accept(uint32_t node, void *arg)
{
	const struct trial *t = arg;

	t->p->looks++;
	return allowed_node(t->allowed, node) &&
	       domain_has(t->p->snap, t->inside, node) &&
	       !(t->wanted && t->p->own[node]) &&
	       !(t->spare && !leaves_shares(t->p, t->req, node, t->ask)) &&
	       place_fits(t->p, t->req, node, t->ask);
}

static enum node_order order_of(const struct trial *t)
{
	uint32_t class = t->allowed->class[t->class];

	return (enum node_order)
	    t->p->snap->pool.order[match_class(t->p->match, class)->pool];
}

/* In the order of the pool; but a job without GPUs goes where there are none,
 * if it can. */
static bool better(const struct trial *t, uint32_t a, uint32_t b)
{
	const struct snap *s = t->p->snap;

	if (b == SNAP_NONE)
		return true;
	if (!s->req.gpus[t->req] && !node_ngpus(s, a) != !node_ngpus(s, b))
		return !node_ngpus(s, a);
	return shelf_before(t->p->shelf, a, b);
}

static uint32_t best_on_shelf(struct trial *t, const struct shelf_need *need)
{
	uint32_t best = SNAP_NONE;

	for (uint32_t c = t->class; c < t->class_end; c++) {
		if (t->wanted & ~t->allowed->counted[c])
			continue;
		for (int tree = 0; tree < SHELF_NTREES; tree++) {
			uint32_t node;

			if (!(t->trees >> tree & 1))
				continue;
			node = shelf_find(t->p->shelf, t->allowed->class[c],
			                  tree, need, accept, t);
			if (node != SNAP_NONE && better(t, node, best))
				best = node;
		}
	}
	return best;
}

/* The counted parts of the constraint that hold on a node, as bits. */
static uint8_t counted_on(const struct trial *t, uint32_t node)
{
	uint32_t class = match_class_of(t->p->match, node);

	for (uint32_t c = t->class; c < t->class_end; c++) {
		if (t->allowed->class[c] == class)
			return t->allowed->counted[c];
	}
	return 0;
}

/* A job that names its nodes looks at these only. */
static uint32_t best_named(struct trial *t, const struct shelf_need *need)
{
	struct place *p = t->p;
	const struct snap_reqs *r = &p->snap->req;
	uint32_t class = t->allowed->class[t->class], best = SNAP_NONE;
	uint32_t pool = match_class(p->match, class)->pool;

	for (uint32_t i = r->want_first[t->req]; i < r->want_first[t->req + 1];
	     i++) {
		uint32_t node = p->snap->want[i];

		if (p->snap->node.pool[node] == pool &&
		    (t->trees >> shelf_tree(p->shelf, node) & 1) &&
		    !(t->wanted & ~counted_on(t, node)) &&
		    shelf_has(p->shelf, node, need) && accept(node, t) &&
		    better(t, node, best))
			best = node;
	}
	return best;
}

static uint32_t best_with(struct trial *t, const struct shelf_need *need)
{
	const struct snap_reqs *r = &t->p->snap->req;

	return r->want_first[t->req] < r->want_first[t->req + 1]
	           ? best_named(t, need)
	           : best_on_shelf(t, need);
}

/*
 * Where the balance of CPUs and GPUs is left best: a job that takes more CPUs
 * than go with its GPUs goes where there are some to spare, one that takes
 * less where GPUs are.  Coarsely, so that the order of the pool decides among
 * those that are about as good.
 */
static uint32_t best_balanced(struct trial *t, struct shelf_need *need)
{
	const struct shelf *shelf = t->p->shelf;
	int64_t takes = shelf_balance(shelf, need->cpu, need->gpu);
	int64_t *more = takes > 0 ? &need->more_cpu : &need->more_gpu;
	enum shelf_dim dim = takes > 0 ? DIM_MORE_CPU : DIM_MORE_GPU;
	int64_t top = (takes > 0 ? takes : -takes) / BALANCE_STEP;
	uint32_t node = best_with(t, need), found;
	int64_t lo = 0, hi = top + 1, at = top;

	if (!top || node == SNAP_NONE)
		return node;
	lo = shelf_have(shelf, node, dim) / BALANCE_STEP;
	/* Some node has lo, none hi. */
	for (; hi - lo > 1; at = lo + (hi - lo) / 2) {
		*more = at * BALANCE_STEP;
		found = best_with(t, need);
		if (found == SNAP_NONE) {
			hi = at;
		} else {
			node = found;
			lo = shelf_have(shelf, node, dim) / BALANCE_STEP;
		}
	}
	*more = 0;
	return node;
}

static uint32_t best_in_order(struct trial *t, struct shelf_need *need)
{
	return need->gpu && order_of(t) == ORDER_PACK ? best_balanced(t, need)
	                                              : best_with(t, need);
}

/* The best node for t->ask tasks, or SNAP_NONE. */
static uint32_t best_node(struct trial *t)
{
	const struct snap_reqs *r = &t->p->snap->req;
	int64_t gpus = r->gpus[t->req];
	struct shelf_need need = {
		.cpu = t->ask * r->cpus[t->req],
		.mem = t->ask * r->mem[t->req],
		.gpu = t->ask * gpus,
		.empty = r->exclusive[t->req],
	};

	if (gpus && gpus < 1000 && order_of(t) != ORDER_BEST_FIT) {
		uint32_t node;

		/* Fill up a GPU that is shared before one is broken up. */
		need.part = gpus;
		node = best_in_order(t, &need);
		if (node != SNAP_NONE)
			return node;
		need.part = 0;
		need.whole = 1;
		return best_in_order(t, &need);
	}
	need.whole = t->ask * (gpus / 1000);
	return best_in_order(t, &need);
}

/* No node has room for more than this many tasks; max unless proven. */
static int64_t most_per_node(const struct trial *t, int64_t max)
{
	const struct snap_reqs *r = &t->p->snap->req;
	const int64_t need[DIM_N] = {
		[DIM_CPU] = r->cpus[t->req],
		[DIM_MEM] = r->mem[t->req],
		[DIM_GPU] = r->gpus[t->req],
	};
	int64_t most = 0;

	for (uint32_t c = t->class; max > 1 && c < t->class_end; c++) {
		for (int tree = 0; tree < SHELF_NTREES; tree++) {
			int64_t here = max;

			if (!(t->trees >> tree & 1))
				continue;
			for (int d = 0; d < DIM_N; d++) {
				if (need[d])
					here =
					    min(here,
					        shelf_most(t->p->shelf,
					                   t->allowed->class[c],
					                   tree, d, NULL) /
					            need[d]);
			}
			most = here > most ? here : most;
		}
	}
	return max > 1 ? most : max;
}

static uint32_t best_for(struct trial *t, int64_t ask)
{
	t->ask = ask;
	return best_node(t);
}

/* The best of the nodes with room for most tasks, no more than max. */
static uint32_t seek_most(struct trial *t, int64_t max)
{
	int64_t lo = 0, hi = min(max, t->most);
	uint32_t node = hi > 0 ? best_for(t, hi) : SNAP_NONE, found;

	if (node != SNAP_NONE)
		return node;
	/* Some node has room for lo (or lo is 0), none for hi. */
	while (hi - lo > 1) {
		int64_t mid = lo + (hi - lo) / 2;

		found = best_for(t, mid);
		if (found == SNAP_NONE) {
			hi = mid;
		} else {
			lo = mid;
			node = found;
		}
	}
	t->ask = t->most = lo;
	return node;
}

static int64_t count_wanted(const struct trial *t)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < t->allowed->ncounts; i++)
		sum += t->wants[i];
	return sum;
}

static int64_t at_least_one(int64_t n)
{
	return n > 1 ? n : 1;
}

/* The next node and, in t->ask, how many tasks it gets. */
static uint32_t seek(struct trial *t, enum fill how)
{
	const struct snap_reqs *r = &t->p->snap->req;
	int64_t max = t->left;

	if (r->tasks_per_node[t->req])
		max = min(max, r->tasks_per_node[t->req]);
	if (how == FILL_ONE)
		return best_for(t, 1);
	/* Leave one task for each node that is wanted beside this one. */
	if (t->wanted)
		max = min(max, at_least_one(t->left - count_wanted(t) + 1));
	if (r->nodes[t->req]) {
		if (!t->nodes_left)
			return SNAP_NONE;
		/* Leave one task for each of the other nodes. */
		max = min(max, (int64_t)t->left - t->nodes_left + 1);
	}
	if (how == FILL_EVEN) {
		int64_t ask = (t->left + t->nodes_left - 1) / t->nodes_left;

		return ask > max ? SNAP_NONE : best_for(t, ask);
	}
	return seek_most(t, max);
}

void place_put(struct place *p, uint32_t req, uint32_t node, int64_t n)
{
	size_t ncpus =
	    node_ncpus(p->snap, node) ? fit_max_cpus(p->snap, req) : 0;

	for (int64_t i = 0; i < n; i++) {
		struct snap_task *task = next_task(p, ncpus);

		end_task(p,
		         fit_task(p->work, req, node, task, p->use + p->nuse));
	}
	p->own[node] += (uint32_t)n;
	shelf_refresh(p->shelf, node);
}

static void put(struct trial *t, uint32_t node)
{
	place_put(t->p, t->req, node, t->ask);
	t->left -= (uint32_t)t->ask;
	t->nodes_left -= t->nodes_left > 0;
}

/* Whether it matters which nodes tasks take, not only how many fit. */
static bool is_picky(const struct trial *t)
{
	return t->p->snap->req.nodes[t->req] || t->allowed->ncounts;
}

/* The next node, as long as may be one that leaves GPUs their share. */
static uint32_t seek_sparing(struct trial *t, enum fill how)
{
	uint32_t node = seek(t, how);

	if (node != SNAP_NONE || !t->spare || is_picky(t))
		return node;
	t->spare = false;
	t->most = most_per_node(t, t->left);
	return seek(t, how);
}

/* A node that has this of the counted parts, if there is one with all that
 * are still wanted, that. */
static uint32_t seek_counted(struct trial *t, enum fill how, uint32_t part)
{
	int64_t most = t->most;
	uint32_t node;

	t->wanted = 0;
	for (uint32_t i = 0; i < t->allowed->ncounts; i++)
		t->wanted |= (uint8_t)((t->wants[i] > 0) << i);
	node = seek_sparing(t, how);
	if (node == SNAP_NONE) {
		t->wanted = (uint8_t)(1 << part);
		t->most = most;
		node = seek_sparing(t, how);
	}
	t->wanted = 0;
	t->most = most; /* that of other nodes is not known */
	return node;
}

/* Nodes of which there must be so many come first. */
static bool fill_counted(struct trial *t, enum fill how)
{
	for (uint32_t i = 0; i < t->allowed->ncounts; i++) {
		while (t->wants[i]) {
			uint32_t node =
			    t->left ? seek_counted(t, how, i) : SNAP_NONE;

			if (node == SNAP_NONE)
				return false;
			put(t, node);
			for (uint32_t k = 0; k < t->allowed->ncounts; k++)
				t->wants[k] -=
				    t->wants[k] && counted_on(t, node) >> k & 1;
		}
	}
	return true;
}

static bool fill(struct trial *t, enum fill how)
{
	const struct snap_reqs *r = &t->p->snap->req;

	t->left = t->tasks;
	t->nodes_left = r->nodes[t->req];
	t->spare = t->sparing;
	t->most = most_per_node(t, t->left);
	if (!t->p->grows)
		memcpy(t->wants, t->allowed->count, sizeof(t->wants));
	if (!fill_counted(t, how))
		return false;
	while (t->left) {
		uint32_t node = seek_sparing(t, how);

		if (node == SNAP_NONE)
			return false;
		put(t, node);
	}
	return !t->nodes_left;
}

void place_begin(struct place *p)
{
	p->first_task = p->ntasks;
	p->first_use = p->nuse;
	p->mark = work_mark(p->work);
}

void place_undo(struct place *p)
{
	uint32_t last = SNAP_NONE;

	work_undo(p->work, p->mark);
	for (size_t i = p->first_task; i < p->ntasks; i++) {
		uint32_t node = p->task[i].node;

		p->own[node] = 0;
		if (node != last)
			shelf_refresh(p->shelf, node);
		last = node;
	}
	p->ntasks = p->first_task;
	p->nuse = p->first_use;
}

void place_commit(struct place *p, uint32_t req)
{
	if (p->promises)
		promise_started(p->promises, req);
	for (size_t i = p->first_task; i < p->ntasks; i++) {
		uint32_t node = p->task[i].node;

		p->own[node] = 0;
		if (p->snap->req.exclusive[req]) {
			work_add(p->work, &p->work->sealed[node], 1);
			shelf_refresh(p->shelf, node);
		}
	}
	work_commit(p->work);
}

/* As the request says, or as the pool does. */
static bool fill_somehow(struct trial *t)
{
	const struct snap *s = t->p->snap;

	if (s->req.nodes[t->req]) {
		if (fill(t, FILL_EVEN))
			return true;
		place_undo(t->p);
		return fill(t, FILL_MOST);
	}
	/* There is nothing to spread where nobody else may be. */
	if (order_of(t) == ORDER_SPREAD && !s->req.exclusive[t->req])
		return fill(t, FILL_ONE);
	return fill(t, FILL_MOST);
}

unsigned place_trees(const struct place *p, uint32_t req)
{
	const struct allowed *a = match_req(p->match, req);
	unsigned trees = 0;

	for (uint32_t c = 0; c < a->nclasses; c++) {
		for (int tree = 0; tree < SHELF_NTREES; tree++) {
			if (shelf_count(p->shelf, a->class[c], tree))
				trees |= 1u << tree;
		}
	}
	return trees;
}

bool trial_fill(struct trial *t)
{
	t->sparing =
	    !t->p->snap->req.gpus[t->req] && order_of(t) != ORDER_BEST_FIT;
	if (fill_somehow(t))
		return true;
	if (!t->sparing || !is_picky(t))
		return false;
	place_undo(t->p);
	t->sparing = false;
	return fill_somehow(t);
}

/* Whether its tasks are on one node: those are as near as can be. */
static bool is_on_one(const struct place *p)
{
	for (size_t i = p->first_task; i < p->ntasks; i++) {
		if (p->task[i].node != p->task[p->first_task].node)
			return false;
	}
	return true;
}

/* Whether tasks that may be anywhere had better be near each other. */
static bool is_for_gathering(const struct trial *t)
{
	const struct snap *s = t->p->snap;
	uint32_t node = t->p->task[t->p->first_task].node;

	if (!s->domain.n || is_on_one(t->p))
		return false;
	return s->req.like[t->req] != LEVEL_NONE ||
	       s->pool.order[s->node.pool[node]] == ORDER_PACK;
}

bool trial_place(struct trial *t)
{
	if (t->p->within != SNAP_NONE)
		return gather_fill_in(t, t->p->within);
	if (t->p->snap->req.need[t->req] != LEVEL_NONE)
		return gather_fill(t);
	if (!trial_fill(t))
		return false;
	if (!is_for_gathering(t))
		return true;
	place_undo(t->p);
	if (gather_fill(t))
		return true;
	place_undo(t->p);
	return trial_fill(t);
}

/* The classes of the next pool of the request. */
static bool next_pool(struct trial *t)
{
	const struct match *m = t->p->match;
	const uint32_t *class = t->allowed->class;

	t->class = t->class_end;
	while (t->class_end < t->allowed->nclasses &&
	       match_class(m, class[t->class_end])->pool ==
	           match_class(m, class[t->class])->pool)
		t->class_end++;
	return t->class < t->class_end;
}

bool place_try(struct place *p, uint32_t req, uint32_t tasks, unsigned trees,
               struct lack *ret_lack)
{
	struct trial t = { .p = p,
		           .req = req,
		           .tasks = tasks,
		           .trees = trees,
		           .inside = SNAP_NONE,
		           .allowed = match_req(p->match, req) };
	bool first = true;

	if (ret_lack)
		*ret_lack =
		    (struct lack){ .node = SNAP_NONE, .what = WHAT_NODE };
	while (next_pool(&t)) {
		uint32_t class = t.allowed->class[t.class];
		struct lack lack;

		if (p->pool != SNAP_NONE &&
		    p->pool != match_class(p->match, class)->pool)
			continue;
		place_begin(p);
		if (trial_place(&t))
			return true;
		place_undo(p);
		if (!ret_lack)
			continue;
		lack = trial_lack(&t);
		if (first || lack.got > ret_lack->got)
			*ret_lack = lack;
		first = false;
	}
	return false;
}

/* In the domain of the level that it likes, or of the next wider one, up to
 * that which it needs. */
static bool grow_near(struct place *p, uint32_t req, uint32_t node,
                      struct lack *ret_lack)
{
	const struct snap *s = p->snap;
	uint8_t need = s->req.need[req], like = s->req.like[req];
	int from = like != LEVEL_NONE ? like : need;
	int to = need != LEVEL_NONE ? need : 0;

	for (int level = from; from != LEVEL_NONE && level >= to; level--) {
		p->within = domain_of(s, node, (uint8_t)level);
		if (p->within != SNAP_NONE &&
		    place_try(p, req, 1, IN_OPEN, ret_lack))
			return true;
	}
	p->within = SNAP_NONE;
	return need == LEVEL_NONE && place_try(p, req, 1, IN_OPEN, ret_lack);
}

bool place_try_grow(struct place *p, uint32_t run, struct lack *ret_lack)
{
	const struct snap *s = p->snap;
	uint32_t node = s->task[s->run.task_first[run]].node;
	bool found;

	p->pool = s->node.pool[node];
	p->grows = true;
	found = grow_near(p, s->run.req[run], node, ret_lack);
	p->grows = false;
	p->pool = p->within = SNAP_NONE;
	return found;
}

static bool resume_task(struct place *p, uint32_t run,
                        const struct snap_task *had)
{
	uint32_t req = p->snap->run.req[run], node = had->node;
	size_t ncpus =
	    node_ncpus(p->snap, node) ? fit_max_cpus(p->snap, req) : 0;
	struct snap_task *task;

	if (p->work->sealed[node] || !fit_cpus_again(p->work, req, had) ||
	    !keeps_promises(p, req, node, p->own[node]))
		return false;
	if (p->snap->req.exclusive[req] && p->work->tasks[node] != p->own[node])
		return false;
	task = next_task(p, ncpus);
	task->node = node;
	task->gpus = had->gpus;
	task->gpu_milli = had->gpu_milli;
	end_task(p, fit_resume(p->work, req, had, p->use + p->nuse));
	shelf_refresh(p->shelf, node);
	return true;
}

bool place_try_resume(struct place *p, uint32_t run, struct lack *ret_lack)
{
	const struct snap *s = p->snap;
	uint32_t t, first = s->run.task_first[run];
	uint32_t end = s->run.task_first[run + 1];

	place_begin(p);
	for (t = first; t < end; t++)
		p->own[s->task[t].node]++;
	for (t = first; t < end; t++) {
		if (!resume_task(p, run, &s->task[t]))
			break;
	}
	for (uint32_t i = first; i < end; i++)
		p->own[s->task[i].node] = 0;
	if (t == end)
		return true;
	if (ret_lack) {
		uint32_t node = s->task[t].node;

		*ret_lack = (struct lack){ .got = t - first,
			                   .node = node,
			                   .what = RES_CPU,
			                   .need = s->req.cpus[s->run.req[run]],
			                   .have = p->work->cpu[node],
			                   .total = s->node.cpu_total[node] };
	}
	place_undo(p);
	return false;
}
