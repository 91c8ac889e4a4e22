/* parts.c - partitions of GPUs (MIG) that ResourceSlices list */
#include "aischedd/run/kube/device/parts.h"

#include <string.h>

#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/device/shown.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

bool kube_parts_next(struct kube_parts_cursor *at)
{
	int64_t n;

	if (!at->slice)
		at->slice = LIST_FIRST(&at->node->slices);
	for (; at->slice; at->slice = LIST_NEXT(at->slice, of_node)) {
		const struct kube_slice *slice = &at->slice->slice;

		if (!at->next && !kube_shown_counts(at->node, slice, &n))
			continue;
		while (at->next < slice->ngpus) {
			at->part = &slice->gpu[at->next++];
			at->pool = slice->pool;
			if (at->part->is_part)
				return true;
		}
		at->next = 0;
	}
	return false;
}

/* Move to the next partition that consumes no counters: it is there for
 * good. */
static bool next(struct kube_parts_cursor *at)
{
	while (kube_parts_next(at))
		if (!at->part->counted)
			return true;
	return false;
}

bool kube_parts_is_of(const struct kube_parts_cursor *at,
                      const struct kube_numbered *gpu)
{
	const char *uuid = gpu->shown ? gpu->shown->uuid : gpu->name;

	return gpu->name && uuid && at->part->uuid &&
	       !strcmp(at->pool, gpu->pool) && !strcmp(at->part->uuid, uuid);
}

/* Returns what a partition lacks, or NULL. */
static const char *lack_of(const struct kube_gpu *part)
{
	if (!part->uuid || !*part->uuid || strpbrk(part->uuid, "/,"))
		return "its GPU (attribute parentUUID)";
	if (part->units)
		return NULL;
	return part->counted ? "its memory slices (counters memory-slice-0 …)"
	                     : "its memory slices (capacity memorySlice0 …)";
}

/* Returns the GPU of a partition among those found, or NULL. */
static struct kube_found *gpu_of(struct kube_found *found, uint32_t n,
                                 const struct kube_parts_cursor *at)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct kube_gpu *gpu = found[i].gpu;

		if (strcmp(found[i].pool, at->pool) != 0)
			continue;
		if (gpu ? gpu->uuid && !strcmp(gpu->uuid, at->part->uuid)
		        : !strcmp(found[i].name, at->part->uuid))
			return &found[i];
	}
	return NULL;
}

uint32_t kube_parts_collect(struct kube_shown *node, struct kube_found *found,
                            uint32_t n)
{
	struct kube_parts_cursor at = { .node = node };

	while (!node->wrong && kube_parts_next(&at)) {
		uint32_t have = n < LIMIT_GPUS ? n : LIMIT_GPUS;
		const char *lacks = lack_of(at.part);
		const struct kube_found *of;

		if (at.part->counted && at.part->shared)
			continue;
		if (lacks) {
			node->wrong =
			    xasprintf("lists partition '%s' without %s",
			              at.part->name, lacks);
			break;
		}
		of = gpu_of(found, have, &at);
		if (of && of->gpu && !at.part->counted)
			node->wrong =
			    xasprintf("lists GPU '%s' and partition '%s' of "
			              "it, without counters that they share",
			              of->name, at.part->name);
		if (of)
			continue;
		if (n < LIMIT_GPUS)
			found[n] = (struct kube_found){ at.pool, at.part->uuid,
				                        NULL, at.part };
		n++;
	}
	return n;
}

/* Returns the lowest of the units. */
static uint32_t start_of(const struct kube_gpu *part)
{
	return (uint32_t)__builtin_ctz(part->units);
}

/* Whether the partition can be where it is, if its profile is known. */
static bool is_possible(const struct kube_gpu *part, uint64_t *parts)
{
	return !part->profile ||
	       (mig_mask(part->profile, start_of(part)) == part->units &&
	        mig_parts_add(parts, part->profile, start_of(part)));
}

void kube_parts_lay(struct kube_shown *node)
{
	struct kube_parts_cursor at = { .node = node };
	uint8_t used[LIMIT_GPUS] = { 0 };

	while (!node->wrong && next(&at)) {
		const struct kube_gpu *part = at.part;
		int k = kube_shown_number(node, at.pool, part->uuid);

		if (k < 0)
			continue;
		if (used[k] & part->units)
			node->wrong =
			    xasprintf("lists partition '%s' on memory "
			              "slices that another one has",
			              part->name);
		else if (!is_possible(part, &node->gpu[k].parts))
			node->wrong = xasprintf(
			    "lists partition '%s' where its profile %s cannot "
			    "be",
			    part->name, mig_profile[part->profile].name);
		else if (!part->profile && !node->unknown)
			node->unknown = xstrdup(part->name);
		used[k] |= part->units;
	}
}

/* Whether jobs cannot have the partition now. */
static bool is_held(const struct kube *kube, const struct kube_parts_cursor *at)
{
	const struct kube_gpu *part = at->part;
	uint32_t ours, used;

	used = kube_devices_used(kube, at->pool, part->name,
	                         part->shared ? &part->caps : NULL, &ours);
	return used > ours || (!ours && (at->node->closed || part->tainted));
}

void kube_parts_put(const struct kube *kube, const struct kube_shown *node,
                    struct kube_gpus *ret)
{
	struct kube_parts_cursor at = { .node = node };

	for (uint32_t i = 0; i < ret->n; i++) {
		const struct kube_numbered *gpu = &node->gpu[i];

		if (!mig_parts_fixed(gpu->parts))
			continue;
		ret->parts[i] =
		    kube_devices_parts(kube, gpu->pool, gpu->name, gpu->parts);
		if (ret->parts[i])
			ret->held[i] = 0;
	}
	while (next(&at)) {
		int k = at.part->uuid
		            ? kube_shown_number(node, at.pool, at.part->uuid)
		            : -1;
		uint32_t unit;

		if (k < 0 || !at.part->units || (uint32_t)k >= ret->n)
			continue;
		unit = start_of(at.part);
		if (mig_parts_at(ret->parts[k], unit) && is_held(kube, &at))
			ret->parts[k] |= (uint64_t)MIG_HELD << 8 * unit;
	}
}

const struct kube_gpu *kube_parts_find(const struct kube_shown *node,
                                       const struct kube_numbered *gpu,
                                       struct kube_part part)
{
	struct kube_parts_cursor at = { .node = node };

	while (kube_parts_next(&at))
		if (kube_parts_is_of(&at, gpu) &&
		    at.part->profile == part.profile &&
		    at.part->units == part.units)
			return at.part;
	return NULL;
}
