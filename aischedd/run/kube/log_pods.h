/*
 * log_pods.h - the pods of an attempt, in the order of their output
 */
#ifndef AISCHEDD_RUN_KUBE_LOG_PODS_H
#define AISCHEDD_RUN_KUBE_LOG_PODS_H

#include <stdbool.h>
#include <stddef.h>

#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/object/pod.h"
#include "aischedd/run/log_file.h"
#include "aischedd/run/runner.h"

struct kube;

struct kube_log_pod {
	struct log_id id;
	const struct kube_pod *pod; /* borrowed */
	bool gone;                  /* its output cannot be read any longer */
};

/* List the pods of an attempt that run or have run, in the order in which their
 * output is read; on the heap. Returns how many there are. */
size_t kube_log_pods(struct kube *kube, const struct kube_owner *owner,
                     struct kube_log_pod **ret);

/* Returns the pod that runs the task wish->task, or NULL. */
const struct kube_pod *kube_log_pod_of(struct kube *kube,
                                       const struct run_exec_wish *wish);

/* See runner_ops. */
bool kube_log_pods_next(struct runner *r, struct log_id *id, bool wait);

#endif
