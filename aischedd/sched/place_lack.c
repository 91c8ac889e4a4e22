/* place_lack.c - why a job does not fit: what it lacks, and where */
#include "aischedd/sched/place_lack.h"

#include "aischedd/sched/fit.h"
#include "aischedd/sched/fit/near.h"
#include "aischedd/sched/fit_align.h"
#include "aischedd/sched/fit_mig.h"
#include "aischedd/sched/place_topology.h"
#include "aischedd/sched/verdict.h"

/* lack_numa() compares at most this many nodes. */
enum { LOOKS = 256 };

/* In this file `res` is an enum resource, or WHAT_TMP. */

/* Returns what a task needs of a resource on a node. */
static int64_t need_on(const struct place_trial *t, uint32_t node, int res)
{
	const struct snap_reqs *r = &t->p->snap->req;

	return res == RES_CPU    ? r->cpus[t->req]
	       : res == RES_MEM  ? r->mem[t->req]
	       : res == WHAT_TMP ? r->tmp[t->req]
	                         : snap_gpus_on(t->p->snap, t->req, node);
}

/* Returns what a task needs of a resource on that node where it needs least. */
static int64_t need_of(const struct place_trial *t, int res)
{
	int64_t least = INT64_MAX;

	for (uint32_t c = t->class; c < t->class_end; c++) {
		uint32_t class = t->allowed->class[c];
		uint32_t node = match_class(t->p->match, class)->node[0];
		int64_t need = need_on(t, node, res);

		least = need < least ? need : least;
		if (!snap_is_by_mem(t->p->snap, t->req))
			break;
	}
	return least;
}

/* Returns the dimension in which free amounts of a resource are found; of GPUs
 * there are two, whole ones and parts. */
static enum place_dim dim_of(int res, bool part)
{
	return res == RES_CPU    ? DIM_CPU
	       : res == RES_MEM  ? DIM_MEM
	       : res == WHAT_TMP ? DIM_TMP
	       : part            ? DIM_PART
	                         : DIM_WHOLE;
}

/* Returns the free thousandths of whole GPUs that the request may use; if a
 * part of a GPU is needed and no whole one is free, the largest free part; if a
 * partition is needed, those of all that are free. */
static int64_t typed_gpus(const struct place_trial *t, uint32_t node)
{
	const struct snap *s = t->p->snap;
	int64_t whole = 0, part = 0;

	for (uint32_t i = s->node.gpu_first[node];
	     i < s->node.gpu_first[node + 1]; i++) {
		int64_t has = t->p->work->device[i];

		if (!fit_devices_may(s, t->req, node, i))
			continue;
		if (s->req.profile[t->req])
			has = need_of(t, RES_GPU) *
			      fit_mig_count(t->p->work, t->req, node, i);
		whole += has == 1000 ? 1000 : 0;
		part = has > part ? has : part;
	}
	return whole || need_of(t, RES_GPU) >= 1000 ? whole : part;
}

static bool is_mixed(const struct place_trial *t, uint32_t node)
{
	uint32_t class = match_class_of(t->p->match, node);

	return (t->p->snap->gpu.parts ||
	        t->p->snap->req.gpu_type[t->req] != SNAP_NONE) &&
	       match_class(t->p->match, class)->mixed;
}

static int64_t node_has(const struct place_trial *t, uint32_t node, int res)
{
	const struct place_index *index = t->p->index;
	int64_t has = place_index_have(index, node, dim_of(res, false));

	if (has < 0)
		return 0;
	if (res != RES_GPU)
		return has;
	if (is_mixed(t, node))
		return typed_gpus(t, node);
	return has > 0 || need_of(t, res) >= 1000
	           ? 1000 * has
	           : place_index_have(index, node, DIM_PART);
}

static bool in_trees(const struct place_trial *t, uint32_t node)
{
	return t->trees >> place_index_tree(t->p->index, node) & 1 &&
	       match_allows(t->allowed, node);
}

/* Whether nodes of the class must be looked at one by one, because the sums and
 * maxima of the class include nodes or GPUs that the request may not use. */
static bool look_at_each(const struct place_trial *t, uint32_t class)
{
	return t->allowed->only ||
	       is_mixed(t, match_class(t->p->match, class)->node[0]);
}

static bool richer(const struct place_trial *t, uint32_t a, uint32_t b, int res)
{
	int64_t spare = node_has(t, a, res) - need_on(t, a, res), other;

	if (b == SNAP_NONE)
		return true;
	other = node_has(t, b, res) - need_on(t, b, res);
	return spare != other ? spare > other : a < b;
}

/* Returns the node of a class that has the most of a resource free, or
 * SNAP_NONE. */
static uint32_t richest_of_class(const struct place_trial *t, uint32_t class,
                                 int res)
{
	const struct node_class *c = match_class(t->p->match, class);
	bool one_by_one = look_at_each(t, class);
	uint32_t best = SNAP_NONE, node;

	for (uint32_t i = 0; one_by_one && i < c->nnodes; i++) {
		node = c->node[i];
		if (in_trees(t, node) && richer(t, node, best, res))
			best = node;
	}
	if (one_by_one)
		return best;
	for (int i = 0; i < NTREES * 2; i++) {
		enum place_tree tree = i / 2;

		if (t->trees >> tree & 1 &&
		    place_index_most(t->p->index, class, tree,
		                     dim_of(res, i % 2), &node) >= 0 &&
		    richer(t, node, best, res))
			best = node;
	}
	return best;
}

static uint32_t richest(const struct place_trial *t, int res)
{
	uint32_t best = SNAP_NONE;

	for (uint32_t c = t->class; c < t->class_end; c++) {
		uint32_t node = richest_of_class(t, t->allowed->class[c], res);

		if (node != SNAP_NONE && richer(t, node, best, res))
			best = node;
	}
	return best;
}

static int64_t node_total(const struct snap *s, uint32_t node, int res)
{
	return res == RES_CPU    ? s->node.cpu_total[node]
	       : res == RES_MEM  ? s->node.mem_total[node]
	       : res == WHAT_TMP ? s->node.tmp_total[node]
	                         : (int64_t)1000 * snap_node_ngpus(s, node);
}

/* The order in which resources are checked: if no node has enough GPUs for a
 * task, GPUs are the reason. */
static const int by_scarcity[] = { RES_GPU, RES_CPU, RES_MEM, WHAT_TMP };

static void lack_at(const struct place_trial *t, uint32_t node, int res,
                    struct place_lack *ret)
{
	ret->what = res;
	ret->node = node;
	ret->need = need_on(t, node, res);
	ret->have = node_has(t, node, res);
	ret->total = node_total(t->p->snap, node, res);
}

/* Whether the node has too few wholly free CPUs for a task. Always false on a
 * node where CPUs are only counted, not assigned to tasks. */
static bool lacks_whole_cpus(const struct place_trial *t, uint32_t node,
                             const struct place_lack *lack)
{
	const uint32_t *cpu = t->p->snap->node.cpu_first;

	return cpu[node] != cpu[node + 1] &&
	       (lack->need < 1000 || lack->have < lack->need);
}

/* Find what the next task lacks, while the tasks placed before it still hold
 * their resources. */
static struct place_lack lack_of(const struct place_trial *t)
{
	const struct snap_reqs *r = &t->p->snap->req;
	struct place_lack ret = { .got = t->tasks - t->left,
		                  .node = SNAP_NONE,
		                  .what = WHAT_NODE,
		                  .need = r->nodes[t->req],
		                  .have = r->nodes[t->req] - t->nodes_left };
	uint32_t node;

	for (uint32_t i = 0; i < t->allowed->ncounts; i++) {
		if (!t->wants[i])
			continue;
		ret.what = WHAT_COUNTS;
		ret.need = t->allowed->count[i];
		ret.have = ret.need - t->wants[i];
		return ret;
	}
	if (r->exclusive[t->req])
		return ret;
	for (size_t i = 0; i < ARRAY_SIZE(by_scarcity); i++) {
		int res = by_scarcity[i];

		node = need_of(t, res) ? richest(t, res) : SNAP_NONE;
		if (node != SNAP_NONE &&
		    node_has(t, node, res) < need_on(t, node, res)) {
			lack_at(t, node, res, &ret);
			return ret;
		}
	}
	/* Each amount alone is free on some node, but no node has all of them
	 * free: say what one of the nodes lacks. */
	node = richest(t, need_of(t, RES_GPU) ? RES_GPU : RES_CPU);
	for (size_t i = 0; node != SNAP_NONE && i < ARRAY_SIZE(by_scarcity);
	     i++) {
		int res = by_scarcity[i];

		if (node_has(t, node, res) < need_on(t, node, res)) {
			lack_at(t, node, res, &ret);
			return ret;
		}
	}
	ret.node = node;
	if (node != SNAP_NONE &&
	    !place_index_have(t->p->index, node, DIM_SLOT)) {
		ret.what = WHAT_SLOT;
		ret.need = 1;
		ret.have = 0;
		ret.total = t->p->snap->node.slot_total[node];
		return ret;
	}
	if (node != SNAP_NONE && !r->nodes[t->req] &&
	    !r->tasks_per_node[t->req]) {
		ret.need = r->cpus[t->req];
		ret.have = 1000 * t->p->work->idle[node];
		ret.what =
		    lacks_whole_cpus(t, node, &ret) ? WHAT_DEVICES : WHAT_KEPT;
	}
	return ret;
}

/* Sum up what is free on those nodes of the pool that the request may use. */
static void sum_free(const struct place_trial *t, int64_t ret[RES_N])
{
	for (uint32_t c = t->class; c < t->class_end; c++) {
		uint32_t class = t->allowed->class[c];
		const struct node_class *nc = match_class(t->p->match, class);

		bool one_by_one = look_at_each(t, class);

		for (int r = 0; !one_by_one && r < RES_N; r++)
			ret[r] += place_index_sum(t->p->index, class)[r];
		for (uint32_t i = 0; one_by_one && i < nc->nnodes; i++) {
			if (!in_trees(t, nc->node[i]))
				continue;
			for (int r = 0; r < RES_N; r++)
				ret[r] += node_has(t, nc->node[i], r);
		}
	}
}

/* Set lack->scattered and lack->sum from the sums over the pool. Called after
 * place_undo(), so that the job's own tasks are not counted as used. */
static void lack_sum(const struct place_trial *t, struct place_lack *lack)
{
	int64_t sum[RES_N] = { 0 }, tasks = t->tasks;

	sum_free(t, sum);
	lack->scattered = lack->node != SNAP_NONE && lack->what != WHAT_SLOT &&
	                  lack->what != WHAT_TMP;
	for (int r = 0; r < RES_N; r++)
		lack->scattered &= sum[r] >= tasks * need_of(t, r);
	if (lack->what < RES_N)
		lack->sum = sum[lack->what];
}

/* Whether the job would fit without these demands (LOOSE_*); if so, *ret_node
 * is the node of its first task. */
static bool fits_loosely(struct place_trial *t, unsigned loose,
                         uint32_t *ret_node)
{
	struct place *p = t->p;
	bool fits;

	p->work->loose = loose;
	fits = place_trial_all(t);
	if (fits)
		*ret_node = p->task[p->first_task].node;
	place_undo(p);
	p->work->loose = 0;
	return fits;
}

static bool demands_numas(const struct snap *s, uint32_t req)
{
	return s->req.numa[req] == NUMA_STRICT ||
	       s->req.numa[req] == NUMA_TIGHT;
}

static bool demands_links(const struct snap *s, uint32_t req)
{
	return s->req.links[req] == LINKS_STRICT && s->req.gpus[req] >= 1000;
}

/* Put into *ret the NUMA node with the most free resources, on ret->node or on
 * another node that would hold a task if the task's demands for NUMA nodes and
 * links were ignored. */
static void lack_numa(const struct place_trial *t, struct place_lack *ret)
{
	const struct match *m = t->p->match;
	struct work *w = t->p->work;
	struct fit_numa best = fit_best_numa(w, t->req, ret->node);
	uint32_t looks = 0;

	ret->need = fit_align_span(w, t->req, ret->node);
	w->loose = LOOSE_NUMA | LOOSE_LINKS;
	for (uint32_t c = t->class; c < t->class_end; c++) {
		const struct node_class *nc =
		    match_class(m, t->allowed->class[c]);

		for (uint32_t i = 0; i < nc->nnodes && looks < LOOKS; i++) {
			struct fit_numa it;

			looks++;
			if (!in_trees(t, nc->node[i]) ||
			    !place_fits(t->p, t->req, nc->node[i], 1))
				continue;
			it = fit_best_numa(w, t->req, nc->node[i]);
			if (!fit_numa_is_more(&it, &best))
				continue;
			best = it;
			ret->node = nc->node[i];
		}
	}
	w->loose = 0;
	ret->have = best.gpus;
	ret->total = best.cpus;
	ret->sum = best.mem;
}

/* Whether the job would fit without its demands for NUMA nodes or links; if so,
 * *ret says which of the two is the reason, and which node comes closest. */
static bool lacks_alignment(struct place_trial *t, struct place_lack *ret)
{
	const struct snap *s = t->p->snap;
	bool numas = demands_numas(s, t->req);
	unsigned both = LOOSE_NUMA | LOOSE_LINKS;
	uint32_t node;

	if ((!numas && !demands_links(s, t->req)) ||
	    !fits_loosely(t, both, &node))
		return false;
	ret->node = node;
	if (!numas || fits_loosely(t, LOOSE_LINKS, &ret->node)) {
		ret->why = WHY_LinkAlignment;
		ret->what = WHAT_LINKS;
		ret->have = fit_best_links(t->p->work, t->req, ret->node,
		                           &ret->need, &ret->total);
		return true;
	}
	ret->why = WHY_NumaAlignment;
	ret->what = WHAT_NUMA;
	lack_numa(t, ret);
	return true;
}

/* Whether the job would fit if all free slices counted, not only those where
 * its partition may be. If so, *ret is the GPU with the most free slices on the
 * node of the job's first task. */
static bool lacks_slices(struct place_trial *t, struct place_lack *ret)
{
	const struct snap *s = t->p->snap;

	if (!s->req.profile[t->req] ||
	    !fits_loosely(t, LOOSE_SLICES, &ret->node))
		return false;
	ret->why = WHY_Partition;
	ret->what = WHAT_SLICES;
	ret->have = fit_mig_best(t->p->work, ret->node, &ret->need);
	ret->total = mig_profile[s->req.profile[t->req]].all;
	return true;
}

/* Set *ret to the kind of devices of which one task could have the fewest of
 * what it needs where it needs them on this node, unless *ret names a node with
 * a smaller shortfall. */
static void more_near(const struct place_trial *t, uint32_t node,
                      struct place_lack *ret)
{
	const struct snap *s = t->p->snap;
	unsigned kinds = s->req.pcie[t->req] | s->req.near[t->req];

	for (; kinds; kinds &= kinds - 1) {
		uint32_t kind = (uint32_t)__builtin_ctz(kinds);
		int64_t need = s->req.devs[t->req].n[kind];
		int64_t have = fit_near_most(t->p->work, t->req, node, kind);

		/* Each kind may be there, but not with the same GPUs. */
		have = have < need ? have : need - 1;
		if (ret->node != SNAP_NONE &&
		    need - have >= ret->need - ret->have)
			continue;
		ret->node = node;
		ret->what = WHAT_NEAR + (int)kind;
		ret->need = need;
		ret->have = have;
		ret->total = s->node.dev_total[node].n[kind];
	}
}

/* Set *ret to the kind of devices that is short on this node, unless *ret names
 * a node with a smaller shortfall. */
static void more_devs(const struct place_trial *t, uint32_t node,
                      struct place_lack *ret)
{
	const struct snap *s = t->p->snap;
	struct work *w = t->p->work;
	const int64_t *have = w->dev + node * s->dev.n;
	unsigned kinds = s->req.pcie[t->req] | s->req.near[t->req];

	for (uint32_t i = 0; i < s->dev.n; i++) {
		int64_t need = s->req.devs[t->req].n[i];

		if (!need || have[i] >= need || kinds >> i & 1)
			continue;
		if (ret->node != SNAP_NONE &&
		    need - have[i] >= ret->need - ret->have)
			return;
		ret->node = node;
		ret->what = WHAT_DEV + (int)i;
		ret->need = need;
		ret->have = have[i] > 0 ? have[i] : 0;
		ret->total = s->node.dev_total[node].n[i];
		return;
	}
	w->loose = 0;
	if (snap_places_devs(s, t->req) && !place_fits(t->p, t->req, node, 1))
		more_near(t, node, ret);
	w->loose = LOOSE_DEVS;
}

/* Set *ret to the kind of devices that is short, on that node which has the
 * most of it free among those where the next task would fit without its
 * devices. Tasks placed before it still hold theirs. */
static void seek_devs(const struct place_trial *t, struct place_lack *ret)
{
	struct work *w = t->p->work;
	uint32_t looks = 0;

	ret->why = WHY_Devices;
	ret->domain = ret->node = SNAP_NONE;
	w->loose = LOOSE_DEVS;
	for (uint32_t c = t->class; c < t->class_end; c++) {
		const struct node_class *nc =
		    match_class(t->p->match, t->allowed->class[c]);

		for (uint32_t i = 0; i < nc->nnodes && looks < LOOKS; i++) {
			looks++;
			if (in_trees(t, nc->node[i]) &&
			    place_fits(t->p, t->req, nc->node[i], 1))
				more_devs(t, nc->node[i], ret);
		}
	}
	w->loose = 0;
}

/* Whether the job would fit if it asked for no devices other than GPUs; if so,
 * *ret becomes `seen`, which seek_devs() has found. */
static bool lacks_devs(struct place_trial *t, const struct place_lack *seen,
                       struct place_lack *ret)
{
	uint32_t node;

	if (seen->node == SNAP_NONE || !fits_loosely(t, LOOSE_DEVS, &node))
		return false;
	*ret = *seen;
	return true;
}

/* Whether the job would fit if it did not shun nodes because of where other
 * jobs are, or because they have refused it; if so, *ret says so. */
static bool lacks_company(struct place_trial *t, struct place_lack *ret)
{
	const struct snap *s = t->p->snap;
	const struct allowed *now = t->allowed;
	uint32_t node;
	bool fits;

	if (!now->unshunned)
		return false;
	t->allowed = now->unshunned;
	fits = fits_loosely(t, 0, &node);
	t->allowed = now;
	if (!fits)
		return false;
	ret->why = s->req.refused[t->req] ? WHY_StartFailed : WHY_Affinity;
	ret->node = s->req.refused[t->req]
	                ? s->shun[s->req.shun_first[t->req + 1] - 1]
	                : SNAP_NONE;
	return true;
}

struct place_lack place_lack_of(struct place_trial *t)
{
	const struct snap_reqs *r = &t->p->snap->req;
	bool fits = place_trial_fill(t);
	struct place_lack ret = lack_of(t), devs = ret;
	bool asks = devices_any(&r->devs[t->req]);

	if (asks)
		seek_devs(t, &devs);
	place_undo(t->p);
	lack_sum(t, &ret);
	ret.domain = SNAP_NONE;
	if (lacks_company(t, &ret) || lacks_alignment(t, &ret) ||
	    lacks_slices(t, &ret) || (asks && lacks_devs(t, &devs, &ret)))
		return ret;
	/* A job of a single task is always in one domain. */
	if ((r->need[t->req] != LEVEL_NONE && (fits || t->tasks > 1)) ||
	    (r->spread[t->req] != LEVEL_NONE && fits)) {
		ret.why = WHY_Topology;
		place_topology_lack(t, &ret);
	}
	return ret;
}
