/* place_trial.c - one attempt to place a job in one pool */
#include "aischedd/sched/place_trial.h"

#include <string.h>

#include "aischedd/sched/fit/blocks.h"
#include "aischedd/sched/place_scarce.h"
#include "aischedd/sched/place_topology.h"

/* best_balanced() compares nodes in steps of this many thousandths of a GPU. */
enum { BALANCE_STEP = 100 };

/* Whether each free GPU of the node keeps its share of the node's CPUs and
 * memory after n tasks of a job without GPUs are placed there. */
static bool leaves_shares(const struct place *p, uint32_t req, uint32_t node,
                          int64_t n)
{
	const struct snap *s = p->snap;
	int64_t all = 1000 * (int64_t)snap_node_ngpus(s, node);
	int64_t nfree = p->work->gpu[node];
	int64_t cpu = p->work->cpu[node] - n * s->req.cpus[req];
	int64_t mem = p->work->mem[node] - n * s->req.mem[req];

	return cpu * all >= s->node.cpu_total[node] * nfree &&
	       mem * all >= s->node.mem_total[node] * nfree;
}

/* Whether tasks on the node would get at most t->excess more NUMA nodes and
 * link groups than the job prefers. With WISH_SEEK, lower t->excess to the
 * node's excess if that is less, and return whether the node has no excess at
 * all. */
static bool has_wish(struct place_trial *t, uint32_t node)
{
	struct fit_excess has;

	if (t->wish == WISH_NONE)
		return true;
	has = fit_excess_of(t->p->work, t->req, node, t->ask);
	if (t->wish == WISH_LIMIT)
		return !fit_excess_is_less(&t->excess, &has);
	if (fit_excess_is_less(&has, &t->excess))
		t->excess = has;
	return !has.numas && !has.links;
}

static bool accept(uint32_t node, void *arg)
{
	struct place_trial *t = arg;

	t->p->looks++;
	return match_allows(t->allowed, node) &&
	       domain_has(t->p->snap, t->inside, node) &&
	       !(t->wanted && t->p->own[node]) &&
	       !(t->spare && !leaves_shares(t->p, t->req, node, t->ask)) &&
	       place_fits(t->p, t->req, node, t->ask) && has_wish(t, node);
}

/* Returns the order in which this trial fills the nodes of the pool. */
static enum node_order node_order_of(const struct place_trial *t)
{
	uint32_t class = t->allowed->class[t->class];

	return (enum node_order)
	    t->p->snap->pool.order[match_class(t->p->match, class)->pool];
}

/* Whether node a is better than b by the order of the pool; but for jobs
 * without GPUs, nodes without GPUs are better than others. */
static bool better(const struct place_trial *t, uint32_t a, uint32_t b)
{
	const struct snap *s = t->p->snap;

	if (b == SNAP_NONE)
		return true;
	if (!s->req.gpus[t->req] &&
	    !snap_node_ngpus(s, a) != !snap_node_ngpus(s, b))
		return !snap_node_ngpus(s, a);
	return place_index_before(t->p->index, a, b);
}

static bool is_of_kind(const struct place_trial *t, uint32_t class)
{
	return t->kind == SNAP_NONE ||
	       place_scarce_kind(t->p->scarce, class) == t->kind;
}

/* Returns the need on a node, or on the nodes of a class that it is of: a part
 * of a GPU that is asked for by its memory depends on them. The result is
 * `need` or `own`. */
static const struct place_need *need_on(const struct place_trial *t,
                                        const struct place_need *need,
                                        uint32_t node, struct place_need *own)
{
	int64_t part;

	if (!snap_is_by_mem(t->p->snap, t->req))
		return need;
	part = snap_gpus_on(t->p->snap, t->req, node);
	*own = *need;
	own->gpu = t->ask * part;
	own->part = own->part ? part : 0;
	return own;
}

/* Returns a node of the c-th class that the request may use. */
static uint32_t first_of(const struct place_trial *t, uint32_t c)
{
	return match_class(t->p->match, t->allowed->class[c])->node[0];
}

/* Returns the first node in the order of the pool, or SNAP_NONE. */
static uint32_t first_on_shelf(struct place_trial *t,
                               const struct place_need *need)
{
	bool by_mem = snap_is_by_mem(t->p->snap, t->req);
	const struct place_need *here = need;
	struct place_need own;
	uint32_t best = SNAP_NONE;

	for (uint32_t c = t->class; c < t->class_end; c++) {
		if (t->wanted & ~t->allowed->counted[c] ||
		    !is_of_kind(t, t->allowed->class[c]))
			continue;
		if (by_mem)
			here = need_on(t, need, first_of(t, c), &own);
		for (int tree = 0; tree < NTREES; tree++) {
			uint32_t node;

			if (!(t->trees >> tree & 1))
				continue;
			node =
			    place_index_find(t->p->index, t->allowed->class[c],
			                     tree, here, accept, t);
			if (node != SNAP_NONE && better(t, node, best))
				best = node;
		}
	}
	return best;
}

/* Whether it matters which blocks of linked GPUs the tasks break up. */
static bool minds_blocks(const struct place_trial *t)
{
	return place_index_has_harm(t->p->index) && t->wish != WISH_SEEK &&
	       node_order_of(t) == ORDER_PACK &&
	       t->p->snap->req.links[t->req] != LINKS_ANY;
}

/* Returns the harms that taking n GPUs does on the nodes of the trial, as bits.
 */
static uint32_t harms_of(const struct place_trial *t, int64_t n)
{
	uint32_t ret = 0;

	for (uint32_t c = t->class; c < t->class_end; c++) {
		uint32_t class = t->allowed->class[c];

		for (int tree = 0; tree < NTREES; tree++)
			if (t->trees >> tree & 1)
				ret |= place_index_harms(t->p->index, class,
				                         tree, n);
	}
	return ret;
}

/* Returns the node that breaks up the fewest blocks of linked GPUs, among equal
 * ones the first in the order of the pool; or SNAP_NONE. */
static uint32_t least_harmed(struct place_trial *t,
                             const struct place_need *need)
{
	uint32_t harms = harms_of(t, need->whole), node = SNAP_NONE;
	struct place_need with = *need;

	for (; harms && node == SNAP_NONE; harms &= harms - 1) {
		with.harm = (uint16_t)(harms & -harms);
		node = first_on_shelf(t, &with);
	}
	return node;
}

static uint32_t best_on_shelf(struct place_trial *t,
                              const struct place_need *need)
{
	return need->whole > 0 && need->whole <= FIT_BLOCKS_GPUS &&
	               minds_blocks(t)
	           ? least_harmed(t, need)
	           : first_on_shelf(t, need);
}

/* Returns, as bits, the parts of the constraint with a count that hold on a
 * node. */
static uint8_t counted_on(const struct place_trial *t, uint32_t node)
{
	uint32_t class = match_class_of(t->p->match, node);

	for (uint32_t c = t->class; c < t->class_end; c++) {
		if (t->allowed->class[c] == class)
			return t->allowed->counted[c];
	}
	return 0;
}

/* Returns the best of the nodes that the job names, or SNAP_NONE. */
static uint32_t best_named(struct place_trial *t, const struct place_need *need)
{
	struct place *p = t->p;
	const struct snap_reqs *r = &p->snap->req;
	uint32_t class = t->allowed->class[t->class], best = SNAP_NONE;
	uint32_t pool = match_class(p->match, class)->pool;

	for (uint32_t i = r->want_first[t->req]; i < r->want_first[t->req + 1];
	     i++) {
		uint32_t node = p->snap->want[i];
		struct place_need own;
		const struct place_need *here = need_on(t, need, node, &own);

		if (p->snap->node.pool[node] == pool &&
		    (t->trees >> place_index_tree(p->index, node) & 1) &&
		    is_of_kind(t, match_class_of(p->match, node)) &&
		    !(t->wanted & ~counted_on(t, node)) &&
		    place_index_has(p->index, node, here) && accept(node, t) &&
		    better(t, node, best))
			best = node;
	}
	return best;
}

static uint32_t best_with(struct place_trial *t, const struct place_need *need)
{
	const struct snap_reqs *r = &t->p->snap->req;

	return r->want_first[t->req] < r->want_first[t->req + 1]
	           ? best_named(t, need)
	           : best_on_shelf(t, need);
}

/*
 * Returns the node that is left with the best balance of CPUs and GPUs, or
 * SNAP_NONE. A job with more CPUs per GPU than usual goes to a node with spare
 * CPUs, one with fewer to a node with spare GPUs. The steps are coarse, so that
 * the order of the pool decides among nodes that are about as good. *ret_lost:
 * by how many steps the node has too little to spare.
 */
static uint32_t best_balanced(struct place_trial *t, struct place_need *need,
                              int64_t *ret_lost)
{
	const struct place_index *index = t->p->index;
	int64_t takes = place_index_balance(index, need->cpu, need->gpu);
	int64_t *more = takes > 0 ? &need->more_cpu : &need->more_gpu;
	enum place_dim dim = takes > 0 ? DIM_MORE_CPU : DIM_MORE_GPU;
	int64_t top = (takes > 0 ? takes : -takes) / BALANCE_STEP;
	uint32_t node = best_with(t, need), found;
	int64_t lo = 0, hi = top + 1, at = top;

	*ret_lost = 0;
	if (!top || node == SNAP_NONE)
		return node;
	lo = place_index_have(index, node, dim) / BALANCE_STEP;
	/* Binary search: some node has at least lo to spare, no node has hi. */
	for (; hi - lo > 1; at = lo + (hi - lo) / 2) {
		*more = at * BALANCE_STEP;
		found = best_with(t, need);
		if (found == SNAP_NONE) {
			hi = at;
		} else {
			node = found;
			lo = place_index_have(index, node, dim) / BALANCE_STEP;
		}
	}
	*more = 0;
	*ret_lost = lo < top ? top - lo : 0;
	return node;
}

/* Returns the node on which placing the tasks costs other jobs the fewest GPUs,
 * or SNAP_NONE. The cost is the number of GPUs for which no CPUs would be left,
 * plus the GPUs taken times the pressure on their kind of node. */
static uint32_t best_weighed(struct place_trial *t, struct place_need *need)
{
	struct place_scarce *scarce = t->p->scarce;
	uint32_t best = SNAP_NONE;
	int64_t least = 0, lost;

	if (!scarce)
		return best_balanced(t, need, &lost);
	for (t->kind = 0; t->kind < place_scarce_nkinds(scarce); t->kind++) {
		uint32_t node = best_balanced(t, need, &lost);

		if (node == SNAP_NONE)
			continue;
		lost += place_scarce_pressure(scarce, t->kind) * need->gpu /
		        (1000 * BALANCE_STEP);
		if (best == SNAP_NONE || lost < least ||
		    (lost == least && better(t, node, best))) {
			best = node;
			least = lost;
		}
	}
	t->kind = SNAP_NONE;
	return best;
}

static uint32_t best_in_order(struct place_trial *t, struct place_need *need)
{
	return need->gpu && node_order_of(t) == ORDER_PACK
	           ? best_weighed(t, need)
	           : best_with(t, need);
}

static struct place_need need_of(const struct place_trial *t)
{
	const struct snap_reqs *r = &t->p->snap->req;
	int64_t gpus = r->gpus[t->req];

	return (struct place_need){
		.cpu = t->ask * r->cpus[t->req],
		.mem = t->ask * r->mem[t->req],
		.tmp = t->ask * r->tmp[t->req],
		.slot = t->ask,
		.gpu = t->ask * gpus,
		.whole = t->ask * (gpus / 1000),
		.empty = r->exclusive[t->req],
	};
}

/* Returns the best node for t->ask tasks by the order of the pool, or
 * SNAP_NONE. */
static uint32_t best_packed(struct place_trial *t)
{
	int64_t gpus = t->p->snap->req.gpus[t->req];
	struct place_need need = need_of(t);

	if (gpus && gpus < 1000 && node_order_of(t) != ORDER_BEST_FIT) {
		uint32_t node;

		/* The index knows where partitions may be. */
		if (t->p->work->loose & LOOSE_SLICES)
			return best_in_order(t, &need);
		/* Use a shared GPU before dividing a whole one. */
		need.part = gpus;
		node = best_in_order(t, &need);
		if (node != SNAP_NONE)
			return node;
		need.part = 0;
		need.whole = 1;
		return best_in_order(t, &need);
	}
	return best_in_order(t, &need);
}

/* Find the nodes that fall least short of the job's preferences. If they fall
 * less short than `has`, return the best of them, else SNAP_NONE. Among them,
 * nodes whose free GPUs keep their share of CPUs and memory come first. */
static uint32_t best_wished(struct place_trial *t, const struct fit_excess *has)
{
	struct place_need need = need_of(t);
	uint32_t node = SNAP_NONE;
	bool spare = t->spare;

	t->excess = *has;
	t->wish = WISH_SEEK;
	t->spare = false;
	best_with(t, &need);
	t->wish = WISH_LIMIT;
	t->spare = spare;
	if (fit_excess_is_less(&t->excess, has)) {
		node = best_packed(t);
		t->spare = false;
		if (node == SNAP_NONE)
			node = best_packed(t);
	}
	t->wish = WISH_NONE;
	t->spare = spare;
	return node;
}

/* Returns the best node for t->ask tasks, or SNAP_NONE. The preferences
 * of the job matter more than the order of the pool. Usually the first node
 * meets them all. */
static uint32_t best_node(struct place_trial *t)
{
	uint32_t node = best_packed(t), wished;
	struct fit_excess has;

	if (node == SNAP_NONE || !t->wishes)
		return node;
	has = fit_excess_of(t->p->work, t->req, node, t->ask);
	if (!has.numas && !has.links)
		return node;
	wished = best_wished(t, &has);
	return wished == SNAP_NONE ? node : wished;
}

/* Returns an upper bound of the tasks that fit on one node; max if none is
 * known. */
static int64_t most_tasks(const struct place_trial *t, int64_t max)
{
	const struct snap_reqs *r = &t->p->snap->req;
	int64_t need[DIM_N] = {
		[DIM_CPU] = r->cpus[t->req], [DIM_MEM] = r->mem[t->req],
		[DIM_TMP] = r->tmp[t->req],  [DIM_SLOT] = 1,
		[DIM_GPU] = r->gpus[t->req],
	};
	bool by_mem = snap_is_by_mem(t->p->snap, t->req);
	int64_t most = 0;

	for (uint32_t c = t->class; max > 1 && c < t->class_end; c++) {
		if (by_mem)
			need[DIM_GPU] =
			    snap_gpus_on(t->p->snap, t->req, first_of(t, c));
		for (int tree = 0; tree < NTREES; tree++) {
			int64_t here = max;

			if (!(t->trees >> tree & 1))
				continue;
			for (int d = 0; d < DIM_N; d++) {
				if (need[d])
					here = smaller(here,
					               place_index_most(
							   t->p->index,
							   t->allowed->class[c],
							   tree, d, NULL) /
					                   need[d]);
			}
			most = here > most ? here : most;
		}
	}
	return max > 1 ? most : max;
}

/* Set t->ask to this many tasks. Returns the best node for them, or SNAP_NONE.
 */
static uint32_t best_for(struct place_trial *t, int64_t ask)
{
	t->ask = ask;
	return best_node(t);
}

/* How a trial spreads tasks over nodes. */
enum fill {
	FILL_MOST, /* as many tasks on each node as fit */
	FILL_EVEN, /* the same number on each of a given number of nodes */
	FILL_ONE   /* one by one, each on the best node */
};

/* Find the largest number of tasks, at most max, that some node can hold, and
 * set t->ask to it. Returns the best node that can hold as many, or SNAP_NONE
 * if no node can hold a task. */
static uint32_t seek_most(struct place_trial *t, int64_t max)
{
	int64_t lo = 0, hi = smaller(max, t->most);
	uint32_t node = hi > 0 ? best_for(t, hi) : SNAP_NONE, found;

	if (node != SNAP_NONE)
		return node;
	/* lo tasks fit on some node (or lo is 0); hi tasks fit on none. */
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

static int64_t count_wanted(const struct place_trial *t)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < t->allowed->ncounts; i++)
		sum += t->wants[i];
	return sum;
}

/* Returns how many nodes the trial must use exactly, or 0 if it may use any
 * number. A job that grows uses only nodes that it already has, or one more. */
static uint32_t nodes_wanted(const struct place_trial *t)
{
	return t->p->grows ? t->p->growth.opens : t->nodes;
}

static int64_t at_least_one(int64_t n)
{
	return n > 1 ? n : 1;
}

/* Returns the node to use next and sets t->ask to the number of tasks for it.
 * Returns SNAP_NONE if there is no node. */
static uint32_t seek(struct place_trial *t, enum fill how)
{
	const struct snap_reqs *r = &t->p->snap->req;
	int64_t max = t->left;

	if (r->tasks_per_node[t->req])
		max = smaller(max, r->tasks_per_node[t->req]);
	if (how == FILL_ONE)
		return best_for(t, 1);
	/* Leave at least one task for each further node that the
	 * constraint needs. */
	if (t->wanted && !t->p->grows)
		max = smaller(max, at_least_one(t->left - count_wanted(t) + 1));
	if (nodes_wanted(t)) {
		if (!t->nodes_left)
			return SNAP_NONE;
		/* Leave at least one task for each further node. */
		max = smaller(max, (int64_t)t->left - t->nodes_left + 1);
	}
	if (how == FILL_EVEN) {
		int64_t ask = (t->left + t->nodes_left - 1) / t->nodes_left;

		return ask > max ? SNAP_NONE : best_for(t, ask);
	}
	return seek_most(t, max);
}

static void put(struct place_trial *t, uint32_t node)
{
	t->apart |= t->p->own[node] > t->p->had[node].tasks;
	place_put(t->p, t->req, node, t->ask);
	t->left -= (uint32_t)t->ask;
	t->nodes_left -= t->nodes_left > 0;
}

/* Whether the trial may fail although enough tasks fit, because it
 * chose the wrong nodes: it must use an exact number of nodes, or the
 * constraint counts nodes. */
static bool is_picky(const struct place_trial *t)
{
	return nodes_wanted(t) || t->allowed->ncounts;
}

/* Returns the node to use next; if possible, one whose free GPUs keep their
 * share of CPUs and memory. */
static uint32_t seek_sparing(struct place_trial *t, enum fill how)
{
	uint32_t node = seek(t, how);

	if (node != SNAP_NONE || !t->spare || is_picky(t))
		return node;
	t->spare = false;
	t->most = most_tasks(t, t->left);
	return seek(t, how);
}

/* Returns a node on which these parts of the constraint (each with a count)
 * hold; if possible, a node on which all other parts that still need nodes
 * hold, too. */
static uint32_t seek_counted(struct place_trial *t, enum fill how,
                             uint8_t parts)
{
	int64_t most = t->most;
	uint32_t node;

	t->wanted = 0;
	for (uint32_t i = 0; i < t->allowed->ncounts; i++)
		t->wanted |= (uint8_t)((t->wants[i] > 0) << i);
	node = seek_sparing(t, how);
	if (node == SNAP_NONE) {
		t->wanted = parts;
		t->most = most;
		node = seek_sparing(t, how);
	}
	t->wanted = 0;
	/* The search may have lowered t->most to a bound that is true only for
	 * nodes on which the wanted parts hold. */
	t->most = most;
	return node;
}

/* For each part of the constraint with a count, place tasks on that many nodes
 * on which the part holds. Returns false if there are too few such nodes or
 * tasks. */
static bool fill_counted(struct place_trial *t, enum fill how)
{
	for (uint32_t i = 0; i < t->allowed->ncounts; i++) {
		while (t->wants[i]) {
			uint32_t node =
			    t->left ? seek_counted(t, how, (uint8_t)(1 << i))
				    : SNAP_NONE;

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

/* For a job that grows: place tasks on a node on which parts of the constraint
 * hold that need more nodes. Returns false if there is none, although the nodes
 * that the job gets later may not be enough for these parts. A part that needs
 * more nodes than these must hold. */
static bool fill_growth(struct place_trial *t, enum fill how)
{
	uint32_t later = t->p->growth.later, node = SNAP_NONE;
	uint8_t must = 0;

	for (uint32_t k = 0; k < t->allowed->ncounts; k++)
		must |= (uint8_t)((t->wants[k] > later) << k);
	for (uint32_t k = 0; k < t->allowed->ncounts && node == SNAP_NONE; k++)
		if (t->wants[k] && (!must || must >> k & 1))
			node = seek_counted(t, how,
			                    must ? must : (uint8_t)(1 << k));
	if (node == SNAP_NONE)
		return count_wanted(t) <= later;
	put(t, node);
	return true;
}

static bool fill(struct place_trial *t, enum fill how)
{
	t->left = t->tasks;
	t->nodes_left = nodes_wanted(t);
	t->spare = t->sparing;
	t->most = most_tasks(t, t->left);
	memcpy(t->wants, t->p->grows ? t->p->growth.wants : t->allowed->count,
	       sizeof(t->wants));
	if (t->p->grows ? !fill_growth(t, how) : !fill_counted(t, how))
		return false;
	while (t->left) {
		uint32_t node = seek_sparing(t, how);

		if (node == SNAP_NONE && t->cap == CAP_RISE) {
			/* All nodes with fewer tasks are full. */
			t->p->cap++;
			node = seek_sparing(t, how);
		}
		if (node == SNAP_NONE)
			return false;
		put(t, node);
	}
	return !t->nodes_left;
}

/* Spread the tasks over nodes as the request says, else by the order of the
 * pool. */
static bool fill_somehow(struct place_trial *t)
{
	const struct snap *s = t->p->snap;

	if (nodes_wanted(t)) {
		if (fill(t, FILL_EVEN))
			return true;
		place_undo(t->p);
		return fill(t, FILL_MOST);
	}
	if (t->cap != CAP_NONE)
		return fill(t, FILL_ONE);
	/* An exclusive job has its nodes to itself, so there is no reason to
	 * spread. */
	if (node_order_of(t) == ORDER_SPREAD && !t->packs &&
	    !s->req.exclusive[t->req])
		return fill(t, FILL_ONE);
	return fill(t, FILL_MOST);
}

bool place_trial_fill(struct place_trial *t)
{
	const struct snap_reqs *r = &t->p->snap->req;

	/* Beside an exclusive job, no other one could use what it spares. */
	t->sparing = !r->gpus[t->req] && !r->exclusive[t->req] &&
	             node_order_of(t) != ORDER_BEST_FIT;
	if (fill_somehow(t))
		return true;
	if (!t->sparing || !is_picky(t))
		return false;
	place_undo(t->p);
	t->sparing = false;
	return fill_somehow(t);
}

/* Whether all tasks of the trial are on one node, so that no placement is
 * closer. */
static bool is_on_one(const struct place *p)
{
	for (size_t i = p->first_task; i < p->ntasks; i++) {
		if (p->task[i].node != p->task[p->first_task].node)
			return false;
	}
	return true;
}

/* Whether to try to place the tasks closer together, in one domain, although
 * the request does not need that. */
static bool is_for_gathering(const struct place_trial *t)
{
	const struct snap *s = t->p->snap;
	uint32_t node = t->p->task[t->p->first_task].node;

	if (!s->domain.n || is_on_one(t->p))
		return false;
	return s->req.like[t->req] != LEVEL_NONE ||
	       s->pool.order[s->node.pool[node]] == ORDER_PACK;
}

bool place_trial_all(struct place_trial *t)
{
	if (t->p->within != SNAP_NONE)
		return place_topology_fill_in(t, t->p->within);
	if (t->p->snap->req.need[t->req] != LEVEL_NONE)
		return place_topology_fill(t);
	if (t->p->snap->req.spread[t->req] != LEVEL_NONE)
		return place_topology_spread(t);
	if (t->p->snap->req.spread_like[t->req] != LEVEL_NONE) {
		if (place_topology_spread(t))
			return true;
		place_undo(t->p);
	}
	if (!place_trial_fill(t))
		return false;
	if (!is_for_gathering(t))
		return true;
	place_undo(t->p);
	if (place_topology_fill(t))
		return true;
	place_undo(t->p);
	return place_trial_fill(t);
}
