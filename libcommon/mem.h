/*
 * mem.h - allocation that does not fail, and arenas
 *
 * If memory runs out, these functions write one line to stderr and abort the
 * process. Limits on requests (limits.h) keep a peer from causing this. An
 * arena holds allocations that are freed together, such as those of one
 * scheduling pass or one request.
 */
#ifndef LIBCOMMON_MEM_H
#define LIBCOMMON_MEM_H

#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
/* Resizes to n * size bytes; aborts if that overflows. */
void *xrealloc(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
/* Free *text and set it to a copy of `to`, or to NULL if `to` is NULL. */
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

/* Keep `shared`, to which blocks of `arena` refer, until `arena` is freed:
 * arena_free(shared) then frees it only for its caller. Each arena may be freed
 * on another thread; nothing may be allocated in `shared` any longer. */
void arena_keep(struct arena *arena, struct arena *shared);

/* Returns zeroed memory, aligned for any type; valid until arena_free(). */
void *arena_alloc(struct arena *arena, size_t n, size_t size);
/* Like arena_alloc(), but the memory is not zeroed. */
void *arena_alloc_raw(struct arena *arena, size_t n, size_t size);
char *arena_strdup(struct arena *arena, const char *s);
/* Returns the bytes handed out by it and by the arenas that it keeps. */
size_t arena_used(const struct arena *arena);

/* Move all blocks of `from` into `to`, without copying them, and free `from`.
 * `from` may be NULL. */
void arena_join(struct arena *to, struct arena *from);

/* Move block p, of `size` bytes, from one arena into another: a large
 * block keeps its address, a small one is copied. Returns the address of
 * the block. */
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

/* Append a zeroed element of this size, and return a pointer to it. */
void *arena_push(struct arena *arena, struct arena_list *list, size_t size);

#endif
