/* made.c - partitions of GPUs (MIG) that a driver makes as they are claimed */
#include "aischedd/run/kube/device/made.h"

#include <string.h>

#include "aischedd/run/kube/device/counters.h"
#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/device/parts.h"
#include "aischedd/run/kube/device/shown.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

/* The partitions of a GPU, and the set of counters that they consume. */
struct listed {
	uint32_t n;
	const struct kube_gpu *part[KUBE_SLICE_DEVICES];
	const char *set;
	const struct kube_amounts *has;
};

static uint32_t start_of(const struct kube_gpu *part)
{
	return (uint32_t)__builtin_ctz(part->units);
}

/* --- whether the slices are right ----------------------------------------- */

/* Whether the units are beside each other. */
static bool is_run(uint8_t units)
{
	uint32_t run = (uint32_t)units >> __builtin_ctz(units);

	return !(run & (run + 1));
}

/* Returns what is wrong with a partition, on the heap; or NULL. */
static char *wrong_of(const struct listed *l, const struct kube_gpu *part)
{
	const char *lack;

	if (strcmp(part->set, l->set) != 0)
		return xasprintf("lists partitions '%s' and '%s' of one GPU "
		                 "with counters of different sets",
		                 l->part[0]->name, part->name);
	if (part->consumes.odd || !is_run(part->units))
		return xasprintf("lists partition '%s' on memory slices that "
		                 "are not from 0 to %d and beside each other",
		                 part->name, MIG_UNITS - 1);
	lack = kube_amounts_lack(l->has, &part->consumes);
	if (lack)
		return xasprintf("lists partition '%s' with more %s than its "
		                 "counters '%s' have",
		                 part->name, lack, l->set);
	for (uint32_t i = 0; i < l->n && l->part[i] != part; i++)
		if (part->profile && l->part[i]->profile == part->profile &&
		    l->part[i]->units == part->units)
			return xasprintf("lists partitions '%s' and '%s' at "
			                 "the same place",
			                 l->part[i]->name, part->name);
	return NULL;
}

/* Collect the partitions of a GPU that are made as they are claimed. Sets
 * node->wrong if something is wrong with them. Returns whether there are
 * any. */
static bool collect(struct kube_shown *node, const struct kube_numbered *gpu,
                    struct listed *ret)
{
	struct kube_parts_cursor at = { .node = node };

	*ret = (struct listed){ 0 };
	while (kube_parts_next(&at) && ret->n < KUBE_SLICE_DEVICES) {
		if (!at.part->set || at.part->shared ||
		    !kube_parts_is_of(&at, gpu))
			continue;
		ret->part[ret->n++] = at.part;
	}
	if (!ret->n)
		return false;
	ret->set = ret->part[0]->set;
	ret->has = kube_counters_set(node, gpu->pool, ret->set);
	if (ret->has && (ret->has->odd || ret->has->more))
		node->wrong = xasprintf(
		    "lists counters '%s' with %s", ret->set,
		    ret->has->odd ? "more than 8 memory slices, or several of "
				    "one"
				  : "more than 8 amounts beside memory slices");
	for (uint32_t i = 0; ret->has && i < ret->n && !node->wrong; i++)
		node->wrong = wrong_of(ret, ret->part[i]);
	return ret->has && !node->wrong;
}

/* --- which model a GPU is ------------------------------------------------- */

static bool is_of_model(const struct kube_gpu *part, uint8_t model)
{
	return part->profile && mig_has(model, part->profile);
}

/* Whether the partitions are all those of the model, each at all of its places
 * and at no other, perhaps with partitions of other profiles. */
static bool is_model(const struct listed *l, uint8_t model)
{
	uint8_t starts[MIG_PROFILES_MOST] = { 0 };

	for (uint32_t i = 0; i < l->n; i++) {
		const struct kube_gpu *part = l->part[i];

		if (!is_of_model(part, model))
			continue;
		if (part->units != mig_mask(part->profile, start_of(part)))
			return false;
		starts[part->profile] |= (uint8_t)(1u << start_of(part));
	}
	for (uint8_t p = 1; p < mig_nprofiles(); p++)
		if (mig_has(model, p) && starts[p] != mig_profile[p].starts)
			return false;
	return l->has->units == (1u << mig_units(model)) - 1;
}

/* Whether the type of a GPU has the name of the model: "h100-80" is one of
 * NVIDIA-H100-80GB-HBM3. */
static bool is_named(uint8_t model, const char *type)
{
	const char *name = mig_model_name[model];
	size_t len = strcspn(name, "-");

	for (; type && *type; type++)
		if (!strncasecmp(type, name, len))
			return true;
	return false;
}

/* Returns the model; several may have the same partitions. MIG_NONE: it is not
 * known. */
static uint8_t find_model(const struct listed *l)
{
	uint8_t found = MIG_NONE;

	for (uint8_t m = 1; m < MIG_NMODELS; m++)
		if (is_model(l, m) && (!found || is_named(m, l->part[0]->type)))
			found = m;
	return found;
}

/* Returns the most of an amount that partitions of the model consume which fit
 * beside each other on the units from `from` on. */
static int64_t most_from(const struct listed *l, uint8_t model,
                         const char *name)
{
	int64_t most[MIG_UNITS + 1] = { 0 };

	for (uint32_t unit = MIG_UNITS; unit--;) {
		most[unit] = most[unit + 1];
		for (uint32_t i = 0; i < l->n; i++) {
			const struct kube_gpu *part = l->part[i];
			uint32_t end =
			    unit + (uint32_t)__builtin_popcount(part->units);
			int64_t sum;

			if (!is_of_model(part, model) || start_of(part) != unit)
				continue;
			sum =
			    kube_amounts_of(&part->consumes, name) + most[end];
			most[unit] = sum > most[unit] ? sum : most[unit];
		}
	}
	return most[0];
}

/* Check that amounts never keep partitions apart that have different units. */
static void check_amounts(struct kube_shown *node, const struct listed *l,
                          uint8_t model)
{
	for (uint32_t i = 0; i < l->has->n && !node->wrong; i++)
		if (most_from(l, model, l->has->of[i].name) > l->has->of[i].n)
			node->wrong = xasprintf(
			    "lists counters '%s' with too little of '%s' for "
			    "all partitions that fit on the memory slices",
			    l->set, l->has->of[i].name);
}

static void lay(struct kube_shown *node, struct kube_numbered *gpu)
{
	struct listed listed;

	if (!collect(node, gpu, &listed))
		return;
	gpu->model = find_model(&listed);
	if (gpu->model)
		check_amounts(node, &listed, gpu->model);
	if (!node->mig)
		node->mig = gpu->model;
	if (gpu->model != node->mig)
		gpu->model = MIG_NONE;
	if (!gpu->model && !node->unmade)
		node->unmade = xstrdup(gpu->name);
}

/* Returns how jobs can have the GPU (libcommon/mig.h). */
static uint64_t ways_of(const struct kube_shown *node,
                        const struct kube_numbered *gpu)
{
	uint64_t ways = 0;

	if (!gpu->shown && gpu->part)
		ways |= MIG_NO_WHOLE;
	if (!gpu->model && node->mig)
		ways |= MIG_NO_PARTS;
	return ways;
}

void kube_made_lay(struct kube_shown *node)
{
	for (uint32_t i = 0; i < node->n && !node->wrong; i++)
		if (!mig_parts_fixed(node->gpu[i].parts))
			lay(node, &node->gpu[i]);
	for (uint32_t i = 0; i < node->n; i++)
		if (!mig_parts_fixed(node->gpu[i].parts))
			node->gpu[i].parts = ways_of(node, &node->gpu[i]);
}

/* --- what is held --------------------------------------------------------- */

/* Whether a claim has the partition that is not for a task of ours. */
static bool is_held(const struct kube *kube, const struct kube_parts_cursor *at)
{
	uint8_t ours, held;

	kube_devices_units(kube, at->pool, at->part->name, &ours, &held);
	return held;
}

/* Returns the units of a GPU that its partitions keep from jobs. */
static uint8_t held_by_parts(const struct kube *kube,
                             const struct kube_shown *node,
                             const struct kube_numbered *gpu)
{
	struct kube_parts_cursor at = { .node = node };
	uint8_t held = 0;

	while (kube_parts_next(&at)) {
		const struct kube_gpu *part = at.part;

		if (!part->counted || !kube_parts_is_of(&at, gpu))
			continue;
		if (!is_of_model(part, gpu->model))
			held |= is_held(kube, &at) ? UINT8_MAX : 0;
		else if (part->tainted || is_held(kube, &at))
			held |= part->units;
	}
	return held;
}

void kube_made_put(const struct kube *kube, const struct kube_shown *node,
                   struct kube_gpus *ret)
{
	ret->mig = node->mig;
	for (uint32_t i = 0; i < ret->n; i++) {
		const struct kube_numbered *gpu = &node->gpu[i];
		uint8_t ours, held;

		if (mig_parts_fixed(gpu->parts))
			continue;
		ret->parts[i] = gpu->parts;
		if (!gpu->model)
			continue;
		kube_devices_units(kube, gpu->pool, gpu->name, &ours, &held);
		held |= held_by_parts(kube, node, gpu);
		if (node->closed || (gpu->shown && gpu->shown->tainted))
			held = UINT8_MAX;
		held &= (uint8_t)((1u << mig_units(gpu->model)) - 1) & ~ours;
		ret->parts[i] = mig_parts_hold(gpu->parts, held);
		ret->held[i] = 0;
	}
}

bool kube_made_beside(const struct kube_shown *node, const struct kube_gpu *a,
                      const struct kube_gpu *b)
{
	return node->mig && !(a->units & b->units) &&
	       is_of_model(a, node->mig) && is_of_model(b, node->mig);
}
