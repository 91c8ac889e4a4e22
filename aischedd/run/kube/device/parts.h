/*
 * parts.h - partitions of GPUs (MIG) that ResourceSlices list
 *
 * A driver may list the partitions of a GPU as devices, each with its place on
 * the GPU. Then the GPU is no device itself, unless its partitions are made as
 * they are claimed (made.h). Slices that contradict themselves, or do not say
 * where a partition is, are wrong: the node gives no GPUs.
 *
 * Only files of this folder include it.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_PARTS_H
#define AISCHEDD_RUN_KUBE_DEVICE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/grant.h"

struct kube;
struct kube_found;
struct kube_gpu;
struct kube_gpus;
struct kube_numbered;
struct kube_seen_slice;
struct kube_shown;

/* A partition in a valid slice of a node, and the place of the next one. Only
 * `node` is set before the first one. */
struct kube_parts_cursor {
	const struct kube_shown *node;
	const struct kube_seen_slice *slice; /* NULL: the first one follows */
	uint32_t next;
	const char *pool;
	const struct kube_gpu *part;
};

/* Move to the next partition. Returns false at the end. */
bool kube_parts_next(struct kube_parts_cursor *at);

/* Whether the partition is one of the GPU. */
bool kube_parts_is_of(const struct kube_parts_cursor *at,
                      const struct kube_numbered *gpu);

/* Append to the n GPUs found in the slices of a node those of which only
 * partitions are listed. Sets node->wrong if something is wrong with the
 * partitions. Returns how many GPUs these are then; only LIMIT_GPUS are in
 * found. */
uint32_t kube_parts_collect(struct kube_shown *node, struct kube_found *found,
                            uint32_t n);

/* Set the partitions for good of all GPUs of the node, which have numbers. Sets
 * node->wrong if partitions overlap, or are where they cannot be, and
 * node->unknown to one whose profile is not known. */
void kube_parts_lay(struct kube_shown *node);

/* Put the partitions for good of all GPUs, and which of them are held; all are
 * if node->closed. */
void kube_parts_put(const struct kube *kube, const struct kube_shown *node,
                    struct kube_gpus *ret);

/* Returns the device that is this partition of a GPU; NULL: no slice lists
 * it. */
const struct kube_gpu *kube_parts_find(const struct kube_shown *node,
                                       const struct kube_numbered *gpu,
                                       struct kube_part part);

#endif
