/* fit_mig.c - partitions of GPUs */
#include "aischedd/sched/fit_mig.h"

#include <string.h>

bool fit_mig_any(const struct snap *s)
{
	for (uint32_t i = 0; i < s->node.n; i++) {
		if (s->node.mig[i])
			return true;
	}
	return s->gpu.parts != NULL;
}

static int64_t count(uint8_t set)
{
	return __builtin_popcount(set);
}

static uint16_t blocked_by(uint8_t model, uint8_t used)
{
	int64_t nfree = mig_units(model) - count(used), sum = 0;

	for (uint8_t p = 1; mig_profile_name[p]; p++) {
		const struct mig_profile *it = &mig_profile[p];

		if (mig_has(model, p) && it->units <= nfree)
			sum += it->units * (count(it->starts) -
			                    count(mig_free_starts(p, used)));
	}
	return (uint16_t)sum;
}

static uint16_t most_beside(uint8_t model, uint8_t used)
{
	int64_t most = 0;

	for (uint8_t p = 1; mig_profile_name[p]; p++) {
		if (mig_has(model, p) && mig_free_starts(p, used) &&
		    mig_milli(p) > most)
			most = mig_milli(p);
	}
	return (uint16_t)most;
}

struct work_mig (*fit_mig_rests(const struct snap *s, struct arena *arena))[256]
{
	struct work_mig(*ret)[256] =
	    arena_alloc(arena, MIG_NMODELS, sizeof(*ret));
	uint32_t models = 0;

	for (uint32_t i = 0; i < s->node.n; i++)
		models |= 1u << s->node.mig[i];
	for (uint8_t m = 1; m < MIG_NMODELS; m++) {
		if (!(models >> m & 1))
			continue;
		for (uint32_t used = 0; used < 1u << mig_units(m); used++) {
			ret[m][used].blocked = blocked_by(m, (uint8_t)used);
			ret[m][used].most = most_beside(m, (uint8_t)used);
		}
	}
	return ret;
}

/* Returns the partitions that a GPU has for good, or 0. */
static uint64_t parts_of(const struct work *w, int64_t device)
{
	uint64_t parts = w->snap->gpu.parts ? w->snap->gpu.parts[device] : 0;

	return mig_parts_fixed(parts) ? parts : 0;
}

/* Returns the slices of a GPU; 0 if it cannot have partitions. */
static int64_t units_of(const struct work *w, uint32_t node, int64_t device)
{
	uint64_t parts = w->snap->gpu.parts ? w->snap->gpu.parts[device] : 0;

	if (mig_parts_fixed(parts))
		return mig_parts_all(parts);
	return parts & MIG_NO_PARTS ? 0 : mig_units(w->snap->node.mig[node]);
}

bool fit_mig_is_sound(const struct work *w, uint32_t node, int64_t device)
{
	int64_t all = units_of(w, node, device);
	int64_t slices = w->slices[device];
	uint8_t used = fit_mig_used(slices);

	return !slices ||
	       (all && slices == fit_mig_spread(used) &&
	        w->device[device] == 1000 - 1000 * count(used) / all);
}

/* Find which slices of a GPU are in use. Returns false if the GPU cannot have
 * partitions, or is used whole or by fractions. */
static bool is_parted(const struct work *w, uint32_t node, uint32_t device,
                      uint8_t *ret_used)
{
	int64_t all = units_of(w, node, device);

	if (!all)
		return false;
	*ret_used = fit_mig_used(w->slices[device]);
	return w->device[device] == 1000 - 1000 * count(*ret_used) / all;
}

/* Returns the slices that are not in use. */
static uint8_t loose(const struct work *w, uint32_t node, uint8_t used)
{
	return (uint8_t)(((1u << mig_units(w->snap->node.mig[node])) - 1) &
	                 ~used);
}

/* Returns the slices at which a partition could start, as bits. */
static uint8_t starts_on(const struct work *w, uint32_t req, uint32_t node,
                         uint32_t device, uint8_t used)
{
	uint8_t profile = w->snap->req.profile[req];
	uint64_t parts = parts_of(w, device);

	if (parts)
		return mig_parts_starts(parts, profile) & ~used;
	return mig_has(w->snap->node.mig[node], profile)
	           ? mig_free_starts(profile, used)
	           : 0;
}

int64_t fit_mig_most(const struct work *w, uint32_t node, uint32_t device)
{
	uint64_t parts = parts_of(w, device);
	int64_t most = 0;
	uint8_t used;

	if (!is_parted(w, node, device, &used))
		return 0;
	if (!parts)
		return w->mig[w->snap->node.mig[node]][used].most;
	for (uint32_t i = 0; i < MIG_UNITS; i++) {
		uint8_t profile = mig_parts_at(parts, i);

		if (profile && !(used >> i & 1) && mig_milli(profile) > most)
			most = mig_milli(profile);
	}
	return most;
}

int64_t fit_mig_count(const struct work *w, uint32_t req, uint32_t node,
                      uint32_t device)
{
	uint8_t profile = w->snap->req.profile[req], used;

	if (!is_parted(w, node, device, &used))
		return 0;
	return w->loose & LOOSE_SLICES && !parts_of(w, device)
	           ? count(loose(w, node, used)) / mig_profile[profile].units
	           : count(starts_on(w, req, node, device, used));
}

/* A partition that a task could get. Members are compared in this order, and
 * less is better. */
struct choice {
	bool whole; /* the GPU is not used yet */
	/* damage: how much it blocks (fit_mig.h); left: the thousandths of the
	 * GPU that are still free */
	int64_t damage, left;
	uint8_t units;
	uint32_t gpu;
};

static bool is_better(const struct choice *a, const struct choice *b)
{
	if (!b->units)
		return true;
	if (a->whole != b->whole)
		return b->whole;
	return a->damage != b->damage ? a->damage < b->damage
	                              : a->left < b->left;
}

/* Returns the best partition on a GPU; .units is 0 if none fits. */
static struct choice best_on(const struct work *w, uint32_t req, uint32_t node,
                             uint32_t gpu, uint8_t used)
{
	uint32_t device = w->snap->node.gpu_first[node] + gpu;
	bool fixed = parts_of(w, device) != 0;
	const struct work_mig *rest =
	    w->mig[fixed ? MIG_NONE : w->snap->node.mig[node]];
	uint8_t profile = w->snap->req.profile[req];
	struct choice best = { 0 };

	for (uint8_t left = starts_on(w, req, node, device, used); left;) {
		uint32_t start = 31u - (uint32_t)__builtin_clz(left);
		struct choice it = { .gpu = gpu, .whole = !used };

		left &= (uint8_t) ~(1u << start);
		it.units = mig_mask(profile, start);
		it.damage =
		    (int64_t)rest[used | it.units].blocked - rest[used].blocked;
		if (is_better(&it, &best))
			best = it;
	}
	if (!best.units && w->loose & LOOSE_SLICES && !fixed &&
	    fit_mig_count(w, req, node, device)) {
		uint8_t left = loose(w, node, used);

		best.gpu = gpu;
		while (count(best.units) < mig_profile[profile].units) {
			best.units |= (uint8_t)(left & -left);
			left &= (uint8_t)(left - 1);
		}
	}
	best.left = w->device[device];
	return best;
}

void fit_mig_pick(const struct work *w, uint32_t req,
                  const struct fit_where *at, struct snap_task *t)
{
	const struct snap *s = w->snap;
	uint32_t first = s->node.gpu_first[t->node];
	struct choice best = { 0 };

	for (uint32_t i = 0; i < snap_node_ngpus(s, t->node); i++) {
		struct choice it;
		uint8_t used;

		if (!(at->gpus >> i & 1) ||
		    !(at->numas >> s->gpu.numa[first + i] & 1) ||
		    !is_parted(w, t->node, first + i, &used))
			continue;
		it = best_on(w, req, t->node, i, used);
		if (it.units && is_better(&it, &best))
			best = it;
	}
	t->gpus = best.units ? (uint64_t)1 << best.gpu : 0;
	t->units = best.units;
}

int64_t fit_mig_best(const struct work *w, uint32_t node, int64_t *ret_gpu)
{
	uint32_t first = w->snap->node.gpu_first[node];
	int64_t best = 0;

	for (uint32_t i = 0; i < snap_node_ngpus(w->snap, node); i++) {
		uint8_t used;
		int64_t nfree;

		if (parts_of(w, first + i) ||
		    !is_parted(w, node, first + i, &used))
			continue;
		nfree = count(loose(w, node, used));
		if (nfree > best) {
			best = nfree;
			*ret_gpu = i;
		}
	}
	return best;
}
