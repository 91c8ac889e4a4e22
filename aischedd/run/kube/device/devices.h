/*
 * devices.h - GPUs given by ResourceClaims (Dynamic Resource Allocation)
 *
 * The watches of ResourceSlices, ResourceClaims and DeviceClasses report here.
 * If the driver of a node publishes its GPUs in ResourceSlices, each GPU has a
 * name: the plan chooses GPUs, and a ResourceClaim makes the kubelet give a pod
 * exactly these.
 *
 * A GPU keeps its number on its node as long as the daemon runs; annotations of
 * claims pass the numbers on to the next daemon.
 *
 * A GPU is called held if the daemon must not plan with it: a claim of others
 * has it, or a claim of ours whose task is over; it is tainted or gone; or some
 * slices of its node are not known. A GPU of a running task of ours is not
 * held: the daemon itself counts it as used until the task ends.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_DEVICES_H
#define AISCHEDD_RUN_KUBE_DEVICE_DEVICES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/object/grant.h"
#include "aischedd/run/kube/object/node.h"
#include "libcommon/buf.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"

struct kube;
struct kube_attempt;

struct kube_devices {
	struct map slices; /* ResourceSlices, by name */
	struct map nodes;  /* nodes that have slices, by name */
	struct map pools;  /* by name of a pool of devices: the pool's node */
	struct map claims; /* by namespace and name: struct kube_claimed */
	/* by pool and name of a device: the claims that have it */
	struct map uses;
	json_t *class;    /* the DeviceClass of the pool, or NULL */
	bool known;       /* kube_devices_known() was called */
	uint64_t seq;     /* number of allocations seen so far */
	struct buf lacks; /* text of kube_devices_lacks() */
};

/* A ResourceClaim that is ours, or that has devices. */
struct kube_claimed {
	char *namespace, *name, *uid, *version;
	char *node, *gpus; /* only if ours: from its annotations */
	json_t *obj;       /* the claim, if it is ours; else NULL */
	json_t *reserved;  /* the pods for which it is reserved */
	struct kube_owner owner;
	uint32_t index;
	bool ours, finalizer, allocated;
	bool marked; /* the list being read has not shown it yet */
	/* resourceVersion on which our unanswered change is based; NULL: the
	 * watch has shown a newer one */
	char *asked;
	/* its place in the order in which the watch has shown allocations; 0:
	 * nothing is allocated */
	uint64_t seq;
	/* only if ours: since when no task needs the claim; 0: one needs it */
	int64_t idle_ms;
	uint32_t n;
	struct kube_claimed_gpu {
		char *pool, *name;
	} * gpu;
};

/* The GPUs of a node. */
struct kube_gpus {
	uint32_t n;
	/* type of all GPUs; NULL: not known, or they differ */
	const char *type;
	uint8_t numa[LIMIT_GPUS], link[LIMIT_GPUS];
	bool numas_known;
	uint64_t held;     /* bit i: GPU i is held, as described above */
	const char *drain; /* why no job may start on the node, or NULL */
};

/* Handle what a watch reports: SEE_SLICES, SEE_GRANTS or SEE_DEVICE_CLASSES. */
void kube_devices_news(struct kube *kube, int what, enum kube_news news,
                       json_t *obj);

/* Note that slices and claims have all been listed, or cannot be. Before this
 * call kube_devices_show() reports no GPUs. */
void kube_devices_known(struct kube *kube);

/* Set *ret to the GPUs that the node gives by claims. Returns false if a device
 * plugin gives the node's GPUs. */
bool kube_devices_show(struct kube *kube, const char *node,
                       const struct kube_node_said *said,
                       struct kube_gpus *ret);

/* Returns a text that names the nodes on which no job can get a GPU, and says
 * why; NULL if there is no such node. */
const char *kube_devices_lacks(struct kube *kube);

/* Whether the node gives GPUs by ResourceClaims. */
bool kube_devices_has(const struct kube *kube, const char *node);

/* Find the devices of a node that have these numbers, one bit each. Returns
 * false if one of them is in no slice. *ret is valid until the slices
 * change. */
bool kube_devices_find(struct kube *kube, const char *node, uint64_t gpus,
                       struct kube_given *ret);

/* Returns the claim of that name, or NULL. */
struct kube_claimed *kube_devices_claim(const struct kube *kube,
                                        const char *namespace,
                                        const char *name);

/* Returns the numbers of the devices named in the annotations of a claim of
 * ours, one bit each. */
uint64_t kube_devices_bits(const struct kube *kube,
                           const struct kube_claimed *claim);

/* Returns a claim other than `mine` that has one of these devices, or NULL.
 * Considers only claims whose seq is less than `before`. */
const struct kube_claimed *kube_devices_rival(const struct kube *kube,
                                              const struct kube_given *given,
                                              const struct kube_claimed *mine,
                                              uint64_t before);

/* Make the runner tell the daemon soon which GPUs are held on the nodes of the
 * attempt. Call it when the attempt takes or gives up devices. */
void kube_devices_touch(struct kube_attempt *a);

/* Tell the daemon now which GPUs are held on the nodes of the attempt. Call it
 * after an attempt has ended, lost tasks or got other devices, so that the
 * daemon does not plan with its old devices before they are free. */
void kube_devices_settle(struct kube_attempt *a);

/* Handle the claim that a POST returned, unless the watch has already shown
 * it. */
void kube_devices_answered(struct kube *kube, json_t *obj);

void kube_devices_free(struct kube *kube);

#endif
