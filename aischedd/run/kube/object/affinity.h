/*
 * affinity.h - node affinity of pods as values of --constraint and --prefer
 *
 * Pure. The nodes that a pod may use follow from its nodeSelector, its required
 * node affinity and its tolerations; the nodes that it prefers, from the
 * weights of its preferred node affinity. Here these become constraints as in
 * --constraint and --prefer (libcommon/constraint.h), in which a label of a
 * node is a feature. A taint excludes jobs whose constraint does not name it.
 * So a toleration of taint t becomes "(t|!t)", which names t and is true on
 * every node.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_AFFINITY_H
#define AISCHEDD_RUN_KUBE_OBJECT_AFFINITY_H

#include <jansson.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

/* Suffix of the key of a NoExecute taint. Such taints evict pods, and the
 * kubelet checks them, too. */
#define KUBE_TAINT_EVICTS ":NoExecute"

/* Returns the suffix of the keys of taints with this effect; "" for
 * NoSchedule. */
const char *kube_affinity_effect(const char *effect);

/* Append to *ret a constraint that demands the same as the pod's spec, and the
 * constraint `own` if it is not NULL. Fails with EINVAL if `own` is malformed,
 * or if the spec demands something that no constraint can express; the error is
 * meant for the Job's owner. */
int kube_affinity_constraint(const json_t *pod, const char *own,
                             struct buf *ret, struct err *err);

/* Append a value for --prefer to *ret: `own` (or NULL), then the preferred
 * terms by weight, as many as --prefer takes. Empty terms are skipped. Fails as
 * kube_affinity_constraint() does. */
int kube_affinity_prefer(const json_t *pod, const char *own, struct buf *ret,
                         struct err *err);

#endif
