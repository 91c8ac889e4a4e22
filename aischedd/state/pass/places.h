/*
 * places.h - copy the topology of nodes into a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_PLACES_H
#define AISCHEDD_STATE_PASS_PLACES_H

#include <stdint.h>

struct arena;
struct snap;
struct state;

/* Add topology levels and domains to the snapshot. Returns a column with the
 * smallest domain of each node, or SNAP_NONE. */
uint32_t *places_build(const struct state *state, struct snap *snap,
                       struct arena *arena);

#endif
