/*
 * shown.h - what the slices of a node show
 *
 * For this folder.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_SHOWN_H
#define AISCHEDD_RUN_KUBE_DEVICE_SHOWN_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/run/kube/client/watch.h"

struct buf;
struct kube;

void kube_shown_news(struct kube *kube, enum kube_news news, json_t *obj);

/* Give devices the numbers that a claim remembers, "0=POOL/NAME,…", unless they
 * have some. */
void kube_shown_seed(struct kube *kube, const char *node, const char *gpus);

/* Tell the node again whose pool of devices this is. */
void kube_shown_touch_pool(struct kube *kube, const char *pool);

/* Append why GPUs of some nodes are not given. */
void kube_shown_lacks(struct kube *kube, struct buf *out);
void kube_shown_free(struct kube *kube);

/* In devices.c: whether a claim has the device. */
bool kube_devices_is_claimed(const struct kube *kube, const char *pool,
                             const char *name);

/* In devices.c: whether a claim of a task that we run has the device (ours), or
 * any other claim. */
bool kube_devices_is_held(const struct kube *kube, const char *pool,
                          const char *name, bool ours);

#endif
