/*
 * shun.h - nodes that requests shun because of --near and --apart
 *
 * On the loop's thread only the domains that a request shuns are noted. The
 * list of nodes of each request, which may have nearly all nodes, is made when
 * the snapshot is finished, on a thread that may not read the state.
 */
#ifndef AISCHEDD_STATE_PASS_SHUN_H
#define AISCHEDD_STATE_PASS_SHUN_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/mem.h"

struct state;

/* The domains of the first n nodes, by level, as they are now. */
struct shun_domains;

struct shun_domains *shun_domains_new(uint32_t n, struct arena *arena);

/* Domains that one request shuns. */
struct shun {
	/* if is_near: all domains of near_level but those noted as near */
	bool is_near;
	int near_level;
	struct arena_list domain; /* struct shun_domain */
	struct arena_list own;    /* uint32_t: nodes that it never shuns */
};

/* Have the request shun all domains of this level, or SPREAD_NODE (topology.h),
 * that are not noted as near. */
void shun_all_but_near(struct shun_domains *d, const struct state *state,
                       struct shun *shun, int level);

/* Note the node's domain of this level as near, or as one that the request
 * shuns. */
void shun_note(struct shun_domains *d, const struct state *state,
               struct shun *shun, uint32_t node, int level, bool near);

/* Call it when all domains of a request are noted, before the first domain of
 * the next request is. */
void shun_noted(struct shun_domains *d, const struct shun *shun);

/* Append the nodes that the request shuns to a list of uint32_t. */
void shun_list(struct shun_domains *d, const struct shun *shun,
               struct arena *arena, struct arena_list *ret);

#endif
