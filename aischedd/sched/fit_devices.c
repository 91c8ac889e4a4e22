/* fit_devices.c - which GPUs and CPUs of a node a task gets */
#include "aischedd/sched/fit_devices.h"

#include <assert.h>
#include <stdlib.h>

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

uint64_t fit_devices_group(const uint8_t *group, uint64_t set, int n)
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

/* Pick n devices of the set from as few link groups as possible. */
static uint64_t pick_linked(const uint8_t *link, uint64_t set, int n)
{
	uint64_t ret = 0;

	while (n > 0) {
		uint64_t group = fit_devices_group(link, set & ~ret, n);

		group = lowest(group, min(__builtin_popcountll(group), n));
		ret |= group;
		n -= __builtin_popcountll(group);
	}
	return ret;
}

static uint64_t pick_whole(const uint8_t *link, const uint8_t *numa,
                           uint64_t set, int n)
{
	uint64_t ret = 0, group = fit_devices_group(link, set, n);

	if (__builtin_popcountll(group) >= n)
		return lowest(group, n);
	while (n > 0) {
		int have;

		group = fit_devices_group(numa, set & ~ret, n);
		have = __builtin_popcountll(group);
		ret |= pick_linked(link, group, (int)min(have, n));
		n -= have;
	}
	return ret;
}

/* Pick the fullest device with enough left; 0 if there is none. */
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

void fit_devices_gpus(const struct work *w, uint32_t req, int numa,
                      struct snap_task *t)
{
	const struct snap *s = w->snap;
	uint32_t first = s->node.gpu_first[t->node];
	uint32_t n = snap_node_ngpus(s, t->node);
	int64_t gpus = s->req.gpus[req];
	uint64_t typed = 0, whole = 0;

	if (!gpus)
		return;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t bit = (uint64_t)1 << i;

		if (!fit_devices_is_type(s, req, first + i) ||
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

/* The NUMA node for n idle CPUs: near (if given) when it has enough, else the
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
struct cpu_slice {
	uint32_t n;
	const int64_t *nfree;
	const uint16_t *id; /* of the core */
	const uint8_t *numa;
	struct work_core *core;  /* idle counts, less the CPUs chosen so far */
	uint32_t idle[NUMA_IDS]; /* likewise */
	struct snap_cpu_use *use;
	uint32_t nuse;
};

static void slice_init(struct cpu_slice *sl, const struct work *w,
                       uint32_t node, struct snap_cpu_use *use)
{
	uint32_t first = w->snap->node.cpu_first[node];

	*sl = (struct cpu_slice){ .n = snap_node_ncpus(w->snap, node),
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

static bool is_chosen(const struct cpu_slice *sl, uint32_t cpu)
{
	for (uint32_t i = 0; i < sl->nuse; i++) {
		if (sl->use[i].cpu == cpu)
			return true;
	}
	return false;
}

/* The core for n CPUs: a whole one not larger than n, else the one with the
 * fewest idle CPUs that are enough, else the one with most. */
static uint16_t best_core(const struct cpu_slice *sl, int numa, uint32_t n)
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

/* Choose n of the idle CPUs of a core, and milli thousandths of each. */
static void choose_in_core(struct cpu_slice *sl, uint16_t id, uint32_t n,
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

static void choose_idle(struct cpu_slice *sl, uint32_t n, uint16_t milli,
                        int near)
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

static bool choose_shared(struct cpu_slice *sl, uint16_t part, int numa)
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

uint32_t fit_devices_cpus(const struct work *w, uint32_t req, uint32_t node,
                          int near, int numa, struct snap_cpu_use *use)
{
	uint32_t whole = (uint32_t)(w->snap->req.cpus[req] / 1000);
	uint16_t part = w->snap->req.cpus[req] % 1000;
	struct cpu_slice sl;

	if (!snap_node_ncpus(w->snap, node) || (!whole && !part))
		return 0;
	slice_init(&sl, w, node, use);
	choose_idle(&sl, whole, 1000, near);
	if (part && !choose_shared(&sl, part, numa))
		choose_idle(&sl, 1, part, near);
	qsort(use, sl.nuse, sizeof(*use), by_cpu);
	return sl.nuse;
}
