/* fit_devices.c - which GPUs and CPUs of a node a task gets */
#include "aischedd/sched/fit_devices.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/sched/fit/near.h"
#include "aischedd/sched/fit_mig.h"
#include "libcommon/limits.h"

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static uint32_t count(uint64_t set)
{
	return (uint32_t)__builtin_popcountll(set);
}

bool fit_devices_has_part(const struct snap *s, uint32_t req, uint32_t node,
                          uint32_t device)
{
	uint64_t parts = s->gpu.parts[device];
	uint8_t profile = s->req.profile[req];

	if (mig_parts_fixed(parts))
		return profile && mig_parts_starts(parts, profile);
	if (!profile)
		return !(parts & MIG_NO_WHOLE);
	return !(parts & MIG_NO_PARTS) && mig_has(s->node.mig[node], profile);
}

void fit_devices_look_up(const struct work *w, uint32_t node)
{
	const struct snap *s = w->snap;
	uint16_t numas = 1, links = 1;

	for (uint32_t d = s->node.gpu_first[node];
	     d < s->node.gpu_first[node + 1]; d++) {
		if (s->gpu.numa[d] >= numas)
			numas = (uint16_t)(s->gpu.numa[d] + 1);
		if (s->gpu.link[d] >= links)
			links = (uint16_t)(s->gpu.link[d] + 1);
	}
	for (uint32_t t = s->node.cpu_first[node];
	     t < s->node.cpu_first[node + 1]; t++) {
		if (s->cpu.numa[t] >= numas)
			numas = (uint16_t)(s->cpu.numa[t] + 1);
	}
	for (uint32_t i = 0; i < snap_node_npieces(s, node); i++) {
		uint8_t numa = s->piece.numa[s->node.piece_first[node] + i];

		if (numa != PIECE_NOWHERE && numa >= numas)
			numas = (uint16_t)(numa + 1);
	}
	if (snap_node_nnumas(s, node) > numas)
		numas = (uint16_t)snap_node_nnumas(s, node);
	w->nnumas[node] = numas;
	w->nlinks[node] = links;
}

uint64_t fit_devices_all(const struct work *w, uint32_t req, uint32_t node)
{
	const struct snap *s = w->snap;
	uint64_t all = 0;

	for (uint32_t i = 0; i < snap_node_ngpus(s, node); i++)
		all |= (uint64_t)fit_devices_may(s, req, node,
		                                 s->node.gpu_first[node] + i)
		       << i;
	return all;
}

uint64_t fit_devices_whole(const struct work *w, uint32_t req, uint32_t node,
                           const struct fit_where *at)
{
	const struct snap *s = w->snap;
	uint32_t first = s->node.gpu_first[node];
	uint64_t ret = 0;

	for (uint32_t i = 0; i < snap_node_ngpus(s, node); i++) {
		if (w->device[first + i] == 1000 && at->gpus >> i & 1 &&
		    at->numas >> s->gpu.numa[first + i] & 1 &&
		    fit_devices_may(s, req, node, first + i))
			ret |= (uint64_t)1 << i;
	}
	return ret;
}

/* Returns the lowest n devices of the set. */
static uint64_t lowest(uint64_t set, uint32_t n)
{
	uint64_t ret = 0;

	for (; n > 0; n--, set &= set - 1)
		ret |= set & -set;
	return ret;
}

/* Returns the devices of the set that have the same number as device d. number:
 * by device, the number of its link group or NUMA node. */
static uint64_t alike(const uint8_t *number, uint64_t set, int d)
{
	uint64_t ret = 0;

	for (uint64_t left = set; left; left &= left - 1) {
		if (number[__builtin_ctzll(left)] == number[d])
			ret |= left & -left;
	}
	return ret;
}

/* --- the choice of whole GPUs ------------------------------------------ */

/* The GPUs of a node by the number of their link group or NUMA node. */
struct grouping {
	const uint8_t *number;        /* by GPU */
	uint64_t mask[UINT8_MAX + 1]; /* by number: GPUs, as bits */
};

/* n: the number of GPUs. end: higher than all numbers. */
static void group(struct grouping *g, const uint8_t *number, uint32_t n,
                  uint32_t end)
{
	g->number = number;
	memset(g->mask, 0, end * sizeof(*g->mask));
	for (uint32_t i = 0; i < n; i++)
		g->mask[number[i]] |= (uint64_t)1 << i;
}

/* Returns the GPUs of the set that are in the same group as GPU d. */
static uint64_t beside(const struct grouping *g, uint64_t set, int d)
{
	return set & g->mask[g->number[d]];
}

struct picking {
	struct grouping link, numa;
	uint64_t nfree; /* all GPUs that are wholly free, of any type */
	uint64_t own;   /* GPUs of the node that the job already has */
	uint64_t awaited;
};

struct price {
	struct fit_damage damage;
	uint32_t nfree; /* free GPUs in the same NUMA node */
	uint32_t left;  /* GPUs of the link group or NUMA node from which GPUs
	                   are taken */
};

static struct fit_damage damage_of(const struct picking *p, uint64_t chosen)
{
	struct fit_damage ret = { .awaited = count(chosen & p->awaited) };

	for (uint64_t left = chosen, cell; left; left &= ~cell) {
		int d = __builtin_ctzll(left);
		uint32_t had, takes;

		cell = beside(&p->numa, beside(&p->link, p->nfree, d), d);
		had = count(cell);
		takes = count(cell & chosen);
		for (int i = 0; i < NBLOCKS; i++) {
			uint32_t k = 8u >> i;

			ret.blocks[i] +=
			    had / k - (had - takes) / k - takes / k;
		}
	}
	return ret;
}

static struct price price_of(const struct picking *p, uint64_t from,
                             uint64_t chosen)
{
	int d = __builtin_ctzll(chosen);

	return (struct price){ .damage = damage_of(p, chosen),
		               .nfree = count(beside(&p->numa, p->nfree, d)),
		               .left = count(from) };
}

int fit_devices_compare(const struct fit_damage *a, const struct fit_damage *b)
{
	if (a->awaited != b->awaited)
		return a->awaited < b->awaited ? -1 : 1;
	for (int i = 0; i < NBLOCKS; i++) {
		if (a->blocks[i] != b->blocks[i])
			return a->blocks[i] < b->blocks[i] ? -1 : 1;
	}
	return 0;
}

static bool is_cheaper(const struct price *a, const struct price *b)
{
	int damage = fit_devices_compare(&a->damage, &b->damage);

	if (damage)
		return damage < 0;
	if (a->nfree != b->nfree)
		return a->nfree < b->nfree;
	return a->left < b->left;
}

static uint64_t pick_in_group(const struct picking *p, uint64_t set,
                              uint32_t n);

/* The GPUs of one link group or of one NUMA node within a set, and which of
 * them would be taken. Only a part that has enough has a price. */
struct part {
	uint64_t mask, chosen;
	uint32_t size;
	bool own, enough;
	struct price price;
};

/* Whether part a is better than b. The best is a link group in which the job
 * already has GPUs; then the part with the lowest price that has enough GPUs;
 * then the largest part. */
static bool is_better(const struct part *a, const struct part *b)
{
	if (!b->mask)
		return true;
	if (a->own != b->own)
		return a->own;
	if (a->enough != b->enough)
		return a->enough;
	if (a->enough)
		return is_cheaper(&a->price, &b->price);
	return a->size > b->size;
}

/* Choose n GPUs of the part, which has at least as many. */
static void choose(const struct picking *p, bool groups, uint32_t n,
                   struct part *part)
{
	uint64_t others = part->mask & ~p->awaited;

	if (groups)
		part->chosen = pick_in_group(p, part->mask, n);
	else if (count(others) >= n)
		part->chosen = lowest(others, n);
	else
		part->chosen = lowest(part->mask, n);
	part->price = price_of(p, part->mask, part->chosen);
}

/* Choose n GPUs of the set from as few parts as possible. by: how the GPUs are
 * divided into parts, which are either link groups or NUMA nodes. */
static uint64_t pick_parts(const struct picking *p, const struct grouping *by,
                           uint64_t set, uint32_t n)
{
	bool groups = by == &p->link;
	uint64_t ret = 0;

	while (n > 0 && set) {
		struct part best = { 0 };

		for (uint64_t left = set, mask; left; left &= ~mask) {
			int d = __builtin_ctzll(left);
			struct part it;

			mask = beside(by, left, d);
			it = (struct part){ .mask = mask, .chosen = mask };
			it.own = groups && beside(by, p->own, d) & ~mask;
			it.size = count(mask);
			it.enough = it.size >= n;
			if (it.enough)
				choose(p, groups, n, &it);
			if (is_better(&it, &best))
				best = it;
		}
		ret |= best.chosen;
		set &= ~best.mask;
		n -= count(best.chosen);
	}
	return ret;
}

static uint64_t pick_in_group(const struct picking *p, uint64_t set, uint32_t n)
{
	return pick_parts(p, &p->numa, set, n);
}

static struct picking picking_on(const struct work *w, uint32_t node,
                                 uint64_t own)
{
	const struct snap *s = w->snap;
	uint32_t first = s->node.gpu_first[node];
	uint32_t ngpus = snap_node_ngpus(s, node);
	struct picking p;

	group(&p.link, s->gpu.link + first, ngpus, fit_devices_nlinks(w, node));
	group(&p.numa, s->gpu.numa + first, ngpus, fit_devices_nnumas(w, node));
	p.own = own;
	p.awaited = w->awaited ? w->awaited[node] : 0;
	p.nfree = 0;
	for (uint32_t i = 0; i < ngpus; i++)
		p.nfree |= (uint64_t)(w->device[first + i] == 1000) << i;
	return p;
}

struct fit_damage fit_devices_damage(const struct work *w, uint32_t node,
                                     uint64_t chosen)
{
	struct picking p = picking_on(w, node, 0);

	return damage_of(&p, chosen);
}

uint64_t fit_devices_pick(const struct work *w, uint32_t node, uint64_t set,
                          uint64_t own, uint32_t n,
                          struct fit_damage *ret_damage)
{
	struct picking p;
	uint64_t ret;

	if (fit_devices_nlinks(w, node) == 1 &&
	    fit_devices_nnumas(w, node) == 1) {
		memset(ret_damage, 0, sizeof(*ret_damage));
		return lowest(set, n);
	}
	p = picking_on(w, node, own);
	ret = pick_parts(&p, &p.link, set, n);
	*ret_damage = damage_of(&p, ret);
	return ret;
}

/* --- link groups ------------------------------------------------------- */

uint64_t fit_devices_linked(const struct work *w, uint32_t node, uint64_t set,
                            uint64_t to)
{
	const uint8_t *link = w->snap->gpu.link + w->snap->node.gpu_first[node];
	uint64_t ret = 0;

	for (uint64_t left = to, group; left; left &= ~group) {
		group = alike(link, set | to, __builtin_ctzll(left));
		ret |= group & set;
	}
	return ret;
}

uint32_t fit_devices_ngroups(const struct work *w, uint32_t node, uint64_t gpus)
{
	const uint8_t *link = w->snap->gpu.link + w->snap->node.gpu_first[node];
	uint64_t seen[(UINT8_MAX + 1) / 64] = { 0 };
	uint32_t n = 0;

	for (; gpus; gpus &= gpus - 1) {
		uint8_t g = link[__builtin_ctzll(gpus)];

		n += !(seen[g / 64] >> g % 64 & 1);
		seen[g / 64] |= (uint64_t)1 << g % 64;
	}
	return n;
}

uint32_t fit_devices_fewest(const struct work *w, uint32_t node, uint64_t set,
                            uint64_t own, uint32_t n)
{
	const uint8_t *link = w->snap->gpu.link + w->snap->node.gpu_first[node];
	uint64_t near = fit_devices_linked(w, node, set, own);
	uint32_t ret = fit_devices_ngroups(w, node, own);
	uint32_t nlinks = fit_devices_nlinks(w, node);
	/* sizes of the other groups, and how many groups have a size */
	uint8_t size[UINT8_MAX + 1];
	uint16_t ngroups[LIMIT_GPUS + 1] = { 0 };

	n -= (uint32_t)min(n, count(near));
	memset(size, 0, nlinks);
	for (uint64_t left = set & ~near; left; left &= left - 1)
		size[link[__builtin_ctzll(left)]]++;
	for (uint32_t g = 0; g < nlinks; g++)
		ngroups[size[g]]++;
	for (uint32_t k = LIMIT_GPUS; n && k; k -= !ngroups[k]) {
		if (!ngroups[k])
			continue;
		ngroups[k]--;
		n -= (uint32_t)min(n, k);
		ret++;
	}
	return ret;
}

/* --- GPUs of a task ---------------------------------------------------- */

/* Among the shared GPUs with enough free for the task, returns the one with the
 * least free; among equals, the one whose link group has the least free.
 * Returns 0 if no shared GPU has enough free. */
static uint64_t pick_shared(const struct work *w, uint32_t req, uint32_t node,
                            const struct fit_where *at)
{
	const struct snap *s = w->snap;
	uint32_t first = s->node.gpu_first[node];
	int64_t part = snap_gpus_on(s, req, node), least = 1000, around = 0;
	uint64_t best = 0;

	for (uint32_t i = 0; i < snap_node_ngpus(s, node); i++) {
		int64_t have = w->device[first + i], others = 0;

		if (have < part || have > least || have == 1000 ||
		    (w->slices && w->slices[first + i]) ||
		    !(at->numas >> s->gpu.numa[first + i] & 1) ||
		    !fit_devices_may(s, req, node, first + i))
			continue;
		for (uint32_t k = first; k < s->node.gpu_first[node + 1]; k++)
			others += s->gpu.link[k] == s->gpu.link[first + i]
			              ? w->device[k]
			              : 0;
		if (best && have == least && others >= around)
			continue;
		least = have;
		around = others;
		best = (uint64_t)1 << i;
	}
	return best;
}

/* Choose n wholly free GPUs for a task, or the one of which it gets a part. */
static uint64_t whole_gpus(const struct work *w, uint32_t req, uint32_t node,
                           const struct fit_where *at, uint32_t n)
{
	struct fit_damage damage;
	uint64_t ret = 0;

	if (w->snap->req.gpus[req] >= 1000)
		ret = fit_near_gpus(w, req, node, at, n, &damage);
	return ret ? ret
	           : fit_devices_pick(w, node,
	                              fit_devices_whole(w, req, node, at), 0, n,
	                              &damage);
}

void fit_devices_gpus(const struct work *w, uint32_t req,
                      const struct fit_where *at, struct snap_task *t)
{
	int64_t gpus = snap_gpus_on(w->snap, req, t->node);
	uint8_t profile = w->snap->req.profile[req];

	if (!gpus)
		return;
	t->gpu_milli = (uint16_t)min(gpus, 1000);
	if (gpus < 1000 && profile) {
		fit_mig_pick(w, req, at, t);
		return;
	}
	if (gpus < 1000)
		t->gpus = pick_shared(w, req, t->node, at);
	if (profile)
		t->units = mig_mask(profile, 0);
	if (!t->gpus)
		t->gpus = whole_gpus(w, req, t->node, at,
		                     (uint32_t)((gpus + 999) / 1000));
}

/* --- CPUs of a task ---------------------------------------------------- */

/* Returns the NUMA node from which to take n idle CPUs: `near` (unless -1) if
 * it has enough; else the one with the fewest idle CPUs that has enough; else
 * `near` if it has any; else the one with the most. */
static int best_numa(const uint32_t idle[SNAP_NUMAS], uint32_t n, int near)
{
	int best = 0;

	if (near >= 0 && idle[near] >= n)
		return near;
	for (int i = 1; i < SNAP_NUMAS; i++) {
		if (idle[i] >= n ? idle[best] < n || idle[i] < idle[best]
		                 : idle[i] > idle[best])
			best = i;
	}
	return near >= 0 && idle[best] < n && idle[near] ? near : best;
}

/* The CPUs of a node while some of them are chosen for a task. */
struct cpu_slice {
	uint32_t n;
	const int64_t *nfree;
	const uint16_t *id; /* by CPU: number of its core */
	const uint8_t *numa;
	/* by core: its idle CPUs that are not yet chosen */
	struct work_core *core;
	/* by NUMA node, if it is in `numas`: its idle CPUs that are not yet
	 * chosen */
	uint32_t idle[SNAP_NUMAS];
	uint32_t numas; /* bit i: the task may have CPUs of NUMA node i */
	struct snap_cpu_use *use;
	uint32_t nuse;
};

static void slice_init(struct cpu_slice *sl, const struct work *w,
                       uint32_t node, uint32_t numas, struct snap_cpu_use *use)
{
	uint32_t first = w->snap->node.cpu_first[node];

	*sl = (struct cpu_slice){ .n = snap_node_ncpus(w->snap, node),
		                  .nfree = w->thread + first,
		                  .id = w->snap->cpu.core + first,
		                  .numa = w->snap->cpu.numa + first,
		                  .core = w->core,
		                  .numas = numas,
		                  .use = use };
	for (uint32_t i = 0; i < sl->n; i++)
		sl->core[sl->id[i]] = (struct work_core){ 0 };
	for (uint32_t i = 0; i < sl->n; i++) {
		sl->core[sl->id[i]].size++;
		sl->core[sl->id[i]].idle += sl->nfree[i] == 1000;
		sl->idle[sl->numa[i]] +=
		    sl->nfree[i] == 1000 && numas >> sl->numa[i] & 1;
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

/* Returns the core from which to take n CPUs, if no wholly idle core has at
 * most n: the core with the fewest idle CPUs that has enough; else the one with
 * the most. */
static uint16_t best_core(const struct cpu_slice *sl, int numa, uint32_t n)
{
	uint32_t best = 0, had = 0;

	for (uint32_t i = 0; i < sl->n; i++) {
		const struct work_core *c = &sl->core[sl->id[i]];

		if (sl->numa[i] != numa || !c->idle)
			continue;
		if (c->idle >= n ? had < n || c->idle < had : c->idle > had) {
			best = i;
			had = c->idle;
		}
	}
	assert(had);
	return sl->id[best];
}

/* Choose n idle CPUs of a core. The task uses `milli` thousandths of each. */
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

/* Choose wholly idle cores of a NUMA node, in the order of their CPUs, as long
 * as they have at most n CPUs together. Returns how many CPUs were chosen. */
static uint32_t choose_cores(struct cpu_slice *sl, int numa, uint32_t n,
                             uint16_t milli)
{
	uint32_t left = n, got = 0;

	for (uint32_t i = 0; i < sl->n && got < n; i++) {
		struct work_core *c = &sl->core[sl->id[i]];

		if (sl->numa[i] != numa)
			continue;
		if (!c->chosen && c->idle == c->size && c->idle <= left) {
			c->chosen = c->idle;
			left -= c->idle;
		}
		if (!c->chosen)
			continue;
		c->chosen--;
		c->idle--;
		sl->use[sl->nuse++] =
		    (struct snap_cpu_use){ (uint16_t)i, milli };
		got++;
	}
	sl->idle[numa] -= got;
	return got;
}

static void choose_idle(struct cpu_slice *sl, uint32_t n, uint16_t milli,
                        int near)
{
	while (n) {
		int numa = best_numa(sl->idle, n, near);
		uint32_t here = (uint32_t)min(sl->idle[numa], n);

		n -= here;
		here -= choose_cores(sl, numa, here, milli);
		while (here) {
			uint16_t id = best_core(sl, numa, here);
			uint32_t got = (uint32_t)min(sl->core[id].idle, here);

			choose_in_core(sl, id, got, milli);
			here -= got;
		}
	}
}

static bool choose_shared(struct cpu_slice *sl, uint16_t part)
{
	uint32_t best = SNAP_NONE;

	for (uint32_t i = 0; i < sl->n; i++) {
		if (!(sl->numas >> sl->numa[i] & 1))
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

/* Choose n idle CPUs from the NUMA nodes of the task's GPUs, from each in
 * proportion to the GPUs that it has there. */
static void choose_near(struct cpu_slice *sl, const struct work *w,
                        const struct snap_task *t, uint32_t n)
{
	const uint8_t *numa =
	    w->snap->gpu.numa + w->snap->node.gpu_first[t->node];
	uint32_t ngpus = count(t->gpus), before = 0;

	for (uint64_t left = t->gpus, here; left; left &= ~here) {
		int d = __builtin_ctzll(left);
		uint32_t from = n * before / ngpus;

		here = alike(numa, left, d);
		before += count(here);
		choose_idle(sl, n * before / ngpus - from, 1000, numa[d]);
	}
	if (!ngpus)
		choose_idle(sl, n, 1000, -1);
}

uint32_t fit_devices_cpus(const struct work *w, uint32_t req,
                          const struct snap_task *t, uint32_t numas,
                          struct snap_cpu_use *use)
{
	const struct snap *s = w->snap;
	uint32_t whole = (uint32_t)(s->req.cpus[req] / 1000);
	uint16_t part = s->req.cpus[req] % 1000;
	struct cpu_slice sl;
	int near = -1;

	if (!snap_node_ncpus(s, t->node) || (!whole && !part))
		return 0;
	if (t->gpus)
		near = s->gpu.numa[s->node.gpu_first[t->node] +
		                   (uint32_t)__builtin_ctzll(t->gpus)];
	slice_init(&sl, w, t->node, numas, use);
	choose_near(&sl, w, t, whole);
	if (part && !choose_shared(&sl, part))
		choose_idle(&sl, 1, part, near);
	qsort(use, sl.nuse, sizeof(*use), by_cpu);
	return sl.nuse;
}
