/* place_best.c - the best node for so many tasks of a job */
#include "aischedd/sched/place_trial.h"

/* Thousandths of GPUs. */
enum { BALANCE_STEP = 100 };

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

enum node_order trial_order(const struct trial *t)
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

uint8_t trial_counted_on(const struct trial *t, uint32_t node)
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
		    !(t->wanted & ~trial_counted_on(t, node)) &&
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
	return need->gpu && trial_order(t) == ORDER_PACK
	           ? best_balanced(t, need)
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
		.slot = t->ask,
		.gpu = t->ask * gpus,
		.empty = r->exclusive[t->req],
	};

	if (gpus && gpus < 1000 && trial_order(t) != ORDER_BEST_FIT) {
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

int64_t trial_most(const struct trial *t, int64_t max)
{
	const struct snap_reqs *r = &t->p->snap->req;
	const int64_t need[DIM_N] = {
		[DIM_CPU] = r->cpus[t->req],
		[DIM_MEM] = r->mem[t->req],
		[DIM_SLOT] = 1,
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
					here = smaller(
					    here,
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

uint32_t trial_best(struct trial *t, int64_t ask)
{
	t->ask = ask;
	return best_node(t);
}
