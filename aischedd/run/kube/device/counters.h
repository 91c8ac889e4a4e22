/*
 * counters.h - devices that share counters: whole GPUs and parts of them
 *
 * A driver that makes partitions of a GPU as they are claimed lists the GPU and
 * all partitions that it can make. Each device consumes counters of one set; a
 * device that consumes all of the set is the whole GPU. The cluster's scheduler
 * gives out no more than a set has, and so do we: a whole GPU is given only
 * while no claim has another device of its set; made.h is about its partitions.
 *
 * Only files of this folder include it.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_COUNTERS_H
#define AISCHEDD_RUN_KUBE_DEVICE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

struct kube;
struct kube_amounts;
struct kube_found;
struct kube_gpu;
struct kube_numbered;
struct kube_shown;

/* Returns the set of counters of this name in valid slices of the pool, or
 * NULL. */
const struct kube_amounts *kube_counters_set(const struct kube_shown *node,
                                             const char *pool,
                                             const char *name);

/* Whether a device that consumes counters is a whole GPU. Sets node->wrong if
 * it consumes counters of several sets, or no slice lists its set. */
bool kube_counters_is_whole(struct kube_shown *node, const char *pool,
                            const struct kube_gpu *gpu);

/* Set node->wrong if several of these GPUs share counters, or a GPU and a
 * partition of it do not. */
void kube_counters_check(struct kube_shown *node,
                         const struct kube_found *found, uint32_t n);

/* Whether a claim has a device that shares counters with the GPU. */
bool kube_counters_are_used(const struct kube *kube,
                            const struct kube_shown *node,
                            const struct kube_numbered *gpu);

/* Call fn for each device of the node that consumes counters of the set. */
typedef void kube_counters_fn(const struct kube_shown *node,
                              const struct kube_gpu *gpu, void *arg);
void kube_counters_each(const struct kube *kube, const char *node,
                        const char *pool, const char *set, kube_counters_fn *fn,
                        void *arg);

#endif
