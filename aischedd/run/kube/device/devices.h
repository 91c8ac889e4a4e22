/*
 * devices.h - GPUs that a driver gives by claims (Dynamic Resource Allocation)
 *
 * Fed by the watches of ResourceSlices, ResourceClaims and DeviceClasses. A
 * node whose driver tells its GPUs in slices has each of them by name: the plan
 * chooses, and a claim makes the node obey. A GPU has one number as long as we
 * run, which its claims remember for the next daemon. A GPU is held if it is
 * not to be given to anybody: a claim of others has it, or one of ours whose
 * task is over; it is tainted or gone; or its node does not show all of its
 * slices. One that a task of ours has is not held: the daemon counts it as used
 * until that ends.
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
	struct map slices; /* by name */
	struct map nodes;  /* by name */
	struct map pools;  /* by name: the node */
	struct map claims; /* by namespace and name: struct kube_claimed */
	struct map uses;   /* by pool and device */
	json_t *class;     /* the DeviceClass of the pool, or NULL */
	bool known;        /* all slices and claims were listed */
	uint64_t seq;      /* allocations seen */
	struct buf lacks;
};

/* A claim of ours, or one that has devices of our driver. */
struct kube_claimed {
	char *namespace, *name, *uid, *version;
	char *node, *gpus; /* ours: as annotated */
	json_t *obj;       /* ours; else NULL */
	json_t *reserved;
	struct kube_owner owner;
	uint32_t index;
	bool ours, finalizer, allocated;
	bool marked;     /* not yet seen in the list being read */
	char *asked;     /* the version that we asked to change, or NULL */
	uint64_t seq;    /* when its allocation was seen; 0: never */
	int64_t idle_ms; /* of a claim of ours: since when no task needs it; 0:
	                    some task does */
	uint32_t n;
	struct kube_claimed_gpu {
		char *pool, *name;
	} * gpu;
};

/* The GPUs of a node. */
struct kube_gpus {
	uint32_t n;
	const char *type; /* of all; NULL: not known, or several */
	uint8_t numa[LIMIT_GPUS], link[LIMIT_GPUS];
	bool numas_known;
	uint64_t held;     /* bit i: GPU i is not to be given */
	const char *drain; /* why nothing may start on the node; or NULL */
};

/* what: SEE_SLICES, SEE_GRANTS or SEE_DEVICE_CLASSES. */
void kube_devices_news(struct kube *kube, int what, enum kube_news news,
                       json_t *obj);

/* Note that all slices and claims are known, or will not be. */
void kube_devices_known(struct kube *kube);

/* Returns false if the node does not give GPUs by claims. */
bool kube_devices_show(struct kube *kube, const char *node,
                       const struct kube_node_said *said,
                       struct kube_gpus *ret);

/* Returns what keeps GPUs from being given, in words, or NULL. */
const char *kube_devices_lacks(struct kube *kube);

/* Whether the node gives GPUs by claims. */
bool kube_devices_has(const struct kube *kube, const char *node);

/* Find devices of a node by their numbers. Returns false if one is not there.
 * Borrowed until slices change. */
bool kube_devices_find(struct kube *kube, const char *node, uint64_t gpus,
                       struct kube_given *ret);

/* Returns the claim of that name in the namespace of the jobs, or NULL. */
struct kube_claimed *kube_devices_claim(const struct kube *kube,
                                        const char *name);

/* Returns the numbers of the devices for which a claim of ours was made. */
uint64_t kube_devices_bits(const struct kube *kube,
                           const struct kube_claimed *claim);

/* Returns another claim that has one of these devices, or NULL. before: only
 * one whose allocation was seen before this. */
const struct kube_claimed *kube_devices_rival(const struct kube *kube,
                                              const struct kube_given *given,
                                              const struct kube_claimed *mine,
                                              uint64_t before);

/* Tell the daemon later which devices of an attempt are its own by now. */
void kube_devices_touch(struct kube_attempt *a);

/* Tell the daemon now which of its devices are not free yet, after an attempt
 * has ended, lost tasks or got other devices. */
void kube_devices_settle(struct kube_attempt *a);

/* Take over a claim as the answer to a POST had it. */
void kube_devices_answered(struct kube *kube, json_t *obj);

void kube_devices_free(struct kube *kube);

#endif
