/*
 * shown.h - the GPUs that ResourceSlices list, and their numbers
 *
 * Only files of this folder include it.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_SHOWN_H
#define AISCHEDD_RUN_KUBE_DEVICE_SHOWN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/object/slice.h"
#include "libcommon/limits.h"

struct buf;
struct kube;
struct kube_capacities;
struct kube_node_said;
struct kube_shown;

struct kube_seen_slice {
	LIST_ENTRY(kube_seen_slice) of_node;
	struct kube_shown *node;
	struct kube_slice slice;
	bool marked; /* the list being read has not shown it yet */
};

/* A GPU that has a number. */
struct kube_numbered {
	/* The name of the device. A GPU that is no device itself, but whose
	 * partitions are, has its UUID as name. NULL: the number is free. */
	char *pool, *name;
	/* its entry in a slice; NULL: no slice lists it now */
	const struct kube_gpu *shown;
	/* one of its partitions, if it is no device itself; else NULL */
	const struct kube_gpu *part;
	/* its type, or NULL, PCIe root, or NULL, NUMA node, -1: not known, and
	 * MiB, as the last slice said that listed it or one of its partitions.
	 * seen: there was one. whole: it listed the GPU itself; `part` is that
	 * of struct kube_gpu. */
	struct {
		char *type, *root;
		int numa, part[3];
		int64_t mem_mib;
		bool seen, whole;
	} said;
	/* its partitions, or how it may be given (libcommon/mig.h) */
	uint64_t parts;
	/* the model, if its partitions are made as they are claimed */
	uint8_t model;
};

/* A node that has slices. */
struct kube_shown {
	char *name; /* the first member, for kube_first() */
	LIST_HEAD(, kube_seen_slice) slices;
	uint32_t nslices;
	bool stale;    /* slices changed after they were looked at */
	char *wrong;   /* what is wrong with the slices; NULL: nothing */
	char *unknown; /* a partition whose profile is not known, or NULL */
	/* a GPU whose partitions are made as they are claimed, but are of no
	 * model that is known; or NULL */
	char *unmade;
	uint8_t mig;  /* the model of all GPUs that have one */
	char *closed; /* why jobs get no GPU of the node, as of the last
	                 kube_devices_show(); or NULL */
	uint32_t n;
	struct kube_numbered gpu[LIMIT_GPUS];
};

/* A GPU found in slices: itself or its partitions. */
struct kube_found {
	const char *pool, *name;     /* as those of struct kube_numbered */
	const struct kube_gpu *gpu;  /* NULL: only partitions are listed */
	const struct kube_gpu *part; /* one of them, or NULL */
};

void kube_shown_news(struct kube *kube, enum kube_news news, json_t *obj);

/* Give devices of a node the numbers in a claim's annotation, "0=POOL/NAME,…".
 * Skip devices that have a number, and numbers in use. */
void kube_shown_seed(struct kube *kube, const char *node, const char *gpus);

/* Make the runner tell the daemon soon about the node that has this pool of
 * devices. */
void kube_shown_touch_pool(struct kube *kube, const char *pool);

/* Whether the slice is valid: it has the highest generation among the slices of
 * its pool. *ret_n: the number of slices of that generation. */
bool kube_shown_counts(const struct kube_shown *node,
                       const struct kube_slice *slice, int64_t *ret_n);

/* Returns the number of a GPU; -1: it has none. */
int kube_shown_number(const struct kube_shown *node, const char *pool,
                      const char *name);

/* Set *pool and *name, on the heap, to the first GPU in a claim's annotation.
 * Returns false if it names none. */
bool kube_shown_first(const char *gpus, char **pool, char **name);

/* Returns why claims must not give devices of a node to jobs, whatever its
 * slices show, on the heap; NULL: they may. what: a word for these devices. */
char *kube_shown_why_shut(const struct kube *kube,
                          const struct kube_node_said *said, const char *what);

/* Append a text that names the nodes on which no job can get a GPU, and says
 * why, and those whose slices no longer list all GPUs; append nothing if there
 * is no such node. */
void kube_shown_lacks(struct kube *kube, struct buf *out);
void kube_shown_free(struct kube *kube);

/* Whether a ResourceClaim has the device. Defined in devices.c. */
bool kube_devices_is_claimed(const struct kube *kube, const char *pool,
                             const char *name);

/* Returns those partitions of a GPU that do not overlap a partition which a
 * claim of ours has, but no slice lists any longer. Defined in devices.c. */
uint64_t kube_devices_parts(const struct kube *kube, const char *pool,
                            const char *name, uint64_t parts);

/* Set *ret_ours to the units of a GPU that tasks of ours have or start with,
 * which the daemon counts itself, and *ret_held to those that other claims have
 * by the GPU's name: all for the whole GPU. Defined in devices.c. */
void kube_devices_units(const struct kube *kube, const char *pool,
                        const char *name, uint8_t *ret_ours, uint8_t *ret_held);

/* Returns how many thousandths of the device claims have. *ret_ours: how many
 * of them the daemon counts itself, as tasks of ours run or start with them.
 * caps: NULL if the device is not shared, or gone. Defined in devices.c. */
uint32_t kube_devices_used(const struct kube *kube, const char *pool,
                           const char *name, const struct kube_capacities *caps,
                           uint32_t *ret_ours);

#endif
