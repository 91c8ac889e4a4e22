/*
 * secret.h - what the pods of a job run: environment, script, first process
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
 * Returns the Secret of a job. Tasks of an array share one Secret with all that
 * they have in common; then *ret_own, owned by the caller, is the text of what
 * only this task has, for kube_object_secret_share(). The name of a shared
 * Secret is a hash of its content, so different content has different Secrets.
 * *ret_own is NULL if only this Job uses the Secret. now: unix seconds at which
 * the attempt begins.
 */
json_t *kube_object_secret(const struct kube_home *home,
                           const struct run_job *job, int64_t now,
                           char **ret_own);

/* Let the Job use that shared Secret, and give its pods the text of their own.
 */
void kube_object_secret_share(json_t *obj, const char *secret, const char *own);

/* Whether a Secret of that name can be a shared one of this cluster. */
bool kube_object_secret_may_share(const char *name,
                                  const struct kube_home *home);

/* Returns the shared Secret that a Job names; NULL if it names none, or one
 * that cannot be ours. */
const char *kube_object_secret_shared(const json_t *obj,
                                      const struct kube_home *home);

#endif
