/*
 * devices.h - devices given by ResourceClaims (Dynamic Resource Allocation)
 *
 * The watches of ResourceSlices, ResourceClaims, their templates and
 * DeviceClasses report here.
 * If the driver of a node publishes its GPUs in ResourceSlices, each GPU has a
 * name: the plan chooses GPUs, and a ResourceClaim makes the kubelet give a pod
 * exactly these.
 *
 * A GPU keeps its number on its node as long as the daemon runs; annotations of
 * claims pass the numbers on to the next daemon.
 *
 * A GPU, or a part of it, is called held if the daemon must not plan with it: a
 * claim of others has it, or a claim of ours whose task is over; the GPU is
 * tainted or gone; or some slices of its node are not known. The same holds for
 * devices of other kinds (kinds.h), which have names only. The devices of a
 * running task of ours are not held: the daemon itself counts them as used
 * until the task ends. A claim that has more of a GPU than was planned, because
 * its driver gives parts in steps, holds the rest.
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
	/* by pool and name of a GPU, or driver, pool and name of another
	 * device: the claims that have it */
	struct map uses;
	/* the DeviceClasses of the pool, for GPUs and partitions; or NULL */
	json_t *class, *mig_class;
	/* ResourceClaimTemplates of our namespaces, by namespace and name */
	struct map templates;
	bool known;       /* kube_devices_known() was called */
	uint64_t seq;     /* number of allocations seen so far */
	struct buf lacks; /* text of kube_devices_lacks() */
};

/* A ResourceClaim that is in one of our namespaces, or that has devices. It is
 * ours if we made it, or took it for a pod of a Job made with kubectl. */
struct kube_claimed {
	char *namespace, *name, *uid, *version;
	char *node, *gpus, *devs; /* only if ours: from its annotations */
	json_t
	    *obj; /* the claim, if it is in one of our namespaces; else NULL */
	json_t *reserved; /* the pods for which it is reserved */
	struct kube_owner owner;
	/* only if ours: as in struct kube_granted */
	uint32_t index, npods, pod[KUBE_GRANT_PODS];
	bool ours, finalizer, allocated, deleting;
	bool share;      /* it is for all pods that share its GPU: share.h */
	int64_t drop_ms; /* of such a claim: when it was deleted; 0: never */
	bool marked;     /* the list being read has not shown it yet */
	/* resourceVersion on which our unanswered change is based; NULL: the
	 * watch has shown a newer one */
	char *asked;
	/* its place in the order in which the watch has shown allocations; 0:
	 * nothing is allocated */
	uint64_t seq;
	/* only if ours: since when no task needs the claim; 0: one needs it */
	int64_t idle_ms;
	int64_t stir_ms; /* when it was stirred last; 0: never */
	uint32_t milli;  /* only if ours: of each GPU; 1000: it has all of it */
	struct kube_part part; /* only if ours: it is for this partition */
	/* its GPUs; also those that a call of ours, which is not answered, is
	 * to give it */
	uint32_t n;
	struct kube_claimed_gpu {
		char *pool, *name;
		/* how much of the GPU's capacity it has, a map; NULL: all */
		json_t *consumed;
	} * gpu;
	/* its devices of other kinds, likewise */
	uint32_t ndevs;
	struct kube_claimed_dev {
		uint8_t kind;
		char *pool, *name;
	} * dev;
	/* only if ours, and it has a partition: the GPU of that, by its name in
	 * struct kube_given; else NULL */
	char *of_pool, *of_name;
};

/* The GPUs of a node. */
struct kube_gpus {
	uint32_t n;
	/* type of all GPUs; NULL: not known, or they differ */
	const char *type;
	uint8_t numa[LIMIT_GPUS], link[LIMIT_GPUS];
	bool numas_known;
	/* PCIe roots, valid until slices change; NULL: not known */
	const char *root[LIMIT_GPUS];
	bool shares;     /* all can be given in parts */
	int64_t mem_mib; /* of the smallest of them; 0: not known */
	/* thousandths of each GPU that are held, as described above; 0 if it
	 * has partitions */
	uint16_t held[LIMIT_GPUS];
	/* the partitions that it has for good, those that are held marked with
	 * MIG_HELD; or the units that are held of a GPU whose partitions are
	 * made as needed, as mig says (libcommon/mig.h) */
	uint64_t parts[LIMIT_GPUS];
	uint8_t mig;       /* enum mig_model */
	const char *drain; /* why no job may start on the node, or NULL */
};

/* Handle what a watch reports: SEE_SLICES, SEE_GRANTS, SEE_DEVICE_CLASSES or
 * SEE_GRANT_TEMPLATES. */
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

/* Notice which claims of ours no task needs, and make the cluster's controller
 * look at those that it has not freed in time. */
void kube_devices_step(struct kube *kube);

/* Returns a text that names the nodes on which no job can get a GPU, and says
 * why, and those that lack GPUs; NULL if there is no such node. */
const char *kube_devices_lacks(struct kube *kube);

/* Whether the node gives GPUs by ResourceClaims. */
bool kube_devices_has(const struct kube *kube, const char *node);

/* Find the devices of a node that have these numbers, one bit each, for a pod
 * that gets `milli` of each, or this partition of the only one. Returns false
 * if one of them is in no slice. *ret is valid until the slices change. */
bool kube_devices_find(struct kube *kube, const char *node, uint64_t gpus,
                       uint32_t milli, struct kube_part part,
                       struct kube_given *ret);

/* Returns the claim of that name, or NULL. */
struct kube_claimed *kube_devices_claim(const struct kube *kube,
                                        const char *namespace,
                                        const char *name);

/* Returns the ResourceClaimTemplate of that name in one of our namespaces, or
 * NULL. */
const json_t *kube_devices_template(const struct kube *kube,
                                    const char *namespace, const char *name);

/* Make the runner tell the daemon soon which GPUs are held on the nodes of the
 * claim, whose attempt has ended. A claim to which no GPUs were allocated in
 * the end counts as having none. */
void kube_devices_settle_claim(struct kube *kube, struct kube_claimed *claim);

/* Returns the numbers of the devices named in the annotations of a claim of
 * ours, one bit each. */
uint64_t kube_devices_bits(const struct kube *kube,
                           const struct kube_claimed *claim);

/* The same, for those of the pod of this index; 0: the claim is not for it. */
uint64_t kube_devices_bits_of(const struct kube *kube,
                              const struct kube_claimed *claim, uint32_t index);

/*
 * Returns a claim that keeps `mine` from having these devices, as it has one of
 * them, or too much of one; if possible a claim of another attempt. NULL: there
 * is none. Considers only claims whose seq is less than `before`; claims that
 * are being filled have 0.
 */
const struct kube_claimed *kube_devices_rival(const struct kube *kube,
                                              const struct kube_given *given,
                                              const struct kube_claimed *mine,
                                              uint64_t before);

/* Note that a call gives these devices to a claim of ours: the claim counts as
 * having them. */
void kube_devices_expect(struct kube *kube, struct kube_claimed *claim,
                         const struct kube_given *given);

/* Whether the claim is for a task of ours that runs or is to run on the claim's
 * node, with the claim's GPUs, and that was not reported as lost. The daemon
 * counts the devices of such a task itself. A claim for several tasks must suit
 * each of them. */
bool kube_devices_is_planned(const struct kube *kube,
                             const struct kube_claimed *claim);

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
