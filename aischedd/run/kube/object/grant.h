/*
 * grant.h - make and read ResourceClaims, which give devices to pods
 *
 * Pure. A claim of ours is for one pod of an attempt, or for several pods of a
 * gang on one node, each of which has a request of its own. Annotations name
 * the node and the devices of the plan, with their numbers on the node, so that
 * the daemon still knows these numbers after a restart.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_GRANT_H
#define AISCHEDD_RUN_KUBE_OBJECT_GRANT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/capacity.h"
#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/object/slice.h"
#include "libcommon/limits.h"

/* Annotations of a claim: index, node and GPUs of its pod; the GPUs as
 * "0=POOL/NAME,3=POOL/NAME"; if it is for several pods, their indexes, "0,1,2",
 * and the GPUs of one after the other, as many of each; the thousandths of its
 * GPU, if it gets a part only; the partition that it gets, "3g.40gb@4"; its
 * other devices, in the order of kube_kinds_text(),
 * "rdma/POOL/NAME,rdma/POOL/NAME". The policies of contrib/kubernetes keep
 * others from setting them. */
#define KUBE_NOTE_INDEX     "aisched.io/index"
#define KUBE_NOTE_NODE      "aisched.io/node"
#define KUBE_NOTE_GPUS      "aisched.io/gpus"
#define KUBE_NOTE_PART      "aisched.io/gpu-part"
#define KUBE_NOTE_PARTITION "aisched.io/gpu-partition"
#define KUBE_NOTE_DEVICES   "aisched.io/devices"
/* and of a claim that was stirred: its resourceVersion before that */
#define KUBE_NOTE_STIRRED "aisched.io/stirred"

/* Names of claims are longer than those of Jobs, by "-INDEX"; those of claims
 * for shared devices name node and device. The API allows 253 characters. */
enum { KUBE_GRANT_SIZE = 254 };

/* most pods of a gang that have one claim, and most GPUs of such a claim: the
 * API allows no more requests, and no more devices */
enum { KUBE_GRANT_PODS = 32 };

/* A partition (MIG): its profile (libcommon/mig.h) and its units, a bit each;
 * 0: none, or not known. */
struct kube_part {
	uint8_t profile, units;
};

static inline bool kube_part_is_same(struct kube_part a, struct kube_part b)
{
	return a.profile == b.profile && a.units == b.units;
}

/* The devices of a node that a pod gets, or several pods with one claim;
 * borrowed. */
struct kube_given {
	uint32_t n;
	/* the indexes of several pods, which get as many GPUs each, one after
	 * the other, and no other devices; 0 or 1: it is one pod */
	uint32_t npods, pod[KUBE_GRANT_PODS];
	uint32_t milli; /* of each device: 1000, or a part of the only one */
	struct kube_part part; /* the only device is this partition */
	const char *node;
	struct {
		const char *pool, *name;
		/* the name of its GPU: its own, unless it is a partition */
		const char *of;
		uint32_t number; /* number of the GPU on its node */
		const struct kube_gpu *shown; /* as a slice lists it */
		/* NULL: no other claim can have a part of the device */
		const struct kube_capacities *caps;
		/* the set of counters that it consumes; NULL: none */
		const char *set;
	} gpu[64];
	/* devices other than GPUs, those of a kind side by side */
	uint32_t ndevs;
	struct kube_given_dev {
		const struct conf_device *kind;
		const char *pool, *name;
		const json_t *config; /* of its DeviceClass, or NULL */
	} dev[LIMIT_DEVICES];
	const char *devs; /* all of them, as KUBE_NOTE_DEVICES; NULL: none */
};

/* The pod and node for which a claim is made; borrowed. */
struct kube_grant_of {
	const struct kube_home *home;
	struct kube_owner owner;
	/* name and uid of the pod's Job; NULL: it has none */
	const char *job, *uid;
	const char *name; /* of the claim; NULL: made of job and index */
	uint32_t index;   /* index of the pod, or of the first of them */
	const char *node;
};

void kube_grant_name(char ret[KUBE_GRANT_SIZE], const char *job,
                     uint32_t index);

/* Write the name of the claim for all pods that share a device of a node, the
 * only one in `given`. Long names of nodes and devices are cut, so the name
 * ends in a hash of both. */
void kube_grant_share_name(char ret[KUBE_GRANT_SIZE], const char *cluster,
                           const char *node, const struct kube_given *given);

/* Returns a new claim. Devices are allocated to it later. amounts: what it
 * requests of the capacity of each device; NULL: its devices are not shared. */
json_t *kube_grant_object(const struct kube_grant_of *of,
                          const struct kube_given *given, json_t *amounts);

/* Returns what a claim of ours, as it was read, is to consume of the capacity
 * of device i: what it requests, or all. NULL: the device is not shared. */
json_t *kube_grant_amounts(const json_t *obj, const struct kube_given *given,
                           uint32_t i);

/* PATCH: take a claim of others, as it was read, for these devices, which are
 * allocated later: note in it for what they are, and add the finalizer. */
json_t *kube_grant_take(const json_t *obj, const struct kube_grant_of *of,
                        const struct kube_given *given);

/* Returns a list of pods, for the two functions below: `list`, which may be
 * NULL, with one more. */
json_t *kube_grant_pods(json_t *list, const char *pod, const char *uid);

/*
 * Returns the claim with devices allocated, in the order of its requests, and
 * reserved for these pods; takes the list. obj: the claim as it was read.
 * config: the configuration of its DeviceClass, a list, or NULL; that of the
 * claim follows it. Each part of a device has a UUID, which is made from the
 * claim's uid: a call that is repeated allocates the same.
 */
json_t *kube_grant_allocated(const json_t *obj, const char *driver,
                             const char *node, const struct kube_given *given,
                             const json_t *config, json_t *pods);

/* Returns the claim, as it was read, reserved for these pods, too; takes the
 * list. */
json_t *kube_grant_reserved(const json_t *obj, json_t *pods);

/* The body of a DELETE of the claim in this version. */
json_t *kube_grant_deletion(const char *uid, const char *version);

/* Returns the claim, as it was read, without devices, and for no pod. */
json_t *kube_grant_freed(const json_t *obj);

/* PATCH: change an annotation of the claim, so that the cluster's controller
 * looks at it. */
json_t *kube_grant_stirred(const char *uid, const char *version);

/* PATCH: add the finalizer that a claim has lost, as the cluster never frees
 * the devices of a claim without finalizer. When the cluster frees the devices,
 * it removes the finalizer. */
json_t *kube_grant_finalizer(const char *uid, const char *version);

/* PATCH of a pod's status: name the claim, as it was read, from which the pod
 * gets its devices. request: the only one of its requests that is for the pod;
 * NULL: all are. */
json_t *kube_grant_mapping(const json_t *obj, const char *pod_uid,
                           const char *request);

/* Write the name of the request for the GPUs of the pod of this index, in a
 * claim for several pods. */
void kube_grant_request(char ret[24], uint32_t index);

/* Returns the DeviceClass of the pool for GPUs or, if the profile is not 0, for
 * partitions. */
const char *kube_grant_class(const struct conf_pool *pool, uint8_t profile);

/* Returns the extended resource by which containers request devices of a
 * DeviceClass, on the heap. */
char *kube_grant_resource(const char *class);

/* A claim, ours or of others, as it was read; borrowed from its JSON. */
struct kube_granted {
	const char *namespace, *name, *uid, *version;
	bool ours, deleting;
	bool share; /* it is ours, and for all pods that share its device */
	struct kube_owner owner; /* only if ours; of a shared one: job 0 */
	/* only if ours: the index of its pod, or of the first of them; and the
	 * indexes of all, of which there are npods */
	uint32_t index, npods, pod[KUBE_GRANT_PODS];
	/* only if ours: the annotations, or "" */
	const char *node, *gpus, *devs;
	uint32_t milli;        /* only if ours; 1000: whole devices */
	struct kube_part part; /* only if ours */
	bool finalizer, allocated;
	const json_t *results;  /* its devices, of all drivers */
	const json_t *reserved; /* the pods that may use it */
};

/* Read a claim. Returns false if it has no name or uid. */
bool kube_grant_read(const json_t *obj, const struct kube_home *home,
                     struct kube_granted *ret);

/* Whether a claim with these `reserved` is reserved for the pod of this uid. */
bool kube_grant_is_for(const json_t *reserved, const char *uid);

#endif
