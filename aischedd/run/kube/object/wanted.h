/*
 * wanted.h - the ResourceClaims for which pods of others ask
 *
 * Pure. A pod made with kubectl names ResourceClaims, or templates from which
 * the cluster makes a claim for each pod. A claim can be given GPUs if it asks
 * for nothing but a number of devices of the pool's DeviceClass. All pods that
 * name the same claim share its GPUs, and so run on one node.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_WANTED_H
#define AISCHEDD_RUN_KUBE_OBJECT_WANTED_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/grant.h"
#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

/* The most pods for which a claim can be reserved, and the most claims of a
 * pod that can be given GPUs. */
enum { KUBE_RESERVED_MAX = 256, KUBE_WANTED_CLAIMS = 32 };

/* The claims of a pod: how many GPUs they have in all. */
struct kube_wanted {
	uint32_t n;      /* claims of each pod, shared ones included */
	uint32_t shared; /* GPUs of the claims that pods share */
	uint32_t own;    /* GPUs of the claims that each pod has of its own */
	bool numa;       /* all GPUs of a claim must be of one NUMA node */
	bool links;      /* the same with a partition of linked GPUs */
};

/* Returns the ResourceClaim of that name or, if `template`, the
 * ResourceClaimTemplate, or NULL. */
typedef const json_t *kube_wanted_fn(const void *arg, const char *name,
                                     bool template);

/*
 * Read which GPUs the claims of a pod ask for. pod: the spec of the pod. find:
 * called with arg. Fails with ENOENT if a claim or template does not exist, and
 * with EINVAL if one cannot be given GPUs; the error names what it asks for,
 * and is meant for the owner of the pod.
 */
int kube_wanted_read(const json_t *pod, const struct conf_pool *pool,
                     kube_wanted_fn *find, const void *arg,
                     struct kube_wanted *ret, struct err *err);

/* Read one claim, as kube_wanted_read() does. Returns how many GPUs it asks
 * for. claim: a ResourceClaim. Returns -1, and sets *err, if it cannot be given
 * GPUs. */
int kube_wanted_claim(const json_t *claim, const struct conf_pool *pool,
                      struct err *err);

/* Returns the attribute that all GPUs of the claim must share, but that
 * differs among these; NULL: there is none. */
const char *kube_wanted_differs(const json_t *claim,
                                const struct conf_pool *pool,
                                const struct kube_given *given);

/*
 * Returns the claims of a pod, a list with an entry for each of its
 * spec.resourceClaims: {"claim": name of the claim, "own": whether it was made
 * for this pod}. The name of a claim that is not made yet is null. Returns NULL
 * if the pod has none.
 */
json_t *kube_wanted_names(const json_t *pod);

#endif
