/* map.c - map 64-bit numbers to pointers */
#include "libcommon/map.h"

#include <stdlib.h>

#include "libcommon/mem.h"

/* The finisher of splitmix64: every bit of the key affects every bit. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Returns the index of the slot that has the key, or of the empty slot where it
 * would be inserted. */
static size_t seek(const struct map *map, uint64_t key)
{
	size_t mask = map->cap - 1, i = mix(key) & mask;

	while (map->slot[i].value && map->slot[i].key != key)
		i = (i + 1) & mask;
	return i;
}

void *map_find(const struct map *map, uint64_t key)
{
	return map->n ? map->slot[seek(map, key)].value : NULL;
}

void map_prefetch(const struct map *map, uint64_t key)
{
	if (map->cap)
		__builtin_prefetch(&map->slot[mix(key) & (map->cap - 1)], 1);
}

static void rehash(struct map *map, size_t cap)
{
	struct map old = *map;

	map->slot = xcalloc(cap, sizeof(*map->slot));
	map->cap = cap;
	for (size_t i = 0; i < old.cap; i++)
		if (old.slot[i].value)
			map->slot[seek(map, old.slot[i].key)] = old.slot[i];
	free(old.slot);
}

void map_reserve(struct map *map, size_t n)
{
	size_t cap = map->cap ? map->cap : 16;

	while (n * 4 > cap * 3)
		cap *= 2;
	if (cap > map->cap)
		rehash(map, cap);
}

void **map_at(struct map *map, uint64_t key)
{
	size_t i;

	map_reserve(map, map->n + 1);
	i = seek(map, key);
	map->n += !map->slot[i].value;
	map->slot[i].key = key;
	return &map->slot[i].value;
}

void map_set(struct map *map, uint64_t key, void *value)
{
	*map_at(map, key) = value;
}

void *map_del(struct map *map, uint64_t key)
{
	size_t mask = map->cap - 1, hole, i;
	void *was;

	if (!map->n)
		return NULL;
	hole = seek(map, key);
	was = map->slot[hole].value;
	if (!was)
		return NULL;
	map->n--;
	for (i = (hole + 1) & mask; map->slot[i].value; i = (i + 1) & mask) {
		size_t home = mix(map->slot[i].key) & mask;

		/* Move the entry into the hole, unless its key hashes to a slot
		 * behind the hole: look-ups begin at that slot. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slot[hole] = map->slot[i];
			hole = i;
		}
	}
	map->slot[hole].value = NULL;
	return was;
}

void map_free(struct map *map)
{
	free(map->slot);
	*map = (struct map){ 0 };
}

void *map_each(const struct map *map, size_t *at)
{
	while (*at < map->cap) {
		void *value = map->slot[(*at)++].value;

		if (value)
			return value;
	}
	return NULL;
}

uint64_t hash_bytes(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *p = data;
	/* Mix the seed first; otherwise swapping it with the first byte would
	 * give the same hash. */
	uint64_t h = mix(seed) ^ 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return mix(h ^ len);
}
