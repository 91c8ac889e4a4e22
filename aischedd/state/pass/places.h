/*
 * places.h - the topology of nodes in a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_PLACES_H
#define AISCHEDD_STATE_PASS_PLACES_H

#include <stdint.h>

struct arena;
struct snap;
struct state;

/* Add levels and domains to the snapshot. Returns a column: the smallest domain
 * of each node, or SNAP_NONE. */
uint32_t *places_build(const struct state *state, struct snap *snap,
                       struct arena *arena);

#endif
