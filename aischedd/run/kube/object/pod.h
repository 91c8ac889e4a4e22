/*
 * pod.h - read a pod as the API server reports it
 *
 * Pure.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_POD_H
#define AISCHEDD_RUN_KUBE_OBJECT_POD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/mig.h"

/* An amount of each resource. */
struct kube_amount {
	int64_t cpu_milli, mem_mib, gpus, pods;
	int64_t tmp_mib;                   /* ephemeral storage */
	uint16_t parts[MIG_PROFILES_MOST]; /* partitions of GPUs, by profile */
	int64_t devs[DEVICE_KINDS];        /* other devices, by kind */
};

/* Whether it has GPUs or partitions of GPUs. */
static inline bool kube_amount_has_gpus(const struct kube_amount *a)
{
	for (int i = 0; i < MIG_PROFILES_MOST; i++)
		if (a->parts[i])
			return true;
	return a->gpus != 0;
}

enum kube_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED };

struct kube_pod {
	char *namespace, *name, *uid;
	char *owner;     /* uid of the controller; "": none */
	char *node;      /* "": not bound */
	char *host;      /* address of its node; "": not known */
	json_t *claims;  /* names of volume claims; NULL: none */
	json_t *grants;  /* its ResourceClaims, see kube_wanted_names() */
	bool to_files;   /* it has KUBE_NOTE_FILES */
	char *container; /* the container whose output counts */
	char *leave;     /* KUBE_NOTE_LEAVE; "": not told to end */
	char *claim;     /* the ResourceClaim that its status names; "": none */
	int32_t index;   /* index in its Job; -1: none */
	int32_t fails;   /* how many earlier pods of the index have failed, as
	                    the Job controller counts them */
	enum kube_phase phase;
	bool deleting;
	bool disrupted;         /* it has the condition KUBE_DISRUPTED */
	char *reason, *message; /* why the pod ended, from its status; or "" */
	/* The state of `container`. */
	bool ran; /* the container runs or has run */
	/* why it waits, such as "ErrImagePull"; or "" */
	char *waits, *waits_why;
	bool ended, oom;
	bool out_of_disk; /* the kubelet evicted it: it stored too much */
	int exit_code;
	char *unable; /* why its first process did not run the script; or "" */
	/* lines about its steps, as in the shepherd's record; or "" */
	char *steps;
	/* CPU time and peak memory used; 0: not known */
	int64_t cpu_ms, peak_kib;
	int64_t start, end; /* unix seconds; 0: not known */
	struct kube_amount use;
};

/*
 * Read a pod. The pool says which resources count GPUs and other devices. The
 * pod's use is counted as kube-scheduler does, init containers included. A
 * field with a type other than in the API counts as absent. Fails with EINVAL,
 * and does not set *ret, if the pod has no name or uid.
 */
int kube_pod_read(json_t *obj, const struct conf_pool *pool,
                  struct kube_pod *ret, struct err *err);
void kube_pod_fini(struct kube_pod *pod);

/* Whether the pod has ended. It does not run again. */
static inline bool kube_pod_is_over(const struct kube_pod *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

/* Whether the pod failed for a reason other than the end of its container, such
 * as an eviction. */
bool kube_pod_is_lost(const struct kube_pod *pod);

/* Whether the kubelet refused the pod when it was bound to the node: it never
 * ran there. */
bool kube_pod_is_refused(const struct kube_pod *pod);

/* Returns a sentence about a pod that has failed before it ran, on the heap. */
char *kube_pod_refusal(const struct kube_pod *pod);

/* Whether the pod ended badly because of its container. */
static inline bool kube_pod_is_bad(const struct kube_pod *pod)
{
	return pod->exit_code || pod->oom || pod->out_of_disk;
}

/* Returns the names of the volume claims of a pod of this spec, or NULL. */
json_t *kube_pod_claims(const json_t *spec);

/* Returns the most that a pod of this spec uses at any time. */
struct kube_amount kube_pod_use(const json_t *spec,
                                const struct conf_pool *pool);

/* Convert thousandths of CPUs in a pool with cpu_overcommit. kube_cpus_more()
 * converts CPUs of Kubernetes to CPUs of jobs: it multiplies by cpu_overcommit,
 * and rounds up or down. kube_cpus_less() converts back, and rounds down. So
 * pods whose jobs fit on a node also fit for the kubelet. */
int64_t kube_cpus_more(const struct conf_pool *pool, int64_t milli, bool up);
int64_t kube_cpus_less(const struct conf_pool *pool, int64_t milli);

/* Read a map of resources, such as "allocatable". up: round up, as for
 * requests; else round down. */
struct kube_amount kube_amount_read(const json_t *map,
                                    const struct conf_pool *pool, bool up);

/* Set ret to the devices for which a job asks (spec.device, or NULL). */
void kube_devs_asked(const struct conf_pool *pool, const char *device,
                     int64_t ret[DEVICE_KINDS]);

/* Whether it asks for some that ResourceClaims give. */
bool kube_devs_by_claims(const struct conf_pool *pool, const char *device);

#endif
