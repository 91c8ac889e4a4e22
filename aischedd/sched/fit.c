/* fit.c - one node: how many tasks fit, and which devices each gets */
#include "aischedd/sched/fit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { NUMA_IDS = 256 }; /* as many as a uint8_t can tell apart */

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Tasks of amount each in what is free. */
static int64_t fit_amount(int64_t nfree, int64_t amount, int64_t max)
{
	if (!amount)
		return max;
	return nfree < amount ? 0 : min(nfree / amount, max);
}

/* Parts of a device in what is free of it: claims on a node may take what is
 * still to be left. */
static int64_t parts_of(int64_t nfree, int64_t part)
{
	return part && nfree > 0 ? nfree / part : 0;
}

static bool is_type(const struct snap *s, uint32_t req, uint32_t device)
{
	return s->req.gpu_type[req] == SNAP_NONE ||
	       s->gpu.type[device] == s->req.gpu_type[req];
}

enum { ANY_NUMA = -1 };

/* Tasks by GPUs of one NUMA node, or of the whole node. */
static int64_t fit_gpus(const struct work *w, uint32_t req, uint32_t node,
                        int numa, int64_t max)
{
	const struct snap *s = w->snap;
	int64_t gpus = s->req.gpus[req], whole = 0, shares = 0;

	if (!gpus)
		return max;
	if (gpus > 1000 && gpus % 1000)
		return 0;
	if (gpus >= 1000 && s->req.gpu_type[req] == SNAP_NONE &&
	    numa == ANY_NUMA)
		return fit_amount(w->whole[node], gpus / 1000, max);
	for (uint32_t d = s->node.gpu_first[node];
	     d < s->node.gpu_first[node + 1]; d++) {
		if (!is_type(s, req, d) ||
		    (numa != ANY_NUMA && s->gpu.numa[d] != numa))
			continue;
		whole += w->device[d] == 1000;
		shares += gpus < 1000 ? parts_of(w->device[d], gpus) : 0;
	}
	return gpus < 1000 ? min(shares, max)
	                   : fit_amount(whole, gpus / 1000, max);
}

/* The CPUs of one NUMA node, or of the whole node: how many are idle, and how
 * many parts of a CPU fit into those that are shared. */
static void count_threads(const struct work *w, uint32_t node, int numa,
                          int64_t part, int64_t *ret_idle, int64_t *ret_shares)
{
	const struct snap *s = w->snap;

	*ret_idle = *ret_shares = 0;
	for (uint32_t t = s->node.cpu_first[node];
	     t < s->node.cpu_first[node + 1]; t++) {
		if (numa != ANY_NUMA && s->cpu.numa[t] != numa)
			continue;
		if (w->thread[t] == 1000)
			++*ret_idle;
		else if (w->thread[t] < 1000)
			*ret_shares += parts_of(w->thread[t], part);
	}
}

/* Whole CPUs come from idle ones; a fraction fills a shared one first. */
static int64_t fit_threads(const struct work *w, uint32_t req, uint32_t node,
                           int numa, int64_t max)
{
	const struct snap *s = w->snap;
	int64_t whole = s->req.cpus[req] / 1000;
	int64_t part = s->req.cpus[req] % 1000;
	int64_t idle = w->idle[node], shares = 0, n;

	if (!node_ncpus(s, node))
		return max;
	if (part || numa != ANY_NUMA)
		count_threads(w, node, numa, part, &idle, &shares);
	if (!part)
		return fit_amount(idle, whole, max);
	/* n tasks take n * whole idle CPUs and one for each 1000 / part
	 * fractions that the shared ones have no room for. */
	n = whole ? min(max, idle / whole)
	          : min(max, shares + idle * (1000 / part));
	while (n > shares &&
	       n * whole + (n - shares + 1000 / part - 1) / (1000 / part) >
	           idle)
		n--;
	return n;
}

/* Tasks by devices of one NUMA node. */
static int64_t fit_numa(const struct work *w, uint32_t req, uint32_t node,
                        int numa, int64_t max)
{
	max = fit_gpus(w, req, node, numa, max);
	return max ? fit_threads(w, req, node, numa, max) : 0;
}

/* Whether the devices for a task can lie in one NUMA node or in several. */
static bool has_devices(const struct snap *s, uint32_t req, uint32_t node)
{
	return s->req.gpus[req] || (s->req.cpus[req] && node_ncpus(s, node));
}

/* One more than the highest number of a NUMA node there. */
static int count_numas(const struct snap *s, uint32_t node)
{
	int n = 0;

	for (uint32_t d = s->node.gpu_first[node];
	     d < s->node.gpu_first[node + 1]; d++)
		n = s->gpu.numa[d] >= n ? s->gpu.numa[d] + 1 : n;
	for (uint32_t t = s->node.cpu_first[node];
	     t < s->node.cpu_first[node + 1]; t++)
		n = s->cpu.numa[t] >= n ? s->cpu.numa[t] + 1 : n;
	return n;
}

/* Tasks that each have all their devices in one NUMA node. */
static int64_t fit_aligned(const struct work *w, uint32_t req, uint32_t node,
                           int64_t max)
{
	int n = count_numas(w->snap, node);
	int64_t sum = 0;

	for (int i = 0; i < n && sum < max; i++)
		sum += fit_numa(w, req, node, i, max - sum);
	return sum;
}

int64_t fit_count(const struct work *w, uint32_t req, uint32_t node,
                  int64_t own, int64_t max)
{
	const struct snap_reqs *r = &w->snap->req;

	if (w->sealed[node] || (r->exclusive[req] && w->tasks[node] != own))
		return 0;
	max = fit_amount(w->cpu[node], r->cpus[req], max);
	max = fit_amount(w->mem[node], r->mem[req], max);
	max = fit_amount(w->slot[node], 1, max);
	if (max)
		max = fit_numa(w, req, node, ANY_NUMA, max);
	if (max && r->numa[req] == NUMA_STRICT && !w->loose &&
	    has_devices(w->snap, req, node))
		max = fit_aligned(w, req, node, max);
	return max;
}

void fit_best_numa(const struct work *w, uint32_t req, uint32_t node,
                   int64_t *ret_gpus, int64_t *ret_cpus)
{
	const struct snap *s = w->snap;
	int n = count_numas(s, node);

	*ret_gpus = *ret_cpus = -1;
	for (int i = 0; i < n; i++) {
		int64_t gpus = 0, idle, shares;

		for (uint32_t d = s->node.gpu_first[node];
		     d < s->node.gpu_first[node + 1]; d++)
			gpus += s->gpu.numa[d] == i && is_type(s, req, d) &&
			        w->device[d] == 1000;
		count_threads(w, node, i, 0, &idle, &shares);
		if (!s->req.gpus[req])
			gpus = 0;
		if (!node_ncpus(s, node))
			idle = -1;
		if (gpus > *ret_gpus ||
		    (gpus == *ret_gpus && idle > *ret_cpus)) {
			*ret_gpus = gpus;
			*ret_cpus = idle;
		}
	}
}

/* Of the devices in set, the group that n of them best come from: the
 * smallest with enough, else the largest; the first among equals. */
static uint64_t best_group(const uint8_t *group, uint64_t set, int n)
{
	uint64_t best = 0;

	for (uint64_t left = set, mask; left; left &= ~mask) {
		uint8_t id = group[__builtin_ctzll(left)];
		int have, had = __builtin_popcountll(best);

		mask = 0;
		for (uint64_t i = left; i; i &= i - 1) {
			if (group[__builtin_ctzll(i)] == id)
				mask |= i & -i;
		}
		have = __builtin_popcountll(mask);
		if (have >= n ? had < n || have < had : have > had)
			best = mask;
	}
	return best;
}

static uint64_t lowest(uint64_t set, int n)
{
	uint64_t ret = 0;

	for (; n > 0; n--, set &= set - 1)
		ret |= set & -set;
	return ret;
}

/* n of the devices in set, from as few link groups as may be. */
static uint64_t pick_linked(const uint8_t *link, uint64_t set, int n)
{
	uint64_t ret = 0;

	while (n > 0) {
		uint64_t group = best_group(link, set & ~ret, n);

		group = lowest(group, min(__builtin_popcountll(group), n));
		ret |= group;
		n -= __builtin_popcountll(group);
	}
	return ret;
}

static uint64_t pick_whole(const uint8_t *link, const uint8_t *numa,
                           uint64_t set, int n)
{
	uint64_t ret = 0, group = best_group(link, set, n);

	if (__builtin_popcountll(group) >= n)
		return lowest(group, n);
	while (n > 0) {
		int have;

		group = best_group(numa, set & ~ret, n);
		have = __builtin_popcountll(group);
		ret |= pick_linked(link, group, (int)min(have, n));
		n -= have;
	}
	return ret;
}

/* The fullest device with room, or no device. */
static uint64_t pick_shared(const int64_t *nfree, uint64_t set, int64_t part)
{
	uint64_t best = 0;
	int64_t least = 1000;

	for (; set; set &= set - 1) {
		int64_t have = nfree[__builtin_ctzll(set)];

		if (have >= part && have < least) {
			least = have;
			best = set & -set;
		}
	}
	return best;
}

static void pick_gpus(const struct work *w, uint32_t req, int numa,
                      struct snap_task *t)
{
	const struct snap *s = w->snap;
	uint32_t first = s->node.gpu_first[t->node];
	uint32_t n = node_ngpus(s, t->node);
	int64_t gpus = s->req.gpus[req];
	uint64_t typed = 0, whole = 0;

	if (!gpus)
		return;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t bit = (uint64_t)1 << i;

		if (!is_type(s, req, first + i) ||
		    (numa != ANY_NUMA && s->gpu.numa[first + i] != numa))
			continue;
		typed |= bit;
		if (w->device[first + i] == 1000)
			whole |= bit;
	}
	t->gpu_milli = (uint16_t)min(gpus, 1000);
	if (gpus < 1000)
		t->gpus = pick_shared(w->device + first, typed, gpus);
	if (!t->gpus)
		t->gpus = pick_whole(s->gpu.link + first, s->gpu.numa + first,
		                     whole, (int)((gpus + 999) / 1000));
}

/* The NUMA node for n idle CPUs: near (if any) when it has enough, else the
 * smallest with enough, else near if it has any, else the largest. */
static int best_numa(const uint32_t idle[NUMA_IDS], uint32_t n, int near)
{
	int best = 0;

	if (near >= 0 && idle[near] >= n)
		return near;
	for (int i = 1; i < NUMA_IDS; i++) {
		if (idle[i] >= n ? idle[best] < n || idle[i] < idle[best]
		                 : idle[i] > idle[best])
			best = i;
	}
	return near >= 0 && idle[best] < n && idle[near] ? near : best;
}

/* A node's CPUs while some are chosen for a task. */
struct slice {
	uint32_t n;
	const int64_t *nfree;
	const uint16_t *id; /* of the core */
	const uint8_t *numa;
	struct work_core *core;  /* idle: less what is chosen */
	uint32_t idle[NUMA_IDS]; /* likewise */
	struct snap_cpu_use *use;
	uint32_t nuse;
};

static void slice_init(struct slice *sl, const struct work *w, uint32_t node,
                       struct snap_cpu_use *use)
{
	uint32_t first = w->snap->node.cpu_first[node];

	*sl = (struct slice){ .n = node_ncpus(w->snap, node),
		              .nfree = w->thread + first,
		              .id = w->snap->cpu.core + first,
		              .numa = w->snap->cpu.numa + first,
		              .core = w->core,
		              .use = use };
	for (uint32_t i = 0; i < sl->n; i++)
		sl->core[sl->id[i]] = (struct work_core){ 0 };
	for (uint32_t i = 0; i < sl->n; i++) {
		sl->core[sl->id[i]].size++;
		sl->core[sl->id[i]].idle += sl->nfree[i] == 1000;
		sl->idle[sl->numa[i]] += sl->nfree[i] == 1000;
	}
}

static bool is_chosen(const struct slice *sl, uint32_t cpu)
{
	for (uint32_t i = 0; i < sl->nuse; i++) {
		if (sl->use[i].cpu == cpu)
			return true;
	}
	return false;
}

/* The core for n CPUs: a whole one not larger than n, else the smallest rest
 * with enough, else the largest. */
static uint16_t best_core(const struct slice *sl, int numa, uint32_t n)
{
	uint32_t best = 0, had = 0;

	for (uint32_t i = 0; i < sl->n; i++) {
		const struct work_core *c = &sl->core[sl->id[i]];

		if (sl->numa[i] != numa || !c->idle)
			continue;
		if (c->idle == c->size && c->idle <= n)
			return sl->id[i];
		if (c->idle >= n ? had < n || c->idle < had : c->idle > had) {
			best = i;
			had = c->idle;
		}
	}
	assert(had);
	return sl->id[best];
}

/* Choose n of the idle CPUs of a core, milli of each. */
static void choose_in_core(struct slice *sl, uint16_t id, uint32_t n,
                           uint16_t milli)
{
	for (uint32_t i = 0; i < sl->n && n; i++) {
		if (sl->id[i] != id || sl->nfree[i] != 1000 || is_chosen(sl, i))
			continue;
		sl->use[sl->nuse++] =
		    (struct snap_cpu_use){ (uint16_t)i, milli };
		sl->core[id].idle--;
		sl->idle[sl->numa[i]]--;
		n--;
	}
}

static void choose_idle(struct slice *sl, uint32_t n, uint16_t milli, int near)
{
	while (n) {
		int numa = best_numa(sl->idle, n, near);
		uint32_t here = (uint32_t)min(sl->idle[numa], n);

		n -= here;
		while (here) {
			uint16_t id = best_core(sl, numa, here);
			uint32_t got = (uint32_t)min(sl->core[id].idle, here);

			choose_in_core(sl, id, got, milli);
			here -= got;
		}
	}
}

static bool choose_shared(struct slice *sl, uint16_t part, int numa)
{
	uint32_t best = SNAP_NONE;

	for (uint32_t i = 0; i < sl->n; i++) {
		if (numa != ANY_NUMA && sl->numa[i] != numa)
			continue;
		if (sl->nfree[i] >= part && sl->nfree[i] < 1000 &&
		    (best == SNAP_NONE || sl->nfree[i] < sl->nfree[best]))
			best = i;
	}
	if (best == SNAP_NONE)
		return false;
	sl->use[sl->nuse++] = (struct snap_cpu_use){ (uint16_t)best, part };
	return true;
}

static int by_cpu(const void *a, const void *b)
{
	const struct snap_cpu_use *x = a, *y = b;

	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* near: where they best lie; numa: where they must lie, or ANY_NUMA. */
static uint32_t pick_cpus(const struct work *w, uint32_t req, uint32_t node,
                          int near, int numa, struct snap_cpu_use *use)
{
	uint32_t whole = (uint32_t)(w->snap->req.cpus[req] / 1000);
	uint16_t part = w->snap->req.cpus[req] % 1000;
	struct slice sl;

	if (!node_ncpus(w->snap, node) || (!whole && !part))
		return 0;
	slice_init(&sl, w, node, use);
	choose_idle(&sl, whole, 1000, near);
	if (part && !choose_shared(&sl, part, numa))
		choose_idle(&sl, 1, part, near);
	qsort(use, sl.nuse, sizeof(*use), by_cpu);
	return sl.nuse;
}

/* How well a task would lie in a NUMA node: the less, the better. */
struct fitness {
	bool unlinked;     /* its GPUs would be of several link groups */
	int64_t gpu, idle; /* free there */
};

static struct fitness fitness_of(const struct work *w, uint32_t req,
                                 uint32_t node, int numa)
{
	const struct snap *s = w->snap;
	uint32_t first = s->node.gpu_first[node];
	struct fitness ret = { 0 };
	uint64_t whole = 0, group;
	int64_t shares;

	for (uint32_t i = 0; i < node_ngpus(s, node); i++) {
		if (s->gpu.numa[first + i] != numa ||
		    !is_type(s, req, first + i))
			continue;
		ret.gpu += w->device[first + i];
		whole |= (uint64_t)(w->device[first + i] == 1000) << i;
	}
	group = best_group(s->gpu.link + first, whole,
	                   (int)(s->req.gpus[req] / 1000));
	ret.unlinked = __builtin_popcountll(group) < s->req.gpus[req] / 1000;
	count_threads(w, node, numa, 0, &ret.idle, &shares);
	return ret;
}

static bool fitter(const struct fitness *a, const struct fitness *b)
{
	if (a->unlinked != b->unlinked)
		return b->unlinked;
	if (a->gpu != b->gpu)
		return a->gpu < b->gpu;
	return a->idle < b->idle;
}

/* An idle CPU is broken up only where no shared one has room, whatever the
 * alignment: fit_count() relies on it. */
static bool breaks_cpu(const struct work *w, uint32_t req, uint32_t node,
                       int numa)
{
	int64_t part = w->snap->req.cpus[req] % 1000, idle, here, all;

	if (!part)
		return false;
	count_threads(w, node, numa, part, &idle, &here);
	count_threads(w, node, ANY_NUMA, part, &idle, &all);
	return !here && all;
}

/* The NUMA node that the next task had best lie in, or ANY_NUMA where it does
 * not ask for that or cannot have it. */
static int pick_numa(const struct work *w, uint32_t req, uint32_t node)
{
	const struct snap *s = w->snap;
	int best = ANY_NUMA, n;
	struct fitness least;

	if (s->req.numa[req] == NUMA_ANY || w->loose ||
	    !has_devices(s, req, node))
		return ANY_NUMA;
	n = count_numas(s, node);
	for (int i = 0; i < n; i++) {
		struct fitness f;

		if (!fit_numa(w, req, node, i, 1) ||
		    (s->req.numa[req] == NUMA_PREFER &&
		     breaks_cpu(w, req, node, i)))
			continue;
		f = fitness_of(w, req, node, i);
		if (best == ANY_NUMA || fitter(&f, &least)) {
			best = i;
			least = f;
		}
	}
	return best;
}

uint32_t fit_task(struct work *w, uint32_t req, uint32_t node,
                  struct snap_task *ret, struct snap_cpu_use *use)
{
	const struct snap *s = w->snap;
	int numa = pick_numa(w, req, node), near = numa;
	uint32_t nuse;

	ret->node = node;
	ret->gpus = 0;
	ret->gpu_milli = 0;
	pick_gpus(w, req, numa, ret);
	if (ret->gpus)
		near = s->gpu.numa[s->node.gpu_first[node] +
		                   (uint32_t)__builtin_ctzll(ret->gpus)];
	nuse = pick_cpus(w, req, node, near, numa, use);
	work_cpus(w, req, node, use, nuse, -1);
	work_rest(w, req, ret, -1);
	return nuse;
}

/* Where the devices of a task are, ANY_NUMA if it has none. */
static int numa_of(const struct snap *s, const struct snap_task *t)
{
	if (t->gpus)
		return s->gpu.numa[s->node.gpu_first[t->node] +
		                   (uint32_t)__builtin_ctzll(t->gpus)];
	if (t[1].cpu_first > t->cpu_first)
		return s->cpu.numa[s->node.cpu_first[t->node] +
		                   s->cpu_use[t->cpu_first].cpu];
	return ANY_NUMA;
}

/* Where its CPUs must be when it goes on: its memory has stayed there. */
static int numa_again(const struct snap *s, uint32_t req,
                      const struct snap_task *had)
{
	return s->req.numa[req] == NUMA_STRICT ? numa_of(s, had) : ANY_NUMA;
}

bool fit_cpus_again(const struct work *w, uint32_t req,
                    const struct snap_task *had)
{
	int64_t cpus = w->snap->req.cpus[req];

	return !cpus || (fit_amount(w->cpu[had->node], cpus, 1) &&
	                 fit_threads(w, req, had->node,
	                             numa_again(w->snap, req, had), 1));
}

/* Whether the CPUs that a suspended task had are free now. */
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
		nuse = pick_cpus(w, req, had->node, numa_of(s, had),
		                 numa_again(s, req, had), use);
	}
	work_cpus(w, req, had->node, use, nuse, -1);
	return nuse;
}
