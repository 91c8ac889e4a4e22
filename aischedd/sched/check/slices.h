/*
 * slices.h - whether a GPU has room for one more partition
 */
#ifndef AISCHEDD_SCHED_CHECK_SLICES_H
#define AISCHEDD_SCHED_CHECK_SLICES_H

#include "aischedd/sched/snap.h"

/* A GPU: its model, its slices in use, the thousandths that are free, and the
 * partitions that it has for good. */
struct sliced {
	uint8_t model, used;
	int64_t nfree;
	uint64_t parts;
};

/* Whether the request may use a GPU of the node: one that has partitions for
 * good serves only requests for one of these; others may be given only whole,
 * or only in partitions. */
bool check_slices_may(const struct snap *s, uint32_t req, uint32_t node,
                      uint32_t gpu);

/* Whether the profile is that of a partition that starts at `start`. */
static inline bool check_slices_at(uint64_t parts, uint32_t start,
                                   uint8_t profile)
{
	return (parts >> 8 * start & 0x3f) == profile;
}

/* Whether tasks may have the whole GPU, or a fraction of it. */
static inline bool check_slices_whole(uint64_t parts)
{
	return !(parts & (UINT64_C(0x3f3f3f3f3f3f3f3f) | MIG_NO_WHOLE));
}

/* Whether the profile allows a partition on exactly these slices (units) of the
 * GPU, and all of them are free. */
bool check_slices_fit(const struct sliced *g, uint8_t profile, uint8_t units);

/* Returns how many more partitions of the profile fit. */
int64_t check_slices_count(const struct sliced *g, uint8_t profile);

#endif
