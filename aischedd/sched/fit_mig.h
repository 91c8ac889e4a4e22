/*
 * fit_mig.h - partitions of GPUs
 *
 * A GPU is used in only one way: whole, or by fractions, or by partitions. A
 * partition goes to a GPU that already has partitions, if it fits there, and to
 * the place where it blocks the least. A profile is blocked at each of its
 * places where it does not fit although the GPU has enough free slices; each
 * such place counts as many slices as the profile has. Ties go to the fullest
 * GPU, and there to the highest start, so that the large profiles, which start
 * low, stay possible. GPUs that have their partitions for good have no other
 * places, and block nothing.
 */
#ifndef AISCHEDD_SCHED_FIT_MIG_H
#define AISCHEDD_SCHED_FIT_MIG_H

#include "aischedd/sched/fit_devices.h"
#include "libcommon/mig.h"

/* fit_mig_spread() turns slices, a bit each, into counters of 8 bits each;
 * fit_mig_used() returns a bit for each counter that is not 0. */
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

/* Returns a table by model of GPU and by slices in use. */
struct work_mig (*fit_mig_rests(const struct snap *s,
                                struct arena *arena))[256];

/* Whether the GPU has no partitions, or only partitions of which no
 * two overlap. */
bool fit_mig_is_sound(const struct work *w, uint32_t node, int64_t device);

/* Returns the thousandths that the largest partition has which still fits on a
 * GPU with partitions; 0 if it is used in another way. */
int64_t fit_mig_most(const struct work *w, uint32_t node, uint32_t device);

/* Returns how many more partitions of the requested profile fit on a GPU. */
int64_t fit_mig_count(const struct work *w, uint32_t req, uint32_t node,
                      uint32_t device);

/* Choose the partition for a task on its node. */
void fit_mig_pick(const struct work *w, uint32_t req,
                  const struct fit_where *at, struct snap_task *task);

/* Set *ret_gpu to the GPU of the node that has the most slices free for
 * partitions. Returns how many, or 0 if there is none. */
int64_t fit_mig_best(const struct work *w, uint32_t node, int64_t *ret_gpu);

#endif
