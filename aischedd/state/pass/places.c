/* places.c - copy the topology of nodes into a snapshot */
#include "aischedd/state/pass/places.h"

#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/state_priv.h"
#include "libcommon/topology.h"

/* The domains found so far. The path of a node adds at most one for each
 * topology level. */
struct places {
	struct arena *arena;
	struct map of; /* hash of the path -> index + 1 */
	const char **name;
	uint32_t *parent;
	uint8_t *level;
	uint32_t n;
};

/* Returns the index of the domain named by the first len bytes of a path, such
 * as "z1/b1" in "z1/b1/r3"; adds it if it is new. */
static uint32_t intern(struct places *p, const char *path, size_t len,
                       uint32_t parent, uint8_t level)
{
	uint64_t hash = hash_bytes(0, path, len);
	uintptr_t known = (uintptr_t)map_find(&p->of, hash);
	char *name;

	if (known)
		return (uint32_t)known - 1;
	name = arena_alloc(p->arena, len + 1, 1);
	p->name[p->n] = memcpy(name, path, len);
	p->parent[p->n] = parent;
	p->level[p->n] = level;
	map_set(&p->of, hash, (void *)(uintptr_t)++p->n);
	return p->n - 1;
}

/* Returns the smallest domain that a path names. An empty part of the path is
 * skipped: a node of a cluster may lack the label of a level. */
static uint32_t follow(struct places *p, const char *path, size_t nlevels)
{
	uint32_t domain = SNAP_NONE;
	size_t len = 0;

	for (size_t i = 0; i < nlevels; i++) {
		size_t part = strcspn(path + len, "/");

		len += part;
		if (part)
			domain = intern(p, path, len, domain, (uint8_t)i);
		if (!path[len++])
			break;
	}
	return domain;
}

/* Returns the node's topology path: from the configuration, or else as its
 * runner reports it. */
static const char *node_place(const struct node *node)
{
	return node->conf && node->conf->topology ? node->conf->topology
	                                          : node->topology;
}

uint64_t place_domain(const struct state *state, uint32_t node, int level)
{
	const char *path = node_place(&state->nodes.node[node]);
	size_t len = 0;

	if (level == SPREAD_NODE)
		return hash_bytes(0, &node, sizeof(node)) | 1;
	for (int i = 0; path; i++) {
		size_t part = strcspn(path + len, "/");

		len += part;
		if (i == level)
			return part ? hash_bytes((uint64_t)level + 1, path,
			                         len) |
			                  1
			            : 0;
		if (!path[len++])
			break;
	}
	return 0;
}

uint32_t *places_build(const struct state *state, struct snap *snap,
                       struct arena *arena)
{
	const struct strlist *levels = &state->conf->topology.levels;
	size_t most = levels->n * state->nodes.n + 1;
	uint32_t *of_node = arena_array(arena, uint32_t, state->nodes.n + 1);
	const char **level = arena_array(arena, const char *, levels->n + 1);
	struct places p = {
		.arena = arena,
		.name = arena_array(arena, const char *, most),
		.parent = arena_array(arena, uint32_t, most),
		.level = arena_array(arena, uint8_t, most),
	};

	for (size_t i = 0; i < levels->n; i++)
		level[i] = arena_strdup(arena, levels->s[i]);
	for (size_t i = 0; i < state->nodes.n; i++) {
		const char *path = node_place(&state->nodes.node[i]);

		of_node[i] = path ? follow(&p, path, levels->n) : SNAP_NONE;
	}
	map_free(&p.of);
	snap->nlevels = (uint32_t)levels->n;
	snap->level = level;
	snap->domain = (struct snap_domains){ p.n, p.name, p.parent, p.level };
	return of_node;
}
