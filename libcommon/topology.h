/*
 * topology.h - parse --topology: "zone,rack:preferred", and --spread
 */
#ifndef LIBCOMMON_TOPOLOGY_H
#define LIBCOMMON_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

/* Indices of topology levels in the configuration; -1: none. */
struct topology {
	int need; /* place all tasks in one domain of this level */
	int like; /* place them in one domain of this level if possible */
};

/*
 * Parse --topology. `levels` are those of the configuration; if it is NULL, any
 * name stands for level 0. Fails with EINVAL, or with ENOENT if there is no
 * level of a given name.
 */
int topology_parse(const char *s, const struct strlist *levels,
                   struct topology *ret, struct err *err);

/* The level "node", in which each node is a domain of its own. A configured
 * level of that name takes its place. */
enum { SPREAD_NODE = -1 };

/* Parse the name of a level of the configuration. If no level is called "node",
 * this name sets *ret to SPREAD_NODE. `levels` and failures are as in
 * topology_parse(). */
int level_parse(const char *name, size_t len, const struct strlist *levels,
                int *ret, struct err *err);

/*
 * Parse --spread, "rack" or "rack:preferred": a level of the configuration, or
 * "node" if no level has that name. `levels` and failures are as in
 * topology_parse().
 */
int spread_parse(const char *s, const struct strlist *levels, int *ret_level,
                 bool *ret_wish, struct err *err);

/* Parse --numa. Returns 0 for NULL (any placement), 1 for prefer, 2 for strict,
 * 3 for tight; -1 if it is invalid. */
int numa_parse(const char *s);

/* Parse --links. Returns 0 for prefer or NULL, 1 for any, 2 for strict; -1 if
 * it is invalid. */
int links_parse(const char *s);

#endif
