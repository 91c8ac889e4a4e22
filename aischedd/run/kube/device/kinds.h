/*
 * kinds.h - devices other than GPUs that ResourceSlices list
 *
 * A `device` section of the configuration may name a DeviceClass and its
 * driver. The devices that slices of this driver list for a node are of that
 * kind. They have names, so the daemon chooses which ones a task gets; the name
 * of a device is "KIND/POOL/NAME". The claims of an attempt request them beside
 * its GPUs (give.h), and devices.h knows which claims have them.
 *
 * Devices that consume counters, or that several claims may share, are not
 * given to jobs.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_KINDS_H
#define AISCHEDD_RUN_KUBE_DEVICE_KINDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/object/grant.h"
#include "aischedd/run/kube/object/node.h"
#include "aischedd/run/runner.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"

struct buf;
struct kube;

struct kube_kinds {
	struct map slices;           /* of all drivers of kinds, by name */
	struct map nodes;            /* nodes that have devices, by name */
	struct map pools;            /* by kind and pool: the pool's node */
	json_t *class[DEVICE_KINDS]; /* DeviceClasses; NULL: not there */
};

/* The devices of a node; names are valid until the next call for it. */
struct kube_kinds_told {
	uint8_t named; /* bit i: claims give kind i */
	/* bit i: PCIe roots, or NUMA nodes, of some of kind i are known */
	uint8_t roots_known, numas_known;
	/* all, and those that must not be given to any task (devices.h) */
	struct device_counts all, held;
	/* those that tasks of ours have or can have */
	uint32_t n;
	struct run_device device[LIMIT_DEVICES];
	/* [n] their PCIe roots; NULL: not known. device[].root is not set. */
	const char *root[LIMIT_DEVICES];
};

/* Whether claims give some kind of devices. */
bool kube_kinds_any(const struct conf_pool *pool);

/* Returns the kind whose devices the driver lists; -1: there is none. */
int kube_kinds_of(const struct conf_pool *pool, const char *driver);

/* Handle what the watches of slices and of DeviceClasses report. */
void kube_kinds_news(struct kube *kube, enum kube_news news, json_t *obj);
void kube_kinds_class_news(struct kube *kube, enum kube_news news, json_t *obj);

/* Make the runner tell the daemon of all nodes, as slices and claims are now
 * known. */
void kube_kinds_known(struct kube *kube);

void kube_kinds_show(struct kube *kube, const char *node,
                     const struct kube_node_said *said,
                     struct kube_kinds_told *ret);

/* Returns the names of the devices of task i that claims give, "NAME,NAME", on
 * the heap; NULL: none. "?": some of them are not known, or are not `each`
 * times as many as the job's tasks ask for. */
char *kube_kinds_text(struct kube *kube, const struct run_job *job, uint32_t i,
                      uint32_t each);

/* Whether the text says which devices a task has. */
bool kube_kinds_is_known(const char *text);

/* Set the devices other than GPUs of *ret from such a text or NULL. Returns
 * false if one of them is in no slice. *ret is valid until slices change. */
bool kube_kinds_find(struct kube *kube, const char *node, const char *text,
                     struct kube_given *ret);

/* Note that a claim of ours is for these devices of the node. */
void kube_kinds_seed(struct kube *kube, const char *node, const char *text);

/* Make the runner tell the daemon soon about the node that has this pool of
 * devices. */
void kube_kinds_touch(struct kube *kube, uint8_t kind, const char *pool);

/* Append a text that names a node on which no job can get a device, and says
 * why, one that lists devices which are not given to jobs, and one that no
 * longer lists what a job has; append nothing if there is no such node. */
void kube_kinds_lacks(struct kube *kube, struct buf *out);

void kube_kinds_free(struct kube *kube);

/* Returns whether a device is free, is that of a task of ours, which the daemon
 * counts, or is held, by a claim of others or of a task that is over. Defined
 * in devices.c. */
enum kube_kind_use { KIND_FREE, KIND_OURS, KIND_HELD };
enum kube_kind_use kube_devices_use(const struct kube *kube, uint8_t kind,
                                    const char *pool, const char *name);

#endif
