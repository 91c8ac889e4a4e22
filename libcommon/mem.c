/* mem.c - allocation that does not fail, and arenas */
#include "libcommon/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes of an arena's chunks. They double as the arena grows, so that small
 * arenas are cheap and large ones have few chunks. A block of more than
 * CHUNK_MAX_BYTES gets a chunk of its own. */
#define CHUNK_BYTES     ((size_t)8 * 1024)
#define CHUNK_MAX_BYTES ((size_t)1024 * 1024)

static void *or_die(void *p, size_t size)
{
	if (!p && size) {
		fprintf(stderr, "out of memory (%zu bytes)\n", size);
		abort();
	}
	return p;
}

static size_t product(size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		or_die(NULL, SIZE_MAX);
	return bytes;
}

void *xmalloc(size_t size)
{
	return or_die(malloc(size), size);
}

void *xcalloc(size_t n, size_t size)
{
	return or_die(calloc(n, size), product(n, size));
}

void *xrealloc(void *p, size_t n, size_t size)
{
	size_t bytes = product(n, size);

	return or_die(realloc(p, bytes ? bytes : 1), bytes ? bytes : 1);
}

char *xstrdup(const char *s)
{
	return or_die(strdup(s), strlen(s) + 1);
}

char *xstrndup(const char *s, size_t n)
{
	return or_die(strndup(s, n), n + 1);
}

void text_set(char **text, const char *to)
{
	char *was = *text;

	*text = to ? xstrdup(to) : NULL;
	free(was);
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&s, fmt, ap);
	va_end(ap);
	return or_die(len < 0 ? NULL : s, 1);
}

void *grow_array(void *p, size_t *cap, size_t size)
{
	*cap = *cap ? *cap * 2 : 8;
	return xrealloc(p, *cap, size);
}

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(max_align_t) unsigned char data[];
};

/* An arena that is kept for another one, in whose memory this is. */
struct kept {
	struct arena *arena;
	struct kept *next;
};

struct arena {
	struct chunk *chunk;
	size_t used;
	atomic_uint keepers; /* arena_keep() for it, and not freed since */
	struct kept *kept;
};

struct arena *arena_new(void)
{
	return xcalloc(1, sizeof(struct arena));
}

void arena_free(struct arena *arena)
{
	if (!arena || atomic_fetch_sub(&arena->keepers, 1) > 0)
		return;
	for (struct kept *k = arena->kept; k; k = k->next)
		arena_free(k->arena);
	for (struct chunk *c = arena->chunk, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(arena);
}

static void chunk_add(struct arena *arena, struct chunk *c, size_t size)
{
	c->size = size;
	c->used = 0;
	c->next = arena->chunk;
	arena->chunk = c;
}

/* Add a full chunk to the list: behind the head, if there is one, because small
 * blocks are allocated from the head. */
static void add_full(struct arena *arena, struct chunk *c)
{
	struct chunk **at = arena->chunk ? &arena->chunk->next : &arena->chunk;

	c->next = *at;
	*at = c;
}

/* Give a block a chunk of its own. If it is zeroed, calloc() gets its pages
 * from the kernel, which provides each one when it is first touched. */
static void *alloc_large(struct arena *arena, size_t bytes, bool zeroed)
{
	struct chunk *c = zeroed ? xcalloc(1, sizeof(*c) + bytes)
	                         : xmalloc(sizeof(*c) + bytes);
	c->size = c->used = bytes;
	arena->used += bytes;
	add_full(arena, c);
	return c->data;
}

static size_t aligned(size_t bytes)
{
	const size_t align = _Alignof(max_align_t);

	return (bytes + align - 1) / align * align;
}

static void *alloc_small(struct arena *arena, size_t bytes)
{
	size_t room = CHUNK_BYTES;
	struct chunk *c = arena->chunk;

	if (!c || c->size - c->used < bytes) {
		while (room < bytes ||
		       (room < arena->used && room < CHUNK_MAX_BYTES))
			room *= 2;
		c = xmalloc(sizeof(*c) + room);
		chunk_add(arena, c, room);
	}
	c->used += bytes;
	arena->used += bytes;
	return c->data + c->used - bytes;
}

void *arena_alloc(struct arena *arena, size_t n, size_t size)
{
	size_t bytes = aligned(product(n, size));

	if (bytes > CHUNK_MAX_BYTES)
		return alloc_large(arena, bytes, true);
	return memset(alloc_small(arena, bytes), 0, bytes);
}

void *arena_alloc_raw(struct arena *arena, size_t n, size_t size)
{
	size_t bytes = aligned(product(n, size));

	return bytes > CHUNK_MAX_BYTES ? alloc_large(arena, bytes, false)
	                               : alloc_small(arena, bytes);
}

char *arena_strdup(struct arena *arena, const char *s)
{
	size_t size = strlen(s) + 1;

	return memcpy(arena_alloc(arena, size, 1), s, size);
}

void arena_keep(struct arena *arena, struct arena *shared)
{
	struct kept *kept = arena_alloc(arena, 1, sizeof(*kept));

	atomic_fetch_add(&shared->keepers, 1);
	*kept = (struct kept){ shared, arena->kept };
	arena->kept = kept;
}

size_t arena_used(const struct arena *arena)
{
	size_t used = arena->used;

	for (const struct kept *k = arena->kept; k; k = k->next)
		used += arena_used(k->arena);
	return used;
}

void arena_join(struct arena *to, struct arena *from)
{
	struct kept **end = &to->kept;

	if (!from)
		return;
	for (struct chunk *c = from->chunk, *next; c; c = next) {
		next = c->next;
		add_full(to, c);
	}
	to->used += from->used;
	while (*end)
		end = &(*end)->next;
	*end = from->kept;
	free(from);
}

void *arena_move(struct arena *to, struct arena *from, void *p, size_t size)
{
	size_t bytes = aligned(size);
	struct chunk **at = &from->chunk, *c;

	while (*at && (void *)(*at)->data != p)
		at = &(*at)->next;
	c = *at;
	if (!c || bytes <= CHUNK_MAX_BYTES)
		return size ? memcpy(arena_alloc_raw(to, size, 1), p, size) : p;
	*at = c->next;
	from->used -= bytes;
	to->used += bytes;
	add_full(to, c);
	return p;
}

void *arena_push(struct arena *arena, struct arena_list *list, size_t size)
{
	if (list->n == list->cap) {
		size_t cap = list->cap ? list->cap * 2 : 32;
		void *p = arena_alloc(arena, cap, size);

		if (list->n)
			memcpy(p, list->p, list->n * size);
		list->p = p;
		list->cap = cap;
	}
	return (char *)list->p + size * list->n++;
}
