/*
 * map.h - from 64-bit numbers to pointers
 *
 * Open addressing, linear probing, deletion by shifting back.  A zeroed
 * struct map is empty.  Keys need not be spread: they are hashed here.
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

void *map_find(const struct map *map, uint64_t key);      /* NULL: not there */
void map_set(struct map *map, uint64_t key, void *value); /* not NULL */
/* The place of a key's value; NULL there means that the caller must fill it in
 * at once. */
void **map_at(struct map *map, uint64_t key);
/* Make room for n keys in all, so that the map need not grow step by step. */
void map_reserve(struct map *map, size_t n);
void *map_del(struct map *map, uint64_t key); /* what was there, or NULL */
void map_free(struct map *map);               /* not the values */

/* Walk all: start with *at = 0; NULL at the end.  The map must not change. */
void *map_each(const struct map *map, size_t *at);

/* A 64-bit hash of bytes, for keys that are texts; start with seed 0. */
uint64_t hash_bytes(uint64_t seed, const void *data, size_t len);

#endif
