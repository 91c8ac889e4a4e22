/*
 * slice.h - read a ResourceSlice: GPUs of a node, as their driver tells them
 *
 * Pure. A driver tells the devices of a node in pools, and a pool in slices;
 * only the slices of a pool's highest generation count, and only if all of them
 * are there.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_SLICE_H
#define AISCHEDD_RUN_KUBE_OBJECT_SLICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The most devices of a slice, by the API. */
enum { KUBE_SLICE_DEVICES = 128 };

struct kube_gpu {
	char *name;   /* in its pool */
	char *type;   /* its product, as a word; NULL: not told */
	int numa;     /* its NUMA node; -1: not told */
	int part[3];  /* its partitions of 2, 4 and 8 GPUs; -1: not told */
	bool tainted; /* it has a taint that claims like ours do not tolerate */
	bool parted;  /* several pods may share it, or it is part of a GPU */
};

struct kube_slice {
	char *name, *node, *pool;
	int64_t generation;
	int64_t count; /* slices of the pool */
	uint32_t ngpus;
	struct kube_gpu *gpu;
};

/* Returns false, and leaves ret alone, if it is not a slice of this driver for
 * the devices of one node. Else free ret with kube_slice_fini(). */
bool kube_slice_read(const json_t *obj, const char *driver,
                     struct kube_slice *ret);
void kube_slice_fini(struct kube_slice *slice);

#endif
