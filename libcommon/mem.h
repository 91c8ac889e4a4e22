/*
 * mem.h - allocation that does not fail, and arenas
 *
 * If memory runs out, the process ends with one line: everything that a peer
 * can make us allocate is bounded before. An arena holds what lives and dies
 * together: one scheduling pass, one request.
 */
#ifndef LIBCOMMON_MEM_H
#define LIBCOMMON_MEM_H

#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n, size_t size); /* checks n * size */
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
/* Replace *text with a copy of to, or with NULL. */
void text_set(char **text, const char *to);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* p = GROW(p, n, &cap): make room for one more in an array of n used and cap
 * allocated elements. */
#define GROW(p, n, cap) \
	((n) < *(cap) ? (void *)(p) : grow_array((p), (cap), sizeof(*(p))))
void *grow_array(void *p, size_t *cap, size_t size);

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena); /* NULL is allowed */

/* Returns zeroed memory, aligned for any type; valid until arena_free(). */
void *arena_alloc(struct arena *arena, size_t n, size_t size);
/* Likewise, but not zeroed: for memory that the caller fills at once. */
void *arena_alloc_raw(struct arena *arena, size_t n, size_t size);
char *arena_strdup(struct arena *arena, const char *s);
size_t arena_used(const struct arena *arena); /* bytes handed out */

/* Let all blocks belong to another arena, and free this one; NULL is allowed.
 */
void arena_join(struct arena *to, struct arena *from);

/* Let the block belong to another arena: a large one stays where it is, a small
 * one is copied. Returns where it is; `size` bytes were allocated. */
void *arena_move(struct arena *to, struct arena *from, void *p, size_t size);

#define arena_array(arena, type, n) \
	((type *)arena_alloc((arena), (n), sizeof(type)))
#define arena_array_raw(arena, type, n) \
	((type *)arena_alloc_raw((arena), (n), sizeof(type)))

/* A list that grows in an arena; outgrown arrays stay in the arena. */
struct arena_list {
	void *p;
	size_t n, cap;
};

/* Append a zeroed element of this size and return it. */
void *arena_push(struct arena *arena, struct arena_list *list, size_t size);

#endif
