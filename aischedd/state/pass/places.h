/*
 * places.h - copy the topology of nodes into a snapshot
 */
#ifndef AISCHEDD_STATE_PASS_PLACES_H
#define AISCHEDD_STATE_PASS_PLACES_H

#include <stdint.h>

struct arena;
struct snap;
struct state;

/* Returns a number that identifies the node's domain of this topology level
 * among the domains of all levels; 0 if the node has no domain of the level.
 * level SPREAD_NODE: each node is a domain. */
uint64_t place_domain(const struct state *state, uint32_t node, int level);

/* Add topology levels and domains to the snapshot. Returns a column with the
 * smallest domain of each node, or SNAP_NONE. */
uint32_t *places_build(const struct state *state, struct snap *snap,
                       struct arena *arena);

#endif
