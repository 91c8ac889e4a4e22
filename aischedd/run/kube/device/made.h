/*
 * made.h - partitions of GPUs (MIG) that a driver makes as they are claimed
 *
 * Such a driver lists each partition that it can make, at each place, as a
 * device that consumes counters of its GPU (counters.h): the memory slices of
 * its place, and amounts. If the partitions of a GPU are those of a model
 * (libcommon/mig.h), the plan chooses profile and place, and a claim of that
 * device makes the driver make it. Others, such as those with media engines
 * (+me), are not given; while a claim of others has one, jobs get no more of
 * the GPU. If the partitions are those of no known model, jobs only get the
 * whole GPU. It depends on the GPU, and on its MIG mode, whether the driver
 * lists that, too.
 *
 * Which partitions fit beside each other is decided by memory slices alone: so
 * the amounts are checked once, when the slices are read.
 *
 * Only files of this folder include it.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_MADE_H
#define AISCHEDD_RUN_KUBE_DEVICE_MADE_H

#include <stdbool.h>

struct kube;
struct kube_gpu;
struct kube_gpus;
struct kube_shown;

/* Find the model of each GPU of the node, which has its partitions for good
 * already. Sets node->wrong if partitions contradict themselves or their
 * counters, and node->unmade if they are of no model. */
void kube_made_lay(struct kube_shown *node);

/* Put the model, and which units of the GPUs that have it are held; all are if
 * node->closed. */
void kube_made_put(const struct kube *kube, const struct kube_shown *node,
                   struct kube_gpus *ret);

/* Whether claims can have both of these devices of one set of counters. */
bool kube_made_beside(const struct kube_shown *node, const struct kube_gpu *a,
                      const struct kube_gpu *b);

#endif
