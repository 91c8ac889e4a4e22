/*
 * pod.h - what an object of a pod says that matters to us
 *
 * Pure.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_POD_H
#define AISCHEDD_RUN_KUBE_OBJECT_POD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

/* An amount of each resource: taken of a node, or there. */
struct kube_amount {
	int64_t cpu_milli, mem_mib, gpus, pods;
};

enum kube_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED };

struct kube_pod {
	char *namespace, *name, *uid;
	char *owner;     /* uid of the controller; "": none */
	char *node;      /* "": not bound */
	bool to_files;   /* KUBE_NOTE_FILES */
	char *container; /* whose output is that of the pod */
	char *leave;     /* KUBE_NOTE_LEAVE; "": it has not been told to */
	int32_t index;   /* of its Job; -1: none */
	enum kube_phase phase;
	bool deleting;
	char *reason, *message; /* of the pod's end; "" */
	/* Of the one container of our pods. */
	bool ran;                /* it runs or has run */
	char *waits, *waits_why; /* "ErrImagePull"; "" */
	bool ended, oom;
	int exit_code;
	char *unable; /* why its first process did not run the script; "" */
	int64_t cpu_ms, peak_kib; /* that it used; 0: not known */
	int64_t start, end;       /* unix seconds; 0: not known */
	struct kube_amount use;
};

/*
 * gpu: the resource that is a GPU.  Its use is counted as kube-scheduler does:
 * init containers one after the other, those that stay added up.  A field of a
 * type that the API does not have is as if it were absent.
 * Fails: EINVAL it has no name or uid; ret is not touched.
 */
int kube_pod_read(json_t *obj, const char *gpu, struct kube_pod *ret,
                  struct err *err);
void kube_pod_fini(struct kube_pod *pod);

/* It will never run (again). */
static inline bool kube_pod_is_over(const struct kube_pod *pod)
{
	return pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

/* Whether it ended for another reason than that what it ran has ended. */
bool kube_pod_is_lost(const struct kube_pod *pod);

/* The use of a pod of this spec. */
struct kube_amount kube_pod_use(const json_t *spec, const char *gpu);

/* A map of resources, as "allocatable"; up: what is asked for, not what is. */
struct kube_amount kube_amount_read(const json_t *map, const char *gpu,
                                    bool up);

#endif
