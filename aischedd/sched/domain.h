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

#include "aischedd/sched/match.h"

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
	/* The domains of level l are the slice of `at` that begins at
	 * at_first[l] and ends before at_first[l + 1]. The kids of domain d are
	 * the slice of `kid` from kid_first[d] to before kid_first[d + 1]. */
	const uint32_t *at, *at_first;
	const uint32_t *kid, *kid_first;
};

const struct domains *domain_new(const struct snap *snap, struct arena *arena);

/* Returns the domain of this level that contains a domain, or a node; SNAP_NONE
 * if there is none. */
uint32_t domain_above(const struct snap *snap, uint32_t domain, uint8_t level);
uint32_t domain_of(const struct snap *snap, uint32_t node, uint8_t level);

/* Whether the node is in the domain. Domain SNAP_NONE has all nodes. */
bool domain_has(const struct snap *snap, uint32_t domain, uint32_t node);

/* Whether the run may grow on the node: it is in the pool of the run and in the
 * domain that the run needs. */
bool domain_may_grow(const struct snap *snap, uint32_t run, uint32_t node);

/*
 * The division of a gang that is spread evenly among the domains of a level.
 * The parts of a job are its tasks or, if it asks for a number of nodes, these
 * nodes. Each domain that could hold a part gets as many parts as any other, or
 * one more. A domain could hold a part if one of its nodes is up, may be used
 * by the job and has enough in total for a task, whatever runs there. So a job
 * waits for a full domain, but not for one that is down.
 */
struct spread_room {
	int64_t room;
	uint32_t number;
};

/* How the parts of one request are divided in one pool. Domains are numbered
 * from 0 to n - 1. */
struct spread {
	const struct snap *snap;
	struct match *match;
	uint8_t level;
	uint32_t n;       /* domains that could hold a part */
	uint32_t *node;   /* by number: a node of the domain; with LEVEL_NODE
	                     its only one */
	uint32_t *domain; /* by number: the domain; not used with LEVEL_NODE */
	uint32_t *number; /* by domain or, with LEVEL_NODE, by node: its number
	                     + 1; 0: none */
	int64_t *room; /* by number: how many parts the domain has room for; set
	                  by the caller */
	int64_t *give; /* by number: how many parts the domain gets */
	struct spread_room *order; /* scratch */
	uint32_t part;             /* number of tasks in a part */
	int64_t low, extra; /* parts that each domain gets; how many domains get
	                       one more */
	uint32_t req, pool; /* the request and pool of this division */
	bool all, is_made;
};

struct spread *spread_new(const struct snap *snap, struct match *match,
                          struct arena *arena);

/* Compute the division of a request that is spread. With `all`, nodes that are
 * not up count, too. Sets all rooms to 0. */
void spread_make(struct spread *sp, uint32_t req, uint32_t pool, bool all);

/* Returns the index of the domain that the node is in, or SNAP_NONE if the
 * request is not spread over that node. */
uint32_t spread_number(const struct spread *sp, uint32_t node);

/* Whether each domain has room for its share. */
bool spread_fits(const struct spread *sp);

/* Returns how many tasks fit if each domain takes as much of its share as it
 * has room for. */
int64_t spread_got(const struct spread *sp);

/* Write to sp->give how many parts each domain gets. The extra parts go to the
 * domains with the least room that can hold one. Call it only if spread_fits().
 */
void spread_share(struct spread *sp);

/* Whether tasks on these n nodes, one task each, are divided as evenly as the
 * request demands. Overwrites sp->room. */
bool spread_suits(struct spread *sp, const uint32_t *node, uint32_t n);

#endif
