/* roster.c - lists of entries sorted by a number; a copy of a list shares
 * the entries */
#include "libcommon/roster.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"

/* Entries of a block. Copying a roster visits each block once; the first change
 * of a block after that copies the entries of this block. */
enum { BLOCK = 256 };

void roster_init(struct roster *r, size_t entry_size)
{
	*r = (struct roster){ .size = entry_size };
}

static void let_go(struct roster_block *b)
{
	if (--b->owners == 0)
		free(b);
}

void roster_free(struct roster *r)
{
	for (size_t i = 0; i < r->nparts; i++)
		let_go(r->part[i].block);
	free(r->part);
	roster_init(r, r->size);
}

void roster_copy(struct roster *ret, const struct roster *from)
{
	*ret = *from;
	ret->cap = from->nparts;
	ret->part = NULL;
	if (!from->nparts)
		return;
	ret->part = xmalloc(from->nparts * sizeof(*ret->part));
	memcpy(ret->part, from->part, from->nparts * sizeof(*ret->part));
	for (size_t i = 0; i < from->nparts; i++)
		from->part[i].block->owners++;
}

/* --- finding ------------------------------------------------------------- */

static char *entry_at(const struct roster *r, struct roster_block *b, size_t i)
{
	return b->entry + r->size * i;
}

static uint64_t key_of(const void *entry)
{
	uint64_t key;

	memcpy(&key, entry, sizeof(key));
	return key;
}

/* Returns the last part whose first key is not above `key`; part 0 if there is
 * none. Most calls are for new, large keys, so the last part is tried first. */
static size_t part_of(const struct roster *r, uint64_t key)
{
	size_t lo = 0, hi = r->nparts;

	if (hi && r->part[hi - 1].first <= key)
		return hi - 1;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->part[mid].first <= key)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Returns how many entries of the block have smaller keys. */
static size_t place_in(const struct roster *r, struct roster_block *b,
                       uint64_t key)
{
	size_t lo = 0, hi = b->n;

	if (hi && key_of(entry_at(r, b, hi - 1)) < key)
		return hi;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (key_of(entry_at(r, b, mid)) < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool has_at(const struct roster *r, struct roster_block *b, size_t i,
                   uint64_t key)
{
	return i < b->n && key_of(entry_at(r, b, i)) == key;
}

const void *roster_find(const struct roster *r, uint64_t key)
{
	struct roster_block *b;
	size_t i;

	if (!r->nparts)
		return NULL;
	b = r->part[part_of(r, key)].block;
	i = place_in(r, b, key);
	return has_at(r, b, i, key) ? entry_at(r, b, i) : NULL;
}

/* --- changing ------------------------------------------------------------ */

static struct roster_block *block_new(const struct roster *r)
{
	struct roster_block *b = xmalloc(sizeof(*b) + BLOCK * r->size);

	b->owners = 1;
	b->n = 0;
	return b;
}

static void move(const struct roster *r, struct roster_block *to, size_t to_at,
                 struct roster_block *from, size_t at, size_t n)
{
	memmove(entry_at(r, to, to_at), entry_at(r, from, at), n * r->size);
}

/* Returns the block of the part, after replacing it by a copy if other rosters
 * share it. */
static struct roster_block *own(struct roster *r, size_t part)
{
	struct roster_block *b = r->part[part].block, *copy;

	if (b->owners == 1)
		return b;
	copy = block_new(r);
	copy->n = b->n;
	move(r, copy, 0, b, 0, b->n);
	let_go(b);
	r->part[part].block = copy;
	return copy;
}

static void add_part(struct roster *r, size_t at, uint64_t first)
{
	r->part = GROW(r->part, r->nparts, &r->cap);
	memmove(r->part + at + 1, r->part + at,
	        (r->nparts++ - at) * sizeof(*r->part));
	r->part[at] = (struct roster_part){ first, block_new(r) };
}

static void del_part(struct roster *r, size_t at)
{
	let_go(r->part[at].block);
	memmove(r->part + at, r->part + at + 1,
	        (--r->nparts - at) * sizeof(*r->part));
}

/* Make room in a full part: add a part after it if the key belongs at its end,
 * as new keys mostly do, else divide it. Returns the part for the key. */
static size_t divide(struct roster *r, size_t part, uint64_t key)
{
	struct roster_block *b = own(r, part), *to;
	size_t keep = BLOCK / 2;

	if (place_in(r, b, key) == BLOCK) {
		add_part(r, part + 1, key);
		return part + 1;
	}
	add_part(r, part + 1, key_of(entry_at(r, b, keep)));
	to = r->part[part + 1].block;
	move(r, to, 0, b, keep, BLOCK - keep);
	to->n = BLOCK - (uint32_t)keep;
	b->n = (uint32_t)keep;
	return key < r->part[part + 1].first ? part : part + 1;
}

void roster_put(struct roster *r, const void *entry)
{
	uint64_t key = key_of(entry);
	struct roster_block *b;
	size_t part, i;

	if (!r->nparts)
		add_part(r, 0, key);
	part = part_of(r, key);
	b = r->part[part].block;
	i = place_in(r, b, key);
	if (has_at(r, b, i, key)) {
		if (memcmp(entry_at(r, b, i), entry, r->size))
			memcpy(entry_at(r, own(r, part), i), entry, r->size);
		return;
	}
	if (b->n == BLOCK)
		part = divide(r, part, key);
	b = own(r, part);
	i = place_in(r, b, key);
	move(r, b, i + 1, b, i, b->n - i);
	memcpy(entry_at(r, b, i), entry, r->size);
	b->n++;
	r->n++;
	if (key < r->part[part].first)
		r->part[part].first = key;
}

/* Join the part and the next one if both are nearly empty. */
static bool join(struct roster *r, size_t part)
{
	struct roster_block *b, *next;

	if (part + 1 >= r->nparts)
		return false;
	b = r->part[part].block;
	next = r->part[part + 1].block;
	if (b->n + next->n > BLOCK / 2)
		return false;
	b = own(r, part);
	move(r, b, b->n, next, 0, next->n);
	b->n += next->n;
	del_part(r, part + 1);
	return true;
}

bool roster_del(struct roster *r, uint64_t key)
{
	size_t part = part_of(r, key), i;
	struct roster_block *b;

	if (!r->nparts)
		return false;
	b = r->part[part].block;
	i = place_in(r, b, key);
	if (!has_at(r, b, i, key))
		return false;
	r->n--;
	if (b->n == 1) {
		del_part(r, part);
		return true;
	}
	b = own(r, part);
	move(r, b, i, b, i + 1, b->n - i - 1);
	b->n--;
	if (!join(r, part) && part)
		join(r, part - 1);
	return true;
}
