/*
 * share.h - GPUs that tasks share by one claim (gpu_sharing = claims)
 *
 * A driver that gives only whole GPUs gives each to one claim. So all pods with
 * a part of a GPU reserve the same claim. It is made for the first of them,
 * belongs to no Job, and is deleted when the last has ended and the cluster has
 * taken the GPU back. Its name is made from node and GPU, so there is one for
 * each GPU. The parts are those of the plan, which adds them up; the claim does
 * not know them.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_SHARE_H
#define AISCHEDD_RUN_KUBE_DEVICE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/grant.h"

struct kube;
struct kube_attempt;
struct kube_claimed;
struct kube_slot;

/* Whether the slot's task shares its GPU by a claim. */
bool kube_share_is(const struct kube_attempt *a, const struct kube_slot *slot);

/* Write the name of the claim by which the slot's task shares its GPU to ret.
 * Returns false if its node no longer shows the GPU. */
bool kube_share_name(const struct kube_attempt *a, const struct kube_slot *slot,
                     char ret[KUBE_GRANT_SIZE]);

/* Returns the claim by which the pod of this index shares a GPU, as the pod
 * names it, or NULL. */
struct kube_claimed *kube_share_of(const struct kube_attempt *a,
                                   uint32_t index);

/* As kube_devices_is_planned(), for such a claim: whether some task of ours
 * that has part of its GPU runs, or starts. */
bool kube_share_is_planned(struct kube *kube, const struct kube_claimed *claim);

/* Make the attempts look at the claim that share its GPU. */
void kube_share_touch(struct kube *kube, const struct kube_claimed *claim);

/* Delete the claim if it is no longer needed. */
void kube_share_step(struct kube *kube, struct kube_claimed *claim);

/* The same for all claims. */
void kube_share_step_all(struct kube *kube);

#endif
