/*
 * standin.h - have the cluster's autoscaler add nodes, by pods that stand in
 *
 * Each template of nodes has at most one Job of stand-ins (object/standin.h),
 * in the first namespace of the pool. It has a pod for each node that is to be
 * added, and one more for each that would fit on the nodes that are there: an
 * autoscaler takes these for enough, although jobs are promised them.
 *
 * If the template says by = provisioning, the Job has no pods, but a
 * ProvisioningRequest for that many (provide.h).
 *
 * kube-scheduler does not look at these pods, so the daemon says that they are
 * unschedulable. If somebody else binds one, it is deleted at once; what it
 * requests never counts as used.
 */
#ifndef AISCHEDD_RUN_KUBE_SCALE_STANDIN_H
#define AISCHEDD_RUN_KUBE_SCALE_STANDIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/runner.h"
#include "libcommon/err.h"
#include "libcommon/map.h"

struct kube;
struct kube_pod;
struct kube_space;

struct kube_standins {
	struct map jobs; /* by template: struct standin_job */
	struct map pods; /* by uid: struct standin_pod */
	TAILQ_HEAD(, standin_call) calls;
	bool told; /* the daemon has said what it wants */
	/* why a call failed; code 0: the last one succeeded */
	struct err trouble;
	/* why a ProvisioningRequest could not be made; code 0: the last could
	 */
	struct err refused;
};

void kube_standin_init(struct kube *kube);
void kube_standin_free(struct kube *kube);

/* See runner_ops. */
void kube_standin_want(struct runner *r, size_t n,
                       const struct run_standin *list);

/* Handle what the watches report about Jobs and pods. Return false if the
 * object is no stand-in. */
bool kube_standin_job_seen(struct kube_space *space, const json_t *obj,
                           bool deleted);
bool kube_standin_pod_seen(struct kube *kube, const json_t *obj,
                           const struct kube_pod *pod, bool deleted);
void kube_standin_jobs_news(struct kube_space *space, enum kube_news news);
void kube_standin_pods_news(struct kube *kube, enum kube_news news);

/* Whether there is a Job of stand-ins. */
bool kube_standin_any(const struct kube *kube);

/* Make the calls that are needed now. */
void kube_standin_step(struct kube *kube);

#endif
