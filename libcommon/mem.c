/* mem.c - memory that cannot run out, and arenas */
#include "libcommon/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 * 1024)

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

struct arena {
	struct chunk *chunk;
	size_t used;
};

struct arena *arena_new(void)
{
	return xcalloc(1, sizeof(struct arena));
}

void arena_free(struct arena *arena)
{
	if (!arena)
		return;
	for (struct chunk *c = arena->chunk, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(arena);
}

void *arena_alloc(struct arena *arena, size_t n, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	size_t bytes = (product(n, size) + align - 1) / align * align;
	struct chunk *c = arena->chunk;
	void *p;

	if (!c || c->size - c->used < bytes) {
		size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;

		c = xcalloc(1, sizeof(*c) + room);
		c->size = room;
		c->next = arena->chunk;
		arena->chunk = c;
	}
	p = c->data + c->used;
	c->used += bytes;
	arena->used += bytes;
	return p;
}

char *arena_strdup(struct arena *arena, const char *s)
{
	size_t size = strlen(s) + 1;

	return memcpy(arena_alloc(arena, size, 1), s, size);
}

size_t arena_used(const struct arena *arena)
{
	return arena->used;
}
