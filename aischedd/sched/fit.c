/* fit.c - one node: how many tasks fit, and which devices each gets */
#include "aischedd/sched/fit.h"

#include <string.h>

#include "aischedd/sched/fit/near.h"
#include "aischedd/sched/fit_align.h"

static const struct fit_where anywhere = { ALL_NUMAS, ALL_GPUS };

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Returns how many tasks fit, at most max, if nfree of a resource is free and
 * each task needs `amount`. */
static int64_t fit_amount(int64_t nfree, int64_t amount, int64_t max)
{
	if (!amount)
		return max;
	return nfree < amount ? 0 : min(nfree / amount, max);
}

/* Returns how many tasks find their devices other than GPUs, at most max. */
static int64_t fit_devs(const struct work *w, uint32_t req, uint32_t node,
                        int64_t max)
{
	uint32_t n = w->snap->dev.n;

	for (uint32_t i = 0; i < n && !(w->loose & LOOSE_DEVS); i++)
		max = fit_amount(w->dev[node * n + i],
		                 w->snap->req.devs[req].n[i], max);
	return max;
}

/* --- link groups ------------------------------------------------------- */

/* Returns the fewest link groups in which n GPUs of the request's type could be
 * if the node were empty. */
static int64_t fewest_groups(const struct work *w, uint32_t req, uint32_t node,
                             int64_t n)
{
	return fit_devices_fewest(w, node, fit_devices_all(w, req, node), 0,
	                          (uint32_t)n);
}

/* Returns by how many link groups the job exceeds the fewest possible if it
 * gets `more` GPUs on the node in addition to its own. */
static int64_t excess_of_links(const struct work *w, uint32_t req,
                               uint32_t node, int64_t more)
{
	uint64_t own = w->own_gpus[node];
	uint64_t set = fit_devices_whole(w, req, node, &anywhere);
	int64_t n = __builtin_popcountll(own) + more;

	return (int64_t)fit_devices_fewest(w, node, set, own, (uint32_t)more) -
	       fewest_groups(w, req, node, n);
}

/* --- tasks on trial ---------------------------------------------------- */

/* Returns the NUMA nodes whose memory the task uses: those that were chosen for
 * the task. If none were chosen, these are all NUMA nodes of the node for a
 * task with NUMA_PREFER, and those of the task's devices for any other task. */
static uint32_t memory_of(const struct snap *s, uint32_t req,
                          const struct fit_where *at,
                          const struct snap_task *task,
                          const struct snap_cpu_use *use, uint32_t nuse)
{
	struct snap_task t[2] = { *task, { .cpu_first = nuse } };
	uint32_t n = snap_node_nnumas(s, task->node);
	uint32_t all = n < SNAP_NUMAS ? ((uint32_t)1 << n) - 1 : UINT32_MAX;

	t->cpu_first = 0;
	if (at->numas != ALL_NUMAS)
		return at->numas & all;
	return s->req.numa[req] == NUMA_PREFER ? all
	                                       : snap_task_numas(s, t, use);
}

/* Choose the devices of a task in this part of the node, and subtract all that
 * the task holds. Returns how many entries of `use` were filled. */
static uint32_t take_task(struct work *w, uint32_t req,
                          const struct fit_where *at, struct snap_task *ret,
                          struct snap_cpu_use *use)
{
	const struct snap *s = w->snap;
	uint32_t nuse;

	ret->gpus = 0;
	ret->gpu_milli = 0;
	ret->units = 0;
	ret->numas = 0;
	fit_devices_gpus(w, req, at, ret);
	nuse = fit_devices_cpus(w, req, ret, at->numas, use);
	if (snap_node_nnumas(s, ret->node))
		ret->numas = memory_of(s, req, at, ret, use, nuse);
	work_cpus(w, req, ret->node, use, nuse, -1);
	work_rest(w, req, ret, -1);
	w->chosen = 0;
	if (s->piece.n && !(w->loose & LOOSE_DEVS))
		w->chosen = fit_near_pieces(w, req, at, ret, use, nuse);
	work_pieces(w, ret->node, w->chosen, -1);
	if (s->req.gpus[req] >= 1000)
		w->own_gpus[ret->node] |= ret->gpus;
	return nuse;
}

static struct snap_cpu_use *scratch(struct work *w, uint32_t req)
{
	size_t n = fit_max_cpus(w->snap, req);

	if (n > w->use_cap) {
		w->use_cap = 2 * n;
		w->use = arena_array(w->arena, struct snap_cpu_use, w->use_cap);
	}
	return w->use;
}

/* Place n tasks on trial, one after the other; the free amounts must be enough
 * for them. Returns how many of the tasks get what they demand. Sets *ret to
 * how far these tasks fall short of what they prefer. */
static int64_t try_tasks(struct work *w, uint32_t req, uint32_t node, int64_t n,
                         struct fit_excess *ret)
{
	struct snap_cpu_use *use = scratch(w, req);
	int64_t span = fit_align_span(w, req, node), i = 0;
	uint64_t own = w->own_gpus[node];
	size_t mark = work_mark(w);

	*ret = (struct fit_excess){ 0 };
	for (; i < n; i++) {
		struct snap_task t = { .node = node };
		struct fit_where at;

		if (!fit_align_choose(w, req, node, n - i, &at))
			break;
		take_task(w, req, &at, &t, use);
		ret->numas += at.numas == ALL_NUMAS
		                  ? fit_devices_nnumas(w, node) - span
		                  : __builtin_popcount(at.numas) - span;
	}
	if (fit_align_links(w, req, node))
		ret->links = excess_of_links(w, req, node, 0);
	work_undo(w, mark);
	w->own_gpus[node] = own;
	return i;
}

/* --- count the tasks that fit -------------------------------------------- */

/* Returns how many tasks fit if each has all its resources in one NUMA node, at
 * most max. */
static int64_t count_aligned(const struct work *w, uint32_t req, uint32_t node,
                             int64_t max)
{
	uint32_t n = fit_devices_nnumas(w, node);
	int64_t sum = 0;

	for (uint32_t i = 0; i < n && sum < max; i++) {
		struct fit_where at = { (uint32_t)1 << i, ALL_GPUS };

		sum += fit_align_room(w, req, node, &at, max - sum);
	}
	return sum;
}

/* Whether the demands of one more task can be met; with `links`, those for
 * links, too. */
static bool has_demands(const struct work *w, uint32_t req, uint32_t node,
                        bool links)
{
	uint64_t own = w->own_gpus[node], set;
	int64_t gpus = w->snap->req.gpus[req] / 1000;
	struct fit_damage damage;
	struct fit_where at;

	if (!fit_align_choose(w, req, node, 1, &at))
		return false;
	/* In chosen NUMA nodes, the demands for links are met, too. */
	if (!links || at.numas != ALL_NUMAS)
		return true;
	set = fit_near_gpus(w, req, node, &at, (uint32_t)gpus, &damage);
	return fit_devices_ngroups(w, node, set | own) <=
	       fewest_groups(w, req, node, __builtin_popcountll(own) + gpus);
}

/* Returns how many tasks, at most max, can be placed together so that the
 * demands of all of them are met; less than `least` if these are too many. */
static int64_t count_tried(struct work *w, uint32_t req, uint32_t node,
                           int64_t least, int64_t max)
{
	bool links = w->snap->req.links[req] == LINKS_STRICT &&
	             fit_align_links(w, req, node);
	struct fit_excess excess;

	if (max == 1)
		return has_demands(w, req, node, links);
	/* Without whole GPUs, the choice for one task does not depend on how
	 * many tasks follow. */
	if (w->snap->req.gpus[req] < 1000)
		return try_tasks(w, req, node, max, &excess);
	for (; max >= least; max--) {
		if (try_tasks(w, req, node, max, &excess) == max &&
		    !(links && excess.links > 0))
			break;
	}
	return max;
}

/* Returns how many tasks, at most max, can have their GPUs in as few link
 * groups as if the node were empty. */
static int64_t count_linked(const struct work *w, uint32_t req, uint32_t node,
                            int64_t max)
{
	int64_t gpus = w->snap->req.gpus[req] / 1000;

	while (max > 0 && excess_of_links(w, req, node, max * gpus) > 0)
		max--;
	return max;
}

/* Returns how many of max tasks get the NUMA nodes and links that they demand;
 * less than `least`, which is at least 1, if these are too many. The free
 * amounts must be enough for all max tasks. */
static int64_t count_demanded(struct work *w, uint32_t req, uint32_t node,
                              int64_t least, int64_t max)
{
	const struct snap_reqs *r = &w->snap->req;
	enum numa numa = (enum numa)r->numa[req];
	bool links =
	    r->links[req] == LINKS_STRICT && fit_align_links(w, req, node);
	uint32_t span = 1;

	if (max < least || (numa == NUMA_ANY && r->links[req] != LINKS_STRICT &&
	                    !r->pcie[req] && !r->near[req]))
		return max;
	if (fit_near_asks(w, req, node))
		return count_tried(w, req, node, least, max);
	if (w->loose & LOOSE_NUMA || numa == NUMA_ANY || numa == NUMA_PREFER ||
	    !fit_align_has_devices(w, req, node))
		return links ? count_linked(w, req, node, max) : max;
	if (numa == NUMA_TIGHT)
		span = fit_align_span(w, req, node);
	if (span == 1)
		max = count_aligned(w, req, node, max);
	if (!span || max < least)
		return 0;
	return span > 1 || links ? count_tried(w, req, node, least, max) : max;
}

/* Returns how many tasks fit by the free amounts alone, at most max. */
static int64_t count_free(const struct work *w, uint32_t req, uint32_t node,
                          int64_t own, int64_t max)
{
	const struct snap_reqs *r = &w->snap->req;

	if (w->sealed[node] || (r->exclusive[req] && w->tasks[node] != own))
		return 0;
	max = fit_amount(w->cpu[node], r->cpus[req], max);
	max = fit_amount(w->mem[node], r->mem[req], max);
	max = fit_amount(w->tmp[node], r->tmp[req], max);
	max = fit_amount(w->slot[node], 1, max);
	if (max && w->snap->dev.n)
		max = fit_devs(w, req, node, max);
	return max ? fit_align_room(w, req, node, &anywhere, max) : 0;
}

int64_t fit_count(struct work *w, uint32_t req, uint32_t node, int64_t own,
                  int64_t max)
{
	return count_demanded(w, req, node, 1,
	                      count_free(w, req, node, own, max));
}

bool fit_has(struct work *w, uint32_t req, uint32_t node, int64_t own,
             int64_t n)
{
	return count_free(w, req, node, own, n) == n &&
	       count_demanded(w, req, node, n, n) == n;
}

/* --- preferences --------------------------------------------------------- */

bool fit_has_wishes(const struct work *w, uint32_t req)
{
	const struct snap_reqs *r = &w->snap->req;

	if (r->numa[req] == NUMA_PREFER && !(w->loose & LOOSE_NUMA))
		return true;
	return w->grouped && r->gpus[req] && r->links[req] == LINKS_PREFER &&
	       !(w->loose & LOOSE_LINKS);
}

struct fit_excess fit_excess_of(struct work *w, uint32_t req, uint32_t node,
                                int64_t n)
{
	const struct snap_reqs *r = &w->snap->req;
	struct fit_excess ret = { 0 };
	bool links = fit_align_links(w, req, node);

	if (fit_near_asks(w, req, node)) {
		try_tasks(w, req, node, n, &ret);
		if (r->numa[req] == NUMA_ANY || w->loose & LOOSE_NUMA)
			ret.numas = 0;
		return ret;
	}
	if (r->numa[req] == NUMA_ANY || w->loose & LOOSE_NUMA ||
	    fit_devices_nnumas(w, node) == 1) {
		if (links)
			ret.links = excess_of_links(w, req, node,
			                            n * (r->gpus[req] / 1000));
		return ret;
	}
	if (links || count_aligned(w, req, node, n) < n)
		try_tasks(w, req, node, n, &ret);
	return ret;
}

bool fit_numa_is_more(const struct fit_numa *a, const struct fit_numa *b)
{
	if (a->gpus != b->gpus)
		return a->gpus > b->gpus;
	return a->cpus != b->cpus ? a->cpus > b->cpus : a->mem > b->mem;
}

struct fit_numa fit_best_numa(const struct work *w, uint32_t req, uint32_t node)
{
	const struct snap *s = w->snap;
	struct fit_numa best = { -1, -1, -1 };

	for (uint32_t i = 0; i < fit_devices_nnumas(w, node); i++) {
		struct fit_where at = { (uint32_t)1 << i, ALL_GPUS };
		struct fit_numa it = { 0, -1, -1 };
		int64_t shares;

		if (s->req.gpus[req])
			it.gpus = __builtin_popcountll(
			    fit_devices_whole(w, req, node, &at));
		if (snap_node_ncpus(s, node))
			fit_align_threads(w, node, at.numas, 0, &it.cpus,
			                  &shares);
		if (snap_node_nnumas(s, node) > i)
			it.mem = fit_align_mem(w, node, at.numas);
		if (fit_numa_is_more(&it, &best))
			best = it;
	}
	return best;
}

int64_t fit_best_links(const struct work *w, uint32_t req, uint32_t node,
                       int64_t *ret_groups, int64_t *ret_all)
{
	uint64_t set = fit_devices_whole(w, req, node, &anywhere);
	int64_t best = 0, gpus = w->snap->req.gpus[req] / 1000;

	*ret_groups = fit_devices_fewest(w, node, fit_devices_all(w, req, node),
	                                 0, (uint32_t)gpus);
	*ret_all = __builtin_popcountll(set);
	for (uint64_t left = set, group; left; left &= ~group) {
		group = fit_devices_linked(w, node, left, left & -left);
		if (__builtin_popcountll(group) > best)
			best = __builtin_popcountll(group);
	}
	return best;
}

uint32_t fit_task(struct work *w, uint32_t req, uint32_t node, int64_t left,
                  struct snap_task *ret, struct snap_cpu_use *use)
{
	struct fit_where at;

	fit_align_choose(w, req, node, left, &at);
	ret->node = node;
	return take_task(w, req, &at, ret, use);
}

/* --- CPUs of a resumed task ---------------------------------------------- */

/* Returns the NUMA nodes in which a suspended task has its devices and memory.
 */
static uint32_t numas_had(const struct snap *s, const struct snap_task *had)
{
	const uint8_t *gpu = s->gpu.numa + s->node.gpu_first[had->node];
	const uint8_t *cpu = s->cpu.numa + s->node.cpu_first[had->node];
	uint32_t set = had->numas;

	for (uint64_t left = had->gpus; left; left &= left - 1)
		set |= (uint32_t)1 << gpu[__builtin_ctzll(left)];
	for (uint32_t i = had->cpu_first; i < had[1].cpu_first; i++)
		set |= (uint32_t)1 << cpu[s->cpu_use[i].cpu];
	return set ? set : ALL_NUMAS;
}

static bool has_threads(const struct work *w, uint32_t req,
                        const struct snap_task *had, uint32_t numas)
{
	return fit_align_cpus(w, req, had->node, numas, 1) > 0;
}

/* Returns the NUMA nodes from which a resumed task gets CPUs: those that it
 * had, because its memory is still there; ALL_NUMAS if these have too few CPUs
 * and the task does not demand alignment. */
static uint32_t numas_again(const struct work *w, uint32_t req,
                            const struct snap_task *had)
{
	enum numa numa = (enum numa)w->snap->req.numa[req];
	uint32_t set = numas_had(w->snap, had);

	return numa == NUMA_STRICT || numa == NUMA_TIGHT ||
	               has_threads(w, req, had, set)
	           ? set
	           : ALL_NUMAS;
}

bool fit_cpus_again(const struct work *w, uint32_t req,
                    const struct snap_task *had)
{
	int64_t cpus = w->snap->req.cpus[req];

	return !cpus || (fit_amount(w->cpu[had->node], cpus, 1) &&
	                 has_threads(w, req, had, numas_again(w, req, had)));
}

/* Whether the CPUs that a suspended task had are still free. */
static bool had_are_free(const struct work *w, uint32_t req,
                         const struct snap_task *had)
{
	const struct snap *s = w->snap;
	const int64_t *nfree = w->thread + s->node.cpu_first[had->node];
	int64_t sum = 0;

	for (uint32_t i = had->cpu_first; i < had[1].cpu_first; i++) {
		if (nfree[s->cpu_use[i].cpu] < s->cpu_use[i].milli)
			return false;
		sum += s->cpu_use[i].milli;
	}
	return sum == s->req.cpus[req];
}

uint32_t fit_resume(struct work *w, uint32_t req, const struct snap_task *had,
                    struct snap_cpu_use *use)
{
	const struct snap *s = w->snap;
	uint32_t nuse;

	if (had_are_free(w, req, had)) {
		nuse = had[1].cpu_first - had->cpu_first;
		memcpy(use, s->cpu_use + had->cpu_first, nuse * sizeof(*use));
	} else {
		nuse = fit_devices_cpus(w, req, had, numas_again(w, req, had),
		                        use);
	}
	work_cpus(w, req, had->node, use, nuse, -1);
	return nuse;
}
