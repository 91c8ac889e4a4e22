/*
 * provision.h - make a ProvisioningRequest, which asks an autoscaler for nodes
 *
 * Pure. The request names a PodTemplate, that of a Job of stand-ins
 * (standin.h), and a number of such pods, which the autoscaler makes room for
 * as a whole or not at all. No pods are made: the Job has none. It owns both
 * objects, so they are deleted with it.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_PROVISION_H
#define AISCHEDD_RUN_KUBE_OBJECT_PROVISION_H

#include <jansson.h>
#include <stdint.h>

#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/runner.h"

enum { KUBE_PROVISION_SIZE = KUBE_NAME_SIZE + 10 };

/* Get the name of both objects: that of the Job, and the beginning of its uid,
 * as those of an earlier Job may still be there. */
void kube_provision_name(char ret[KUBE_PROVISION_SIZE], const json_t *job,
                         const char *uid);

json_t *kube_provision_template(const json_t *job, const char *uid);

/* Returns the request for n pods. */
json_t *kube_provision_request(const json_t *job, const char *uid,
                               const struct conf_scale *conf, uint32_t n);

/* Returns why the request will not be met, on the heap; NULL: it may be. */
char *kube_provision_failure(const json_t *request);

#endif
