/* fit_align.c - the NUMA nodes for one task */
#include "aischedd/sched/fit_align.h"

#include "aischedd/sched/fit/near.h"

#include "aischedd/sched/fit_mig.h"

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

/* Returns how many parts of this size are free. nfree may be below 0 while
 * claims wait for evicted jobs to end. */
static int64_t parts_of(int64_t nfree, int64_t part)
{
	return part && nfree > 0 ? nfree / part : 0;
}

/* --- count the tasks that fit on a part of a node ---------------------- */

/* Returns how many fractions or partitions of the requested size fit on a GPU.
 */
static int64_t shares_on(const struct work *w, uint32_t req, uint32_t node,
                         uint32_t device)
{
	if (w->snap->req.profile[req])
		return fit_mig_count(w, req, node, device);
	if (w->slices && w->slices[device])
		return 0;
	return parts_of(w->device[device], snap_gpus_on(w->snap, req, node));
}

static int64_t fit_gpus(const struct work *w, uint32_t req, uint32_t node,
                        const struct fit_where *at, int64_t max)
{
	const struct snap *s = w->snap;
	int64_t gpus = s->req.gpus[req], whole = 0, shares = 0;
	uint32_t first = s->node.gpu_first[node];

	if (!gpus)
		return max;
	if (gpus > 1000 && gpus % 1000)
		return 0;
	if (gpus >= 1000 && s->req.gpu_type[req] == SNAP_NONE &&
	    !s->gpu.parts && at->numas == ALL_NUMAS && at->gpus == ALL_GPUS)
		return fit_amount(w->whole[node], gpus / 1000, max);
	for (uint32_t i = 0; i < snap_node_ngpus(s, node); i++) {
		uint32_t d = first + i;

		if (!fit_devices_may(s, req, node, d) ||
		    !(at->numas >> s->gpu.numa[d] & 1) || !(at->gpus >> i & 1))
			continue;
		whole += w->device[d] == 1000;
		if (gpus < 1000)
			shares += shares_on(w, req, node, d);
	}
	return gpus < 1000 ? min(shares, max)
	                   : fit_amount(whole, gpus / 1000, max);
}

void fit_align_threads(const struct work *w, uint32_t node, uint32_t numas,
                       int64_t part, int64_t *ret_idle, int64_t *ret_shares)
{
	const struct snap *s = w->snap;

	*ret_idle = *ret_shares = 0;
	for (uint32_t t = s->node.cpu_first[node];
	     t < s->node.cpu_first[node + 1]; t++) {
		if (!(numas >> s->cpu.numa[t] & 1))
			continue;
		if (w->thread[t] == 1000)
			++*ret_idle;
		else if (w->thread[t] < 1000)
			*ret_shares += parts_of(w->thread[t], part);
	}
}

/* Whole CPUs are taken from idle CPUs; a fraction is taken from a CPU that is
 * already shared if possible. */
int64_t fit_align_cpus(const struct work *w, uint32_t req, uint32_t node,
                       uint32_t numas, int64_t max)
{
	const struct snap *s = w->snap;
	int64_t whole = s->req.cpus[req] / 1000;
	int64_t part = s->req.cpus[req] % 1000;
	int64_t idle = w->idle[node], shares = 0, n;

	if (!snap_node_ncpus(s, node))
		return max;
	if (part || numas != ALL_NUMAS)
		fit_align_threads(w, node, numas, part, &idle, &shares);
	if (!part)
		return fit_amount(idle, whole, max);
	/* The whole CPUs of n tasks take n * whole idle CPUs. Their fractions
	 * use shared CPUs first; then each further idle CPU holds 1000 / part
	 * fractions. */
	n = whole ? min(max, idle / whole)
	          : min(max, shares + idle * (1000 / part));
	while (n > shares &&
	       n * whole + (n - shares + 1000 / part - 1) / (1000 / part) >
	           idle)
		n--;
	return n;
}

static const int64_t *mem_of(const struct work *w, uint32_t node)
{
	return (w->fluid ? w->numa_bound : w->numa_mem) +
	       w->snap->node.numa_first[node];
}

int64_t fit_align_mem(const struct work *w, uint32_t node, uint32_t numas)
{
	const int64_t *nfree = mem_of(w, node);
	int64_t here = 0, elsewhere = 0;

	for (uint32_t i = 0; i < snap_node_nnumas(w->snap, node); i++) {
		if (nfree[i] < 0)
			elsewhere -= nfree[i];
		else if (numas >> i & 1)
			here += nfree[i];
	}
	return here - elsewhere;
}

/* Returns how many tasks fit in the memory of these NUMA nodes, at most max.
 * Each task uses memory of all these NUMA nodes, in proportion to their sizes.
 */
static int64_t fit_mem(const struct work *w, uint32_t req, uint32_t node,
                       uint32_t numas, int64_t max)
{
	const struct snap *s = w->snap;
	const int64_t *nfree = mem_of(w, node);
	int64_t mem = s->req.mem[req];

	if (numas == ALL_NUMAS || !mem || !snap_node_nnumas(s, node))
		return max;
	max = fit_amount(fit_align_mem(w, node, numas), mem, max);
	for (uint32_t i = 0; i < snap_node_nnumas(s, node) && max; i++) {
		if (numas >> i & 1)
			max = fit_amount(
			    nfree[i], snap_numa_share(s, node, numas, mem, i),
			    max);
	}
	return max;
}

int64_t fit_align_room(const struct work *w, uint32_t req, uint32_t node,
                       const struct fit_where *at, int64_t max)
{
	max = fit_gpus(w, req, node, at, max);
	max = max ? fit_align_cpus(w, req, node, at->numas, max) : 0;
	return max ? fit_mem(w, req, node, at->numas, max) : 0;
}

/* Whether one task, which fits into this part of the node, finds its devices
 * there where they must be. Narrows the part to the GPUs with which it does, if
 * it gets a part of a GPU. */
static bool has_near(const struct work *w, uint32_t req, uint32_t node,
                     struct fit_where *at)
{
	int64_t gpus = w->snap->req.gpus[req];

	if (!fit_near_asks(w, req, node))
		return true;
	if (gpus >= 1000)
		return fit_near_has(w, req, node, at, (uint32_t)(gpus / 1000));
	if (!gpus)
		return fit_near_cpus(w, req, node, at);
	at->gpus &= fit_near_parts(w, req, node, at);
	return fit_gpus(w, req, node, at, 1) > 0;
}

bool fit_align_has_devices(const struct work *w, uint32_t req, uint32_t node)
{
	const struct snap *s = w->snap;

	return s->req.gpus[req] || fit_near_asks(w, req, node) ||
	       (s->req.cpus[req] && snap_node_ncpus(s, node)) ||
	       (s->req.mem[req] && snap_node_nnumas(s, node));
}

/* --- sets of NUMA nodes ------------------------------------------------ */

/* Returns the next set of this size among n NUMA nodes after `set` (0: the
 * first), or 0 after the last. */
static uint32_t next_set(uint32_t set, uint32_t n, uint32_t size)
{
	uint32_t end = n < SNAP_NUMAS ? (uint32_t)1 << n : 0, low, up;

	if (!size || size > n)
		return 0;
	if (!set)
		return size < SNAP_NUMAS ? ((uint32_t)1 << size) - 1
		                         : UINT32_MAX;
	if (n > ALIGN_NUMAS) {
		up = set << 1;
		return set >> (SNAP_NUMAS - 1) || (end && up >= end) ? 0 : up;
	}
	/* Compute the next larger number with the same number of bits set. */
	low = set & -set;
	up = set + low;
	up |= ((set ^ up) >> 2) / low;
	return up < end ? up : 0;
}

/* The total GPUs, CPUs, memory and pieces in each NUMA node of a node. */
struct totals {
	int64_t gpu[SNAP_NUMAS], cpu[SNAP_NUMAS], mem[SNAP_NUMAS];
	int64_t piece[DEVICE_KINDS][SNAP_NUMAS], nowhere[DEVICE_KINDS];
	unsigned kinds; /* bit i: there are pieces of kind i, and they count */
};

static void add_pieces(const struct work *w, uint32_t req, uint32_t node,
                       struct totals *t)
{
	const struct snap *s = w->snap;

	if (!snap_binds(s, req) || !fit_near_asks(w, req, node))
		return;
	for (uint32_t i = 0; i < snap_node_npieces(s, node); i++) {
		uint32_t at = s->node.piece_first[node] + i;

		t->kinds |= 1u << s->piece.kind[at];
		if (s->piece.numa[at] == PIECE_NOWHERE)
			t->nowhere[s->piece.kind[at]]++;
		else
			t->piece[s->piece.kind[at]][s->piece.numa[at]]++;
	}
}

/* Whether these NUMA nodes have as many pieces as a task needs. */
static bool could_serve(const struct snap *s, uint32_t req,
                        const struct totals *t, uint32_t set)
{
	for (uint32_t k = 0; k < s->dev.n; k++) {
		int64_t n = t->nowhere[k];

		for (uint32_t left = set; left; left &= left - 1)
			n += t->piece[k][__builtin_ctz(left)];
		if (t->kinds >> k & 1 && n < s->req.devs[req].n[k])
			return false;
	}
	return true;
}

static struct totals totals_of(const struct work *w, uint32_t req,
                               uint32_t node)
{
	const struct snap *s = w->snap;
	struct totals t = { .kinds = 0 };

	for (uint32_t d = s->node.gpu_first[node];
	     d < s->node.gpu_first[node + 1]; d++)
		t.gpu[s->gpu.numa[d]] +=
		    fit_devices_may(s, req, node, d) ? 1000 : 0;
	for (uint32_t c = s->node.cpu_first[node];
	     c < s->node.cpu_first[node + 1]; c++)
		t.cpu[s->cpu.numa[c]] += 1000;
	for (uint32_t i = 0; i < snap_node_nnumas(s, node); i++)
		t.mem[i] = s->numa_mem[s->node.numa_first[node] + i];
	add_pieces(w, req, node, &t);
	return t;
}

static bool could_hold(const struct snap *s, uint32_t req, uint32_t node,
                       const struct totals *t, uint32_t set)
{
	int64_t gpu = 0, cpu = 0, mem = 0;

	if (t->kinds && !could_serve(s, req, t, set))
		return false;
	for (; set; set &= set - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(set);

		gpu += t->gpu[i];
		cpu += t->cpu[i];
		mem += t->mem[i];
	}
	return gpu >= s->req.gpus[req] &&
	       (cpu >= s->req.cpus[req] || !snap_node_ncpus(s, node)) &&
	       (mem >= s->req.mem[req] || !snap_node_nnumas(s, node));
}

uint32_t fit_align_span(const struct work *w, uint32_t req, uint32_t node)
{
	struct totals t = totals_of(w, req, node);
	uint32_t n = fit_devices_nnumas(w, node);

	for (uint32_t size = 1; size <= n; size++) {
		for (uint32_t set = 0; (set = next_set(set, n, size));) {
			if (could_hold(w->snap, req, node, &t, set))
				return size;
		}
	}
	return 0;
}

/* --- choose the NUMA nodes --------------------------------------------- */

/* Trying a set counts as one look at a node, plus one for every GPUS_A_LOOK
 * GPUs of the node. */
enum { GPUS_A_LOOK = 4 };

/* How well a set of NUMA nodes suits a task. Members are compared in this
 * order, and less is better. */
struct fitness {
	uint32_t groups; /* link groups of the GPUs that the task would get and
	                    that its job already has */
	struct fit_damage damage;
	int64_t gpu, idle; /* free thousandths of GPUs and idle CPUs in the
	                      set */
};

static int64_t gpus_free(const struct work *w, uint32_t req, uint32_t node,
                         uint32_t numas)
{
	const struct snap *s = w->snap;
	int64_t sum = 0;

	for (uint32_t d = s->node.gpu_first[node];
	     d < s->node.gpu_first[node + 1]; d++) {
		if (numas >> s->gpu.numa[d] & 1 &&
		    fit_devices_may(s, req, node, d))
			sum += w->device[d];
	}
	return sum;
}

static struct fitness fitness_of(const struct work *w, uint32_t req,
                                 uint32_t node, const struct fit_where *at)
{
	uint32_t n = (uint32_t)(w->snap->req.gpus[req] / 1000);
	uint64_t own = w->own_gpus[node];
	struct fitness ret = { .gpu = gpus_free(w, req, node, at->numas) };
	int64_t shares;

	if (n) {
		uint64_t gpus = fit_near_gpus(w, req, node, at, n, &ret.damage);

		ret.groups = fit_devices_ngroups(w, node, gpus | own);
	}
	fit_align_threads(w, node, at->numas, 0, &ret.idle, &shares);
	return ret;
}

static bool is_fitter(const struct fitness *a, const struct fitness *b)
{
	int damage = fit_devices_compare(&a->damage, &b->damage);

	if (a->groups != b->groups)
		return a->groups < b->groups;
	if (damage)
		return damage < 0;
	if (a->gpu != b->gpu)
		return a->gpu < b->gpu;
	return a->idle < b->idle;
}

/* Whether the fraction of a CPU would be taken from an idle CPU in this set
 * although a shared CPU elsewhere has enough left. With --numa prefer, such a
 * set is never chosen: fit_count() relies on that. */
static bool breaks_cpu(const struct work *w, uint32_t req, uint32_t node,
                       uint32_t numas)
{
	int64_t part = w->snap->req.cpus[req] % 1000, idle, here, all;

	if (!part)
		return false;
	fit_align_threads(w, node, numas, part, &idle, &here);
	fit_align_threads(w, node, ALL_NUMAS, part, &idle, &all);
	return !here && all;
}

/* All GPUs of the job on the node must be in at most `groups` link groups
 * (UINT32_MAX: any number): those that the job already has, those of this task,
 * and `more` GPUs for the tasks after it. */
struct link_bound {
	uint32_t groups, more;
};

/* Whether the tasks after this one can still keep the bound if this task is
 * placed here. */
static bool leaves_links(const struct work *w, uint32_t req, uint32_t node,
                         const struct fit_where *at,
                         const struct link_bound *bound)
{
	static const struct fit_where anywhere = { ALL_NUMAS, ALL_GPUS };
	uint32_t n = (uint32_t)(w->snap->req.gpus[req] / 1000);
	uint64_t own = w->own_gpus[node], gpus;
	struct fit_damage damage;

	if (bound->groups == UINT32_MAX || !bound->more)
		return true;
	gpus = fit_near_gpus(w, req, node, at, n, &damage);
	return fit_devices_fewest(
		   w, node, fit_devices_whole(w, req, node, &anywhere) & ~gpus,
		   own | gpus, bound->more) <= bound->groups;
}

/* Find the best set of this many NUMA nodes that keeps the bound, using only
 * these GPUs. Returns false if there is none. */
static bool best_set(const struct work *w, uint32_t req, uint32_t node,
                     uint32_t size, uint64_t gpus,
                     const struct link_bound *bound, struct fit_where *ret)
{
	bool prefers = w->snap->req.numa[req] == NUMA_PREFER, found = false;
	uint32_t n = fit_devices_nnumas(w, node);
	struct fitness least = { 0 };

	for (uint32_t set = 0; (set = next_set(set, n, size));) {
		struct fit_where at = { set, gpus };
		struct fitness f;

		*w->tried += 1 + snap_node_ngpus(w->snap, node) / GPUS_A_LOOK;
		if (!fit_align_room(w, req, node, &at, 1) ||
		    (prefers && breaks_cpu(w, req, node, set)) ||
		    !has_near(w, req, node, &at))
			continue;
		f = fitness_of(w, req, node, &at);
		if (f.groups > bound->groups ||
		    (found && !is_fitter(&f, &least)) ||
		    !leaves_links(w, req, node, &at, bound))
			continue;
		*ret = at;
		least = f;
		found = true;
	}
	return found;
}

bool fit_align_links(const struct work *w, uint32_t req, uint32_t node)
{
	return w->snap->req.links[req] != LINKS_ANY &&
	       w->snap->req.gpus[req] >= 1000 && !(w->loose & LOOSE_LINKS) &&
	       fit_devices_nlinks(w, node) > 1;
}

/* Returns the GPUs of those link groups that are best for all tasks that the
 * job still gets on the node. Returns ALL_GPUS if links do not matter or there
 * are too few GPUs. */
static uint64_t groups_for(const struct work *w, uint32_t req, uint32_t node,
                           int64_t left)
{
	static const struct fit_where anywhere = { ALL_NUMAS, ALL_GPUS };
	int64_t n = left * (w->snap->req.gpus[req] / 1000);
	uint64_t own = w->own_gpus[node], set, gpus;
	struct fit_damage damage;

	if (left < 2 || !fit_align_links(w, req, node))
		return ALL_GPUS;
	set = fit_devices_whole(w, req, node, &anywhere);
	if (__builtin_popcountll(set) < n)
		return ALL_GPUS;
	gpus = fit_devices_pick(w, node, set, own, (uint32_t)n, &damage);
	return fit_devices_linked(w, node, set, gpus | own);
}

/* Returns the bound for the next task, which is followed by left - 1 more. */
static struct link_bound bound_of(const struct work *w, uint32_t req,
                                  uint32_t node, int64_t left)
{
	int64_t each = w->snap->req.gpus[req] / 1000;
	int64_t n = __builtin_popcountll(w->own_gpus[node]) + left * each;
	struct link_bound ret = { UINT32_MAX, (uint32_t)((left - 1) * each) };

	if (w->snap->req.links[req] == LINKS_STRICT &&
	    fit_align_links(w, req, node))
		ret.groups = fit_devices_fewest(
		    w, node, fit_devices_all(w, req, node), 0, (uint32_t)n);
	return ret;
}

/* Find the smallest set of `from` to `to` NUMA nodes that suits the task. Among
 * sets of one size, prefer those in which the task gets only GPUs of ret->gpus;
 * with --links strict, prefer those even to smaller sets. Returns false if
 * there is no set. */
static bool smallest_set(const struct work *w, uint32_t req, uint32_t node,
                         uint32_t from, uint32_t to, int64_t left,
                         struct fit_where *ret)
{
	struct link_bound bound = bound_of(w, req, node, left);
	uint64_t gpus = ret->gpus;
	bool strict = bound.groups != UINT32_MAX;

	for (uint32_t k = 0; strict && gpus != ALL_GPUS && k <= to - from;
	     k++) {
		if (best_set(w, req, node, from + k, gpus, &bound, ret))
			return true;
	}
	for (uint32_t size = from; size <= to; size++) {
		if ((!strict && gpus != ALL_GPUS &&
		     best_set(w, req, node, size, gpus, &bound, ret)) ||
		    best_set(w, req, node, size, ALL_GPUS, &bound, ret))
			return true;
	}
	return false;
}

/* Find the part of the node for a task that is in no particular NUMA nodes
 * itself, so that its devices are where they must be. */
static bool choose_near(const struct work *w, uint32_t req, uint32_t node,
                        struct fit_where *ret)
{
	uint32_t n = fit_devices_nnumas(w, node);

	if (!fit_near_asks(w, req, node))
		return true;
	if (w->snap->req.gpus[req]) {
		struct fit_where all = { ALL_NUMAS, ALL_GPUS };

		if (fit_align_room(w, req, node, ret, 1) &&
		    has_near(w, req, node, ret))
			return true;
		*ret = all;
		return has_near(w, req, node, ret);
	}
	for (uint32_t i = 0; i < n && w->snap->req.near[req]; i++) {
		*ret = (struct fit_where){ (uint32_t)1 << i, ALL_GPUS };
		if (fit_align_room(w, req, node, ret, 1) &&
		    has_near(w, req, node, ret))
			return true;
	}
	*ret = (struct fit_where){ ALL_NUMAS, ALL_GPUS };
	return !w->snap->req.near[req];
}

bool fit_align_choose(const struct work *w, uint32_t req, uint32_t node,
                      int64_t left, struct fit_where *ret)
{
	enum numa numa = (enum numa)w->snap->req.numa[req];
	uint32_t span = 1, n = fit_devices_nnumas(w, node);

	*ret = (struct fit_where){ ALL_NUMAS, groups_for(w, req, node, left) };
	if (numa == NUMA_ANY || w->loose & LOOSE_NUMA ||
	    !fit_align_has_devices(w, req, node))
		return choose_near(w, req, node, ret);
	if (numa != NUMA_STRICT)
		span = fit_align_span(w, req, node);
	if (span && smallest_set(w, req, node, span,
	                         numa == NUMA_PREFER ? n : span, left, ret))
		return true;
	return numa == NUMA_PREFER && choose_near(w, req, node, ret);
}
