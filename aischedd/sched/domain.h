/*
 * domain.h - the topology as a tree over the nodes
 *
 * Zones have blocks, blocks have racks.  The nodes of a domain and of all
 * domains within it are one slice of a list.  Nothing here changes during a
 * pass; place_topology.c chooses the domain of a gang.
 */
#ifndef AISCHEDD_SCHED_DOMAIN_H
#define AISCHEDD_SCHED_DOMAIN_H

#include <stdbool.h>

#include "aischedd/sched/snap.h"

/*
 * Domain snap.domain.n stands for the whole cluster: it has all nodes, its own
 * nodes are those in no domain, and its kids are the top domains.
 */
struct domains {
	const struct snap *snap;
	/* The nodes of domain d are node[first[d]] .. node[end[d] - 1]; those
	 * in none of its kids come first, up to own_end[d]. */
	const uint32_t *node;
	const uint32_t *first, *own_end, *end;
	/* The domains of level l are at[at_first[l]] .. at[at_first[l + 1] -
	 * 1]; the kids of domain d are kid[kid_first[d]] .. kid[kid_first[d +
	 * 1] - 1]. */
	const uint32_t *at, *at_first;
	const uint32_t *kid, *kid_first;
};

const struct domains *domain_new(const struct snap *snap, struct arena *arena);

/* The domain of a level that contains a domain, or a node; or SNAP_NONE. */
uint32_t domain_above(const struct snap *snap, uint32_t domain, uint8_t level);
uint32_t domain_of(const struct snap *snap, uint32_t node, uint8_t level);

/* Whether the node is in the domain; SNAP_NONE: anywhere. */
bool domain_has(const struct snap *snap, uint32_t domain, uint32_t node);

/* Whether the run may grow on the node: it is in the pool of the run and in the
 * domain that the run needs. */
bool domain_may_grow(const struct snap *snap, uint32_t run, uint32_t node);

#endif
