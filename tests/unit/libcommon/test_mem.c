/* test_mem.c - allocation that does not fail, and arenas */
#include "libcommon/mem.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

START_TEST(strings)
{
	char *a = xstrdup("abc"), *b = xstrndup("abcdef", 2);
	char *c = xasprintf("%s-%d", a, 7);

	ck_assert_str_eq(a, "abc");
	ck_assert_str_eq(b, "ab");
	ck_assert_str_eq(c, "abc-7");
	free(a);
	free(b);
	free(c);
}
END_TEST

START_TEST(nothing_is_no_failure)
{
	free(xmalloc(0));
	free(xcalloc(0, 8));
	free(xrealloc(NULL, 0, 8));
}
END_TEST

/* A size that overflows must not become a small one. */
START_TEST(too_large_ends_the_process)
{
	xrealloc(NULL, SIZE_MAX / 2, 4);
}
END_TEST

START_TEST(arrays_grow)
{
	size_t n = 0, cap = 0;
	int *p = NULL;

	for (; n < 1000; n++) {
		p = GROW(p, n, &cap);
		p[n] = (int)n;
	}
	ck_assert_uint_ge(cap, n);
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(p[i], (int)i);
	free(p);
}
END_TEST

START_TEST(arena_is_zeroed_and_aligned)
{
	struct arena *arena = arena_new();

	for (size_t size = 1; size < 200000; size = size * 3 + 1) {
		unsigned char *p = arena_alloc(arena, size, 1);

		ck_assert_uint_eq((uintptr_t)p % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			ck_assert_uint_eq(p[i], 0);
		memset(p, 0xff, size);
	}
	arena_free(arena);
}
END_TEST

START_TEST(blocks_move_to_another_arena)
{
	struct arena *from = arena_new(), *to = arena_new();
	size_t large = (size_t)4 << 20;
	char *small = arena_strdup(from, "small"), *big, *moved;

	big = arena_alloc(from, large, 1);
	arena_strdup(from, "more");
	memcpy(big, "big", 4);
	moved = arena_move(to, from, small, strlen(small) + 1);
	ck_assert_ptr_ne(moved, small);
	ck_assert_str_eq(moved, "small");
	ck_assert_ptr_eq(arena_move(to, from, big, large), big);
	ck_assert_uint_lt(arena_used(from), large);
	arena_free(from);
	ck_assert_str_eq(big, "big");
	from = arena_new();
	small = arena_strdup(from, "joined");
	arena_join(from, NULL);
	arena_join(to, from);
	ck_assert_str_eq(small, "joined");
	ck_assert_str_eq(arena_strdup(to, "and used"), "and used");
	ck_assert_uint_gt(arena_used(to), large);
	arena_free(to);
}
END_TEST

START_TEST(arena_counts_what_it_gave)
{
	struct arena *arena = arena_new();
	int *numbers = arena_array(arena, int, 1000);

	numbers[999] = 1;
	ck_assert_uint_ge(arena_used(arena), 1000 * sizeof(int));
	ck_assert_str_eq(arena_strdup(arena, "abc"), "abc");
	ck_assert_str_eq(arena_strdup(arena, ""), "");
	arena_free(arena);
	arena_free(NULL);
}
END_TEST

/* The sanitizer finds what is freed too early or never. */
START_TEST(an_arena_keeps_others)
{
	struct arena *shared = arena_new(), *a = arena_new(), *b = arena_new();
	char *text = arena_strdup(shared, "shared");

	arena_keep(a, shared);
	arena_keep(b, shared);
	arena_keep(b, shared);
	ck_assert_uint_ge(arena_used(a), arena_used(shared) + sizeof("shared"));
	arena_free(shared);
	arena_join(a, b);
	ck_assert_str_eq(text, "shared");
	arena_free(a);
}
END_TEST

SUITE(mem)
{
	tcase_add_test(tc, strings);
	tcase_add_test(tc, nothing_is_no_failure);
	tcase_add_test_raise_signal(tc, too_large_ends_the_process, SIGABRT);
	tcase_add_test(tc, arrays_grow);
	tcase_add_test(tc, arena_is_zeroed_and_aligned);
	tcase_add_test(tc, blocks_move_to_another_arena);
	tcase_add_test(tc, arena_counts_what_it_gave);
	tcase_add_test(tc, an_arena_keeps_others);
}
