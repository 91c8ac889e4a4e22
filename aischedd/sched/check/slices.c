/* slices.c - whether a GPU has room for one more partition */
#include "aischedd/sched/check/slices.h"

/* Whether the GPU has partitions for good. */
static bool has_profiles(uint64_t parts)
{
	bool any = false;

	for (uint32_t i = 0; i < MIG_UNITS; i++)
		any |= !check_slices_at(parts, i, 0);
	return any;
}

bool check_slices_may(const struct snap *s, uint32_t req, uint32_t node,
                      uint32_t gpu)
{
	uint64_t parts = s->gpu.parts ? s->gpu.parts[gpu] : 0;
	uint8_t profile = s->req.profile[req];
	bool has = false;

	if (!profile)
		return check_slices_whole(parts);
	if (!has_profiles(parts))
		return !(parts & MIG_NO_PARTS) &&
		       mig_has(s->node.mig[node], profile);
	for (uint32_t i = 0; i < MIG_UNITS; i++)
		has |= check_slices_at(parts, i, profile);
	return has;
}

/* Whether the GPU is used by partitions only. */
static bool by_slices_only(const struct sliced *g)
{
	int64_t all = mig_units(g->model), n = 0;

	for (uint32_t i = 0; i < MIG_UNITS; i++) {
		uint8_t at = g->parts >> 8 * i & 0x3f;

		all = at ? mig_profile[at].all : all;
	}

	for (int64_t i = 0; i < all; i++)
		n += g->used >> i & 1;
	return all && (1000 - g->nfree) * all == 1000 * n;
}

bool check_slices_fit(const struct sliced *g, uint8_t profile, uint8_t units)
{
	const struct mig_profile *p = &mig_profile[profile];
	bool any = false, fixed = has_profiles(g->parts);

	if (!by_slices_only(g) || g->used & units ||
	    (!fixed &&
	     (g->parts & MIG_NO_PARTS || !(p->models >> g->model & 1))))
		return false;
	for (uint32_t start = 0; start + p->units <= p->all; start++)
		any |= (fixed ? check_slices_at(g->parts, start, profile)
		              : p->starts >> start & 1) &&
		       units == ((1u << p->units) - 1) << start;
	return any;
}

int64_t check_slices_count(const struct sliced *g, uint8_t profile)
{
	const struct mig_profile *p = &mig_profile[profile];
	struct sliced left = *g;
	int64_t n = 0;

	for (uint32_t start = 0; start + p->units <= p->all; start++) {
		uint8_t units = (uint8_t)(((1u << p->units) - 1) << start);

		if (!check_slices_fit(&left, profile, units))
			continue;
		left.used |= units;
		left.nfree -= 1000 * p->units / p->all;
		n++;
	}
	return n;
}
