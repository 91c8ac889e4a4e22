/*
 * map.h - map 64-bit numbers to pointers
 *
 * Open addressing, linear probing, deletion by shifting back. A zeroed struct
 * map is empty. The map hashes the keys itself, so callers may use ids as
 * they are.
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
/* Prefetch the slot of a key into the CPU cache, before it is looked up. */
void map_prefetch(const struct map *map, uint64_t key);
void map_set(struct map *map, uint64_t key,
             void *value); /* value must not be NULL */
/* Returns a pointer to the value of a key, adding the key if it is absent. If
 * the value is NULL, the caller must set it before the map is used again. */
void **map_at(struct map *map, uint64_t key);
/* Make room for n keys in all, so that the map need not grow in steps. */
void map_reserve(struct map *map, size_t n);
void *map_del(struct map *map,
              uint64_t key);    /* returns the deleted value, or NULL */
void map_free(struct map *map); /* does not free the values */

/* Returns the next value of a walk through the map, NULL at the end. Start with
 * *at = 0. The map must not change during the walk. */
void *map_each(const struct map *map, size_t *at);

/* Returns a 64-bit hash of bytes, for keys that are texts; start with seed
 * 0. */
uint64_t hash_bytes(uint64_t seed, const void *data, size_t len);

#endif
