/*
 * roster.h - lists of entries sorted by a number, which can be copied quickly
 *
 * An entry is a struct that begins with its key, a uint64_t. Entries lie in
 * blocks. A copy shares the blocks of its original, and a shared block is
 * duplicated before it changes. One thread may therefore read a copy while
 * another changes the original. Only the thread that changes the original may
 * copy and free.
 */
#ifndef LIBCOMMON_ROSTER_H
#define LIBCOMMON_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roster_block {
	uint32_t owners; /* rosters that have it */
	uint32_t n;
	_Alignas(uint64_t) char entry[];
};

/* All keys of the block are at least `first`, and below the `first` of the next
 * part. */
struct roster_part {
	uint64_t first;
	struct roster_block *block;
};

struct roster {
	size_t size; /* of an entry */
	size_t n;    /* entries */
	size_t nparts, cap;
	struct roster_part *part;
};

/* Make *roster empty. (roster_copy() initializes *ret itself.) */
void roster_init(struct roster *roster, size_t entry_size);
void roster_free(struct roster *roster); /* leaves an empty roster */
void roster_copy(struct roster *ret, const struct roster *from);

/* Returns the entry with this key, valid until the roster changes, or NULL. */
const void *roster_find(const struct roster *roster, uint64_t key);

/* Add an entry, or replace the one with the same key. */
void roster_put(struct roster *roster, const void *entry);
bool roster_del(struct roster *roster,
                uint64_t key); /* returns false if it was not there */

/* A place in a roster; zeroed: before the first entry. */
struct roster_at {
	size_t part, entry;
};

/* Returns the next entry in order of keys, or NULL. */
static inline const void *roster_next(const struct roster *roster,
                                      struct roster_at *at)
{
	while (at->part < roster->nparts) {
		const struct roster_block *b = roster->part[at->part].block;

		if (at->entry < b->n)
			return b->entry + roster->size * at->entry++;
		at->part++;
		at->entry = 0;
	}
	return NULL;
}

#endif
