/*
 * job.h - make the Job object of an attempt
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
 * Returns the Job, owned by the caller. Fails with EINVAL if the pool does not
 * allow what the user requests: there is no image, a mount is not allowed, or
 * the user is root.
 */
json_t *kube_object_job(const struct kube_home *home, const struct run_job *job,
                        struct err *err);

/* Set the memory limit of a Job whose pods get all memory of their nodes, which
 * have this much: without a limit, a LimitRange could set a lower one. 0: none
 * is set. */
void kube_object_job_limit(json_t *obj, int64_t mem_mib);

/* Returns how many pods of the Job may fail and be replaced. */
uint32_t kube_object_job_replace(const struct spec *spec);

/* Returns what happens to the attempt when pods are lost with their nodes. */
struct spec_loss kube_object_job_loss(const struct kube_home *home,
                                      const struct run_job *job);

#endif
