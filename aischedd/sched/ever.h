/*
 * ever.h - what would fit were the cluster empty
 */
#ifndef AISCHEDD_SCHED_EVER_H
#define AISCHEDD_SCHED_EVER_H

#include "aischedd/sched/match.h"
#include "aischedd/sched/work.h"

struct ever {
	const struct snap *snap;
	struct match *match;
	struct work *empty;
	uint32_t *nodes_with; /* scratch: nodes by tasks that fit */
};

/* Which nodes count. */
enum ever_nodes {
	EVER_ALL,
	EVER_UP,    /* up, whether or not their runner is ready */
	EVER_USABLE /* up, and their runner is ready */
};

struct ever *ever_new(const struct snap *snap, struct match *match,
                      struct arena *arena);

/* How many of the request's tasks would fit, in the pool that holds most. */
uint32_t ever_count(const struct ever *e, uint32_t req, enum ever_nodes which);

/* The first node which the request may use and that is not up. */
uint32_t ever_first_down(const struct ever *e, uint32_t req);

/* The largest amount that a node which the request may use has in total, and
 * the first such node; SNAP_NONE and 0 when it may use none. */
uint32_t ever_largest(const struct ever *e, uint32_t req, enum resource res,
                      int64_t *ret_amount);

#endif
