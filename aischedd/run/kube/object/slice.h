/*
 * slice.h - read a ResourceSlice, in which a driver lists GPUs of a node
 *
 * Pure. A driver divides the devices of a node into pools, and lists each pool
 * in slices. Only the slices of a pool's highest generation are valid, and only
 * if all of them exist.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_SLICE_H
#define AISCHEDD_RUN_KUBE_OBJECT_SLICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/amount.h"
#include "aischedd/run/kube/object/capacity.h"

/* The most devices, and sets of counters, that the API allows in a slice. */
enum { KUBE_SLICE_DEVICES = 128, KUBE_SLICE_SETS = 8 };

/* A device: a GPU, or a partition of one (MIG). */
struct kube_gpu {
	char *name;   /* its name in its pool */
	char *uuid;   /* of the GPU; NULL: not known */
	char *type;   /* its product, as a word; NULL: not known */
	char *root;   /* its PCIe root; NULL: not known */
	int numa;     /* its NUMA node; -1: not known */
	int part[3];  /* its partitions of 2, 4 and 8 GPUs; -1: not known */
	bool tainted; /* it has a taint that claims like ours do not tolerate */
	/* It consumes counters that devices share. set: the name of their set;
	 * NULL: none, or of several sets. */
	bool counted;
	char *set;
	struct kube_amounts consumes;
	bool is_part; /* it is a partition */
	/* profile: of a partition, 0 if it is not known (libcommon/mig.h);
	 * units: the memory slices of a partition, or of whatever consumes
	 * counters, one bit each; 0 if they are not known
	 */
	uint8_t profile, units;
	bool shared; /* several claims may each have a part of it */
	struct kube_capacities caps;
};

struct kube_slice {
	char *name, *node, *pool;
	int64_t generation;
	int64_t count; /* number of slices of the pool */
	uint32_t ngpus;
	struct kube_gpu *gpu;
	/* Sets of counters. */
	uint32_t nsets;
	struct kube_slice_set {
		char *name;
		struct kube_amounts has;
	} set[KUBE_SLICE_SETS];
};

/* Read a slice. Returns false, and does not set *ret, if it is not of this
 * driver, or not for one node. Else free ret with kube_slice_fini(). */
bool kube_slice_read(const json_t *obj, const char *driver,
                     struct kube_slice *ret);
void kube_slice_fini(struct kube_slice *slice);

#endif
