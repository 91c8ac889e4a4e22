/*
 * give.h - give pods of Jobs made with kubectl GPUs by their ResourceClaims
 *
 * The owner of such a Job, or the cluster by a template, makes the claims. So
 * the daemon takes each of them before it allocates the GPUs of the plan: it
 * notes in the claim for which job, attempt and slot the claim is, and the GPUs
 * with their numbers. The next daemon reads that, so that a pod gets the slot
 * and the GPUs for which its claims were taken. Pods are bound when the watch
 * has shown that their claims have GPUs. The cluster frees these when the pods
 * have ended.
 *
 * The pods of a Job that share a claim are one task of the plan, on one node:
 * its first GPUs are those of the shared claims, in the order of the pod's
 * spec.resourceClaims.
 */
#ifndef AISCHEDD_RUN_KUBE_ADOPT_GIVE_H
#define AISCHEDD_RUN_KUBE_ADOPT_GIVE_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/run/kube/object/wanted.h"
#include "libcommon/err.h"

struct kube;
struct kube_adoptee;
struct kube_adopt_pod;
struct kube_adopt_slot;
struct kube_claimed;

/* Read which GPUs the claims of the Job's pods ask for; see
 * kube_wanted_read(). job: the Job as JSON. */
int kube_adopt_give_read(const struct kube_adoptee *j, const json_t *job,
                         struct kube_wanted *ret, struct err *err);

/* Make the next calls about the claims of the slot's pod, which is not bound.
 * Returns whether the pod has all its GPUs; fails the start if it cannot get
 * them. */
bool kube_adopt_give(struct kube_adoptee *j, struct kube_adopt_slot *slot);

/* Returns the slot for which a claim of the pod was taken, or NULL. */
struct kube_adopt_slot *kube_adopt_give_slot(const struct kube_adopt_pod *p);

/* Free the GPUs of a pod without Job that was not bound, as it stays when its
 * attempt ends. Returns whether it has none. */
bool kube_adopt_give_back(struct kube_adoptee *j);

/* Tell the daemon now which GPUs are held on the nodes of the Job. Call it when
 * an attempt has ended, so that the daemon does not plan with its GPUs before
 * they are free. */
void kube_adopt_give_settle(struct kube_adoptee *j);

/* As kube_devices_is_planned(), for a claim that was taken for a pod of a Job
 * made with kubectl. */
bool kube_adopt_give_is_planned(const struct kube *kube,
                                const struct kube_claimed *claim);

/* Handle the answer to a call about a claim. */
void kube_adopt_give_answered(struct kube_adoptee *j, const char *claim,
                              const struct err *err);

#endif
