/*
 * map.h - map 64-bit numbers to pointers
 *
 * Open addressing, linear probing, deletion by shifting back. A zeroed struct
 * map is empty. Keys are hashed here, so they need not be.
 */
#ifndef LIBCOMMON_MAP_H
#define LIBCOMMON_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	void *value; /* NULL: empty */
};

struct map {
	struct map_slot *slot;
	size_t n, cap; /* cap is a power of two, or 0 */
};

void *map_find(const struct map *map,
               uint64_t key); /* returns NULL if absent */
/* Prefetch the place of a key into the cache: it will be looked up soon. */
void map_prefetch(const struct map *map, uint64_t key);
void map_set(struct map *map, uint64_t key,
             void *value); /* value must not be NULL */
/* Returns the place of a key's value; if that is NULL, the caller must set it
 * at once. */
void **map_at(struct map *map, uint64_t key);
/* Make room for n keys in all, so that the map need not grow in steps. */
void map_reserve(struct map *map, size_t n);
void *map_del(struct map *map,
              uint64_t key);    /* returns what was there, or NULL */
void map_free(struct map *map); /* does not free the values */

/* Walk through all: start with *at = 0; returns NULL at the end. The map must
 * not change meanwhile. */
void *map_each(const struct map *map, size_t *at);

/* Returns a 64-bit hash of bytes, for keys that are texts; start with seed
 * 0. */
uint64_t hash_bytes(uint64_t seed, const void *data, size_t len);

#endif
