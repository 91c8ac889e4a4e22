/*
 * topology.h - parse --topology: "zone,rack:preferred"
 */
#ifndef LIBCOMMON_TOPOLOGY_H
#define LIBCOMMON_TOPOLOGY_H

#include <stddef.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"

/* Levels of the configuration, by index; -1: none. */
struct topology {
	int need; /* all tasks in one domain of this level */
	int like; /* and in one of this level, if possible */
};

/*
 * levels: of the configuration; NULL: any name counts as level 0. Fails with
 * EINVAL, or with ENOENT if there is no such level.
 */
int topology_parse(const char *s, const struct strlist *levels,
                   struct topology *ret, struct err *err);

/* Parse --numa: 0 any (NULL), 1 prefer, 2 strict, 3 tight; -1: invalid. */
int numa_parse(const char *s);

/* Parse --links: 0 prefer (or NULL), 1 any, 2 strict; -1: invalid. */
int links_parse(const char *s);

#endif
