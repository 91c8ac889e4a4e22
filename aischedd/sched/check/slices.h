/*
 * slices.h - whether a GPU has room for one more partition
 */
#ifndef AISCHEDD_SCHED_CHECK_SLICES_H
#define AISCHEDD_SCHED_CHECK_SLICES_H

#include "aischedd/sched/snap.h"

/* A GPU: its model, its slices in use, and the thousandths that are free. */
struct sliced {
	uint8_t model, used;
	int64_t nfree;
};

/* Whether the profile allows a partition on exactly these slices (units) of the
 * GPU, and all of them are free. */
bool check_slices_fit(const struct sliced *g, uint8_t profile, uint8_t units);

/* Returns how many more partitions of the profile fit. */
int64_t check_slices_count(const struct sliced *g, uint8_t profile);

#endif
