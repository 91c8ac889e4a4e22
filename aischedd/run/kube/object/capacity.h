/*
 * capacity.h - what a device has of each kind, and how much of it a part takes
 *
 * Pure. A driver lets several claims share a device by saying what the device
 * has, such as memory: each claim consumes some of it. The driver may restrict
 * the amounts: to a least one, steps and a largest one, or to a list.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_CAPACITY_H
#define AISCHEDD_RUN_KUBE_OBJECT_CAPACITY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The most kinds that the API allows of a device, and the most amounts in a
 * list. */
enum { KUBE_CAPACITIES = 32, KUBE_CAPACITY_VALUES = 10 };

struct kube_capacity {
	char *name;
	int64_t all; /* how much the device has, in whole units */
	/* what a claim may consume: least, least + step, … most; step 0: any
	 * amount of these */
	int64_t least, step, most;
	/* if nvalues is not 0: what a claim may consume, ascending */
	uint32_t nvalues;
	int64_t value[KUBE_CAPACITY_VALUES];
};

struct kube_capacities {
	uint32_t n;
	struct kube_capacity *of;
};

/* Read the capacities of a device in a ResourceSlice, skipping those that are
 * malformed or 0. Free ret with kube_capacities_fini(). */
void kube_capacities_read(const json_t *device, struct kube_capacities *ret);
void kube_capacities_fini(struct kube_capacities *caps);

/* Returns the memory of a device in MiB; 0: not known. */
int64_t kube_capacities_mem(const struct kube_capacities *caps);

/*
 * Returns a map of what a claim for this part of the device consumes of each
 * capacity, at least mem_mib of memory. Returns NULL, and sets *ret_lack, if
 * the driver does not allow that much of a capacity. A part is rounded up to
 * what the driver allows, but down if that costs less than a thousandth of the
 * device: so two halves of an odd number fit.
 */
json_t *kube_capacities_part(const struct kube_capacities *caps, uint32_t milli,
                             int64_t mem_mib,
                             const struct kube_capacity **ret_lack);

/* Returns how much of a capacity a claim consumes, at most all of it. consumed:
 * its map; NULL: it has the whole device. */
int64_t kube_capacity_used(const struct kube_capacity *c,
                           const json_t *consumed);

/* Returns an amount as text, "40Gi"; on the heap. */
char *kube_capacity_text(int64_t amount);

#endif
