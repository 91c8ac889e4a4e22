/*
 * affinity.h - the nodes that a pod may use, and those it prefers
 *
 * Pure. A pod says so in its nodeSelector, its required node affinity and its
 * tolerations. A label of a node is a feature (libcommon/constraint.h), and a
 * taint keeps away what does not name it: a toleration is "(t|!t)", which names
 * the taint and holds everywhere. Its preferred node affinity is a list of
 * wishes, by weight.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_AFFINITY_H
#define AISCHEDD_RUN_KUBE_OBJECT_AFFINITY_H

#include <jansson.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

/* Follows the key of a taint that evicts: the kubelet looks at these too. */
#define KUBE_TAINT_EVICTS ":NoExecute"

/* Returns the suffix of keys of taints of this effect: "" for NoSchedule. */
const char *kube_affinity_effect(const char *effect);

/* Append the constraint to *ret: `own` (or NULL) and all that the spec of the
 * pod says. Fails with EINVAL if `own` is no constraint, or if it says what a
 * constraint cannot; the sentence is for the owner. */
int kube_affinity_constraint(const json_t *pod, const char *own,
                             struct buf *ret, struct err *err);

/* Append likewise what --prefer would say: `own` (or NULL), then the preferred
 * terms by weight, as many as --prefer takes. Terms that are empty say nothing.
 */
int kube_affinity_prefer(const json_t *pod, const char *own, struct buf *ret,
                         struct err *err);

#endif
