/*
 * room.h - how many stand-ins would fit on the nodes that are there
 */
#ifndef AISCHEDD_RUN_KUBE_SCALE_ROOM_H
#define AISCHEDD_RUN_KUBE_SCALE_ROOM_H

#include <jansson.h>
#include <stdint.h>

#include "aischedd/run/kube/object/pod.h"

struct kube;

/* Returns how many pods of this Job, each of this size, would fit beside the
 * pods that are bound, as an autoscaler counts them. */
int64_t kube_room(struct kube *kube, const json_t *job,
                  const struct kube_amount *size);

#endif
