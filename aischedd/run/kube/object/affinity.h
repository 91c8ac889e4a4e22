/*
 * affinity.h - the nodes that a pod may use, as a constraint
 *
 * Pure. A pod says so in its nodeSelector, its required node affinity and its
 * tolerations. A label of a node is a feature (libcommon/constraint.h), and a
 * taint keeps away what does not name it: a toleration is "(t|!t)", which names
 * the taint and holds everywhere.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_AFFINITY_H
#define AISCHEDD_RUN_KUBE_OBJECT_AFFINITY_H

#include <jansson.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

/* Follows the key of a taint that evicts: the kubelet looks at these too. */
#define KUBE_TAINT_EVICTS ":NoExecute"

/* Append the constraint to *ret: `own` (or NULL) and all that the spec of the
 * pod says. Fails with EINVAL if `own` is no constraint, or if it says what a
 * constraint cannot; the sentence is for the owner. */
int kube_affinity_constraint(const json_t *pod, const char *own,
                             struct buf *ret, struct err *err);

#endif
