/*
 * fit_mig.h - partitions of GPUs
 *
 * A GPU is used whole, or by fractions, or by partitions, never by two of them.
 * A partition goes to a GPU that has others, if it fits there, and should block
 * the least of what else the GPU could have: for each profile, the places where
 * it no longer fits though there are slices enough for it, weighed by its size.
 * Among equals the fullest GPU, and there the highest start, so that the large
 * profiles, which start low, stay possible.
 */
#ifndef AISCHEDD_SCHED_FIT_MIG_H
#define AISCHEDD_SCHED_FIT_MIG_H

#include "aischedd/sched/fit_devices.h"
#include "libcommon/mig.h"

/* Slices as counters of 8 bits each, and which of them are not 0. */
static inline int64_t fit_mig_spread(uint8_t units)
{
	uint64_t one =
	    units * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);

	one = (one + UINT64_C(0x007f7f7f7f7f7f7f)) | one;
	return (int64_t)(one >> 7 & UINT64_C(0x0101010101010101));
}

static inline uint8_t fit_mig_used(int64_t slices)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
	uint64_t x = (uint64_t)slices;

	x = ((x & low) + low) | x;
	return (uint8_t)((x >> 7 & UINT64_C(0x0101010101010101)) *
	                     UINT64_C(0x0102040810204080) >>
	                 56);
}

/* Whether any node can have partitions. */
bool fit_mig_any(const struct snap *s);

/* By model and slices in use: the damage done, as summed up above. */
uint16_t (*fit_mig_blocked(struct arena *arena))[256];

/* Whether a device has only partitions that are apart, or none. */
bool fit_mig_is_sound(const struct work *w, uint32_t node, int64_t device);

/* How many partitions that the request asks for fit on a device. */
int64_t fit_mig_count(const struct work *w, uint32_t req, uint32_t node,
                      uint32_t device);

/* Choose the partition for a task on its node. */
void fit_mig_pick(const struct work *w, uint32_t req,
                  const struct fit_where *at, struct snap_task *task);

/* The GPU of the node with the most slices free for partitions: its number.
 * Returns how many are free, 0 if there is none. */
int64_t fit_mig_best(const struct work *w, uint32_t node, int64_t *ret_gpu);

#endif
