/*
 * job.h - the Job of an attempt
 *
 * Pure.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_JOB_H
#define AISCHEDD_RUN_KUBE_OBJECT_JOB_H

#include <jansson.h>
#include <stdint.h>

#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/runner.h"
#include "libcommon/err.h"
#include "libcommon/spec/spec.h"

/*
 * Owns: the caller. Fails with EINVAL if this pool cannot give what the user
 * asks for: no image, a mount that is not allowed, root.
 */
json_t *kube_object_job(const struct kube_home *home, const struct run_job *job,
                        struct err *err);

/* Returns how many of its pods may fail and be replaced. */
uint32_t kube_object_job_replace(const struct spec *spec);

#endif
