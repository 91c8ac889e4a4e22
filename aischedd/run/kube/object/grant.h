/*
 * grant.h - a ResourceClaim: devices that are given to a pod
 *
 * Pure. A claim of ours is for one pod of an attempt. It names the node and the
 * devices of the plan in an annotation, with their numbers there, so that a
 * daemon that starts again knows which device was which.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_GRANT_H
#define AISCHEDD_RUN_KUBE_OBJECT_GRANT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/object.h"

/* On a claim: its pod's index, node and devices, "0=POOL/NAME,3=POOL/NAME". */
#define KUBE_NOTE_INDEX "aisched.io/index"
#define KUBE_NOTE_NODE  "aisched.io/node"
#define KUBE_NOTE_GPUS  "aisched.io/gpus"

/* Names of claims are longer than those of Jobs, by "-INDEX". */
enum { KUBE_GRANT_SIZE = KUBE_NAME_SIZE + 12 };

/* The devices of a node that a pod gets. */
struct kube_given {
	uint32_t n;
	struct {
		const char *pool, *name;
		uint32_t number; /* in the node */
	} gpu[64];
};

/* The pod and node for which a claim is made; borrowed. */
struct kube_grant_of {
	const struct kube_home *home;
	struct kube_owner owner;
	const char *job, *uid; /* its Job */
	uint32_t index;        /* of the pod */
	const char *node;
};

void kube_grant_name(char ret[KUBE_GRANT_SIZE], const char *job,
                     uint32_t index);

/* Returns the claim, before it has devices. */
json_t *kube_grant_object(const struct kube_grant_of *of,
                          const struct kube_given *given);

/*
 * Returns that claim with its devices, reserved for a pod. obj: as it was read.
 * config: that of its DeviceClass, a list, or NULL.
 */
json_t *kube_grant_allocated(const json_t *obj, const char *driver,
                             const char *node, const struct kube_given *given,
                             const json_t *config, const char *pod,
                             const char *uid);

/* PATCH: add the finalizer to a claim again. The cluster removed it when it
 * took the devices back, and takes devices back only from claims that have
 * it. */
json_t *kube_grant_finalizer(const char *uid, const char *version);

/* PATCH of the status of a pod: name the claim that gives its devices. */
json_t *kube_grant_mapping(const char *claim, const char *pod_uid,
                           const char *resource);

/* The resource by which a container asks for devices of a class. */
char *kube_grant_resource(const char *class);

/* The contents of a claim, ours or another; borrowed from it. */
struct kube_granted {
	const char *namespace, *name, *uid, *version;
	bool ours;
	struct kube_owner owner; /* ours */
	uint32_t index;          /* ours */
	const char *node, *gpus; /* ours: the annotations, or "" */
	bool finalizer, allocated;
	const json_t *results;  /* its devices, of all drivers */
	const json_t *reserved; /* the pods that may use it */
};

/* Returns false if it has no name or uid. */
bool kube_grant_read(const json_t *obj, const struct kube_home *home,
                     struct kube_granted *ret);

/* Whether it is reserved for the pod of this uid. */
bool kube_grant_is_for(const json_t *reserved, const char *uid);

#endif
