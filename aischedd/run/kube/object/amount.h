/*
 * amount.h - counters that devices share: what a set has, what one consumes
 *
 * Pure. The memory slices of a GPU are counters of 1, "memory-slice-0" to
 * "memory-slice-7": partitions that consume the same one exclude each other.
 * Other counters are amounts, such as memory or multiprocessors.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_AMOUNT_H
#define AISCHEDD_RUN_KUBE_OBJECT_AMOUNT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The most amounts of a set. NVIDIA's driver has seven. */
enum { KUBE_AMOUNTS = 8 };

struct kube_amounts {
	uint64_t sum;  /* equal for equal counters; 0: there are none */
	uint8_t units; /* memory slices, one bit each */
	bool odd;      /* a memory slice has another number or amount */
	bool more;     /* there are more amounts than in `of` */
	uint32_t n;
	struct kube_counter {
		char *name;
		int64_t n;
	} of[KUBE_AMOUNTS];
};

/* Read a map of counters, skipping those of 0. Free ret with
 * kube_amounts_fini(). */
void kube_amounts_read(const json_t *counters, struct kube_amounts *ret);
void kube_amounts_fini(struct kube_amounts *a);

/* Returns how much there is of an amount, or 0. */
int64_t kube_amounts_of(const struct kube_amounts *a, const char *name);

/* Returns of what `set` has less than `part` consumes: "memory slices" or the
 * name of an amount. NULL: of nothing. */
const char *kube_amounts_lack(const struct kube_amounts *set,
                              const struct kube_amounts *part);

#endif
