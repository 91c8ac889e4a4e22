/*
 * idmap.h - map ids, most of which are consecutive, to pointers
 *
 * Like map.h, for ids that are given one after the other: values lie in pages
 * of consecutive ids, and a map finds the page. A value takes about 10 bytes
 * instead of 22 to 43, and the map, which is copied when it grows, is small. A
 * zeroed struct idmap is empty.
 */
#ifndef AISCHEDD_STATE_IDMAP_H
#define AISCHEDD_STATE_IDMAP_H

#include <stdint.h>

#include "libcommon/map.h"

enum { IDMAP_PAGE = 32 };

struct idmap_page {
	uint64_t n; /* values that are not NULL */
	void *value[IDMAP_PAGE];
};

struct idmap {
	struct map pages; /* struct idmap_page by id / IDMAP_PAGE */
};

void *idmap_find(const struct idmap *map,
                 uint64_t id); /* returns NULL if absent */
void idmap_set(struct idmap *map, uint64_t id,
               void *value);                    /* value must not be NULL */
void idmap_del(struct idmap *map, uint64_t id); /* does nothing if absent */
void idmap_free(struct idmap *map);             /* leaves it empty */

/* Returns the next page of a walk, in no order, or NULL at the end. Start with
 * *at = 0. The pages must not change during the walk. */
struct idmap_page *idmap_each(const struct idmap *map, size_t *at);

#endif
