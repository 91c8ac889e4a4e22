/*
 * secret.h - the Secret of a job: environment, script and first process of its
 * pods
 *
 * Pure.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_SECRET_H
#define AISCHEDD_RUN_KUBE_OBJECT_SECRET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/runner.h"

/*
 * Returns the Secret of a job. Tasks of an array share a Secret, which has only
 * what they have in common; *ret_own, owned by the caller, is then the text for
 * this task only, to be passed to kube_object_secret_share(). For a Secret that
 * is not shared, *ret_own is NULL. The name of a shared Secret has a hash of
 * its content, so that different contents get different Secrets. now: unix
 * seconds at which the attempt begins.
 */
json_t *kube_object_secret(const struct kube_home *home,
                           const struct run_job *job, int64_t now,
                           char **ret_own);

/* Change the Job so that it uses the shared Secret, and passes the text `own`
 * to its pods. */
void kube_object_secret_share(json_t *obj, const char *secret, const char *own);

/* Whether this can be the name of a shared Secret of this cluster. */
bool kube_object_secret_may_share(const char *name,
                                  const struct kube_home *home);

/* Returns the name of the shared Secret that a Job uses; NULL if the Job names
 * none, or one that cannot be ours. */
const char *kube_object_secret_shared(const json_t *obj,
                                      const struct kube_home *home);

#endif
