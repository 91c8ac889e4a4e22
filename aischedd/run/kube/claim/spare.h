/*
 * spare.h - choose a free volume for a claim whose StorageClass makes none
 *
 * Admins make the volumes of such a class, for instance one for each disk of a
 * node. If the class waits for the first consumer, Kubernetes binds no claim to
 * these volumes by itself: the scheduler must choose one that the node reaches.
 */
#ifndef AISCHEDD_RUN_KUBE_CLAIM_SPARE_H
#define AISCHEDD_RUN_KUBE_CLAIM_SPARE_H

#include "aischedd/run/kube/claim/claims.h"
#include "libcommon/buf.h"

/* Whether a StorageClass makes no volumes. */
bool kube_spare_is_class(const json_t *class);

/* Note for which claim each volume is kept: its claimRef names the claim; or it
 * suits the claim, which names it, so that the cluster will bind them; or a
 * start has picked it a short while ago. */
void kube_spare_mark(struct kube *kube);

/* Append the names of the nodes that reach a free volume which suits the claim,
 * sorted, each followed by a comma; kube_spare_mark() has been called. Returns
 * true, and appends nothing, if each node reaches one. */
bool kube_spare_nodes(struct kube *kube, const struct kube_seen *claim,
                      struct buf *ret);

/* Returns the smallest free volume which suits the claim and which these n
 * nodes reach, or NULL. For a while other claims do not get that volume. */
const char *kube_spare_pick(struct kube *kube, struct kube_seen *claim,
                            const char *const *node, uint32_t n);

/* Drop the choice of kube_spare_pick(), unless the claim is being changed. */
void kube_spare_drop(struct kube *kube, struct kube_seen *claim);

#endif
