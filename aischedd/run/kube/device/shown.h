/*
 * shown.h - the GPUs that ResourceSlices list, and their numbers
 *
 * Only files of this folder include it.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_SHOWN_H
#define AISCHEDD_RUN_KUBE_DEVICE_SHOWN_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/run/kube/client/watch.h"

struct buf;
struct kube;
struct kube_capacities;

void kube_shown_news(struct kube *kube, enum kube_news news, json_t *obj);

/* Give devices of a node the numbers in a claim's annotation, "0=POOL/NAME,…".
 * Skip devices that have a number, and numbers in use. */
void kube_shown_seed(struct kube *kube, const char *node, const char *gpus);

/* Make the runner tell the daemon soon about the node that has this pool of
 * devices. */
void kube_shown_touch_pool(struct kube *kube, const char *pool);

/* Append a text that names the nodes on which no job can get a GPU, and says
 * why, and those whose slices no longer list all GPUs; append nothing if there
 * is no such node. */
void kube_shown_lacks(struct kube *kube, struct buf *out);
void kube_shown_free(struct kube *kube);

/* Whether a ResourceClaim has the device. Defined in devices.c. */
bool kube_devices_is_claimed(const struct kube *kube, const char *pool,
                             const char *name);

/* Returns how many thousandths of the device claims have. *ret_ours: how many
 * of them the daemon counts itself, as tasks of ours run or start with them.
 * caps: NULL if the device is not shared, or gone. Defined in devices.c. */
uint32_t kube_devices_used(const struct kube *kube, const char *pool,
                           const char *name, const struct kube_capacities *caps,
                           uint32_t *ret_ours);

#endif
