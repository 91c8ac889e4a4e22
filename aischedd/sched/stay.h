/*
 * stay.h - running tasks by node, in the order in which they end
 */
#ifndef AISCHEDD_SCHED_STAY_H
#define AISCHEDD_SCHED_STAY_H

#include <stdbool.h>
#include <stddef.h>

#include "aischedd/sched/snap.h"

/* A task that is on a node until a time. */
struct stay {
	int64_t end;   /* SNAP_NEVER: nobody knows; those are last */
	uint32_t run;  /* whose it is */
	uint32_t task; /* in snap.task */
};

struct stays {
	uint32_t *first; /* by node: slice of stay */
	struct stay *stay;
	int64_t *end; /* by run */
};

struct stays *stays_new(const struct snap *snap, struct arena *arena);

/* When a running job has ended at the latest, as far as is known. */
int64_t stay_end(const struct snap *snap, uint32_t run);

/* Whether any ends at a time that is known. */
bool stays_change(const struct snap *snap);

/* SNAP_NEVER is last. */
static inline bool ends_before(int64_t a, int64_t b)
{
	return a != b && a != SNAP_NEVER && (b == SNAP_NEVER || a < b);
}

void stays_sort(struct stay *stay, size_t n);

#endif
