/*
 * domain.h - the topology as a tree over the nodes
 *
 * Zones have blocks, blocks have racks: the nodes of a domain, those of all
 * domains within it too, are one slice of a list.  Nothing here changes
 * during a pass; place.c chooses the domain of a gang.
 */
#ifndef AISCHEDD_SCHED_DOMAIN_H
#define AISCHEDD_SCHED_DOMAIN_H

#include <stdbool.h>

#include "aischedd/sched/snap.h"

struct domains {
	const struct snap *snap;
	/* Nodes that are in a domain; those of domain d are node[first[d]]
	 * .. node[end[d] - 1], the ones in no domain within it come first,
	 * up to own_end[d].  Ascending in each domain without others. */
	const uint32_t *node;
	const uint32_t *first, *own_end, *end;
	/* The domains of level l are at[at_first[l]] .. at[at_first[l+1]-1]. */
	const uint32_t *at, *at_first;
	/* Those within domain d are kid[kid_first[d]] .. ; those within none
	 * are the kids of snap.domain.n, which stands for the whole. */
	const uint32_t *kid, *kid_first;
};

const struct domains *domains_new(const struct snap *snap, struct arena *arena);

/* The domain that the node is in at a level, or SNAP_NONE. */
uint32_t domain_of(const struct snap *snap, uint32_t node, uint8_t level);

/* Whether the node is in the domain; SNAP_NONE: anywhere. */
bool domain_has(const struct snap *snap, uint32_t domain, uint32_t node);

#endif
