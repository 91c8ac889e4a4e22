/*
 * evict_futile.h - for whom nobody could move
 *
 * Nothing becomes free in a pass: who asks for no less than another for whom
 * it was in vain to look for jobs that could be somewhere else need not look
 * for them, either.  There may be thousands that differ by their memory alone.
 * The last few failures are remembered.
 */
#ifndef AISCHEDD_SCHED_EVICT_FUTILE_H
#define AISCHEDD_SCHED_EVICT_FUTILE_H

#include <stdbool.h>

#include "aischedd/sched/admit.h"

enum { VAIN_MAX = 32 };

struct vains {
	struct vain {
		uint32_t req, queue, user;
	} vain[VAIN_MAX]; /* a ring */
	uint32_t n;       /* ever added; 0: forget all */
};

bool vain_has(const struct vains *vs, const struct snap *snap,
              const struct demand *demand);
void vain_add(struct vains *vs, const struct demand *demand);

#endif
