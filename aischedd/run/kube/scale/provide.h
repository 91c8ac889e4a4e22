/*
 * provide.h - have the cluster's autoscaler add nodes, by ProvisioningRequests
 *
 * A Job of stand-ins without pods owns a PodTemplate and a request for that
 * many pods (object/provision.h). Both are made by the daemon and deleted with
 * the Job. The request is read every few seconds. If it fails, or cannot be
 * made, RUN_SCALE_REFUSED is sent, once for each Job.
 */
#ifndef AISCHEDD_RUN_KUBE_SCALE_PROVIDE_H
#define AISCHEDD_RUN_KUBE_SCALE_PROVIDE_H

#include "aischedd/run/kube/scale/standin_job.h"

struct kube_answer;

/* Make the next call about the request of the Job, for n pods, if one is due.
 */
void kube_provide_step(struct kube *kube, struct standin_job *j, uint32_t n);

/* Apply the answer to a call about the request. */
void kube_provide_answered(struct kube *kube, struct standin_job *j,
                           enum standin_kind kind,
                           const struct kube_answer *answer);

#endif
