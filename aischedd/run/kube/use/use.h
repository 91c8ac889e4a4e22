/*
 * use.h - ask dcgm-exporter how busy the GPUs of running jobs are
 *
 * In pools with `gpu_metrics`, the page of the exporter on each node where pods
 * of ours have GPUs is read once in every accounting.sample. A sample counts
 * for the time since the one before, as in shepherd/gpu_watch.h. How busy GPUs
 * are is not known while the exporter of their node does not answer, or answers
 * nonsense, and for the time before a restart of the daemon. GPUs that the
 * exporter reports as shared (KUBERNETES_VIRTUAL_GPUS) are not counted.
 */
#ifndef AISCHEDD_RUN_KUBE_USE_USE_H
#define AISCHEDD_RUN_KUBE_USE_USE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/runner.h"
#include "libcommon/map.h"

struct event;
struct kube;
struct kube_attempt;
struct kube_curl;
struct use_ask;

/* The last sample of a pod. */
struct kube_task_use {
	/* wall clock in ms until which the pod's use is counted; 0: the pod
	 * has not been seen running */
	int64_t since;
	int32_t percent; /* sum over its GPUs */
	uint32_t known;  /* number of GPUs in `percent`; 0: no sample */
	int64_t used_mib, total_mib; /* memory of its GPUs; 0: not known */
};

/* The use of GPUs by the pods of an attempt. */
struct kube_attempt_use {
	int64_t percent_ms; /* sum over all samples of percent times ms */
	int64_t idle_ms;    /* how long all its GPUs have been idle */
	bool changed;       /* there are samples that were not reported */
	struct gpu_use sum;
};

/* The requests to exporters. */
struct kube_use {
	struct event *timer; /* for the next round */
	struct kube_curl *curl;
	TAILQ_HEAD(, use_ask) waiting, flying;
	uint32_t nflying;
	int64_t round_ms; /* monotonic: when the last round began */
	/* the pods that this round asks about: from kube_page_pod() to the key
	 * in kube->pods.ours */
	struct map pods;
};

/* Ask exporters from now on, as long as the pool has `gpu_metrics`. */
void kube_use_begin(struct kube *kube);
void kube_use_free(struct kube *kube);

/* Returns the use of GPUs until the attempt's end: the last samples count until
 * the pods' ends. */
struct gpu_use kube_use_end(struct kube_attempt *a);

#endif
