/*
 * shown.h - the GPUs of nodes, as ResourceSlices show them
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

void kube_shown_news(struct kube *kube, enum kube_news news, json_t *obj);

/* Give devices the numbers in the annotation of a claim, "0=POOL/NAME,…",
 * unless they have numbers already. */
void kube_shown_seed(struct kube *kube, const char *node, const char *gpus);

/* Make the runner tell the daemon soon about the node that has this pool of
 * devices. */
void kube_shown_touch_pool(struct kube *kube, const char *pool);

/* Append text on why GPUs of some nodes cannot be given. */
void kube_shown_lacks(struct kube *kube, struct buf *out);
void kube_shown_free(struct kube *kube);

/* Whether some claim has the device. Defined in devices.c. */
bool kube_devices_is_claimed(const struct kube *kube, const char *pool,
                             const char *name);

/* Whether the device belongs to a claim of a task that we run or start (ours),
 * or to any other claim (!ours). Defined in devices.c. */
bool kube_devices_is_held(const struct kube *kube, const char *pool,
                          const char *name, bool ours);

#endif
