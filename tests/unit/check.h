/*
 * check.h - a suite of Check in each file, which registers itself
 *
 *	SUITE(place) { tcase_add_loop_test(tc, place_case, 0, 4); }
 *
 * The test program runs all suites linked into it and prints TAP; CK_FORK=no
 * runs them in one process, for a debugger.
 */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

/* Do not record the place of each assertion. Check would write it to a file,
 * which took 90 % of the time of tests with many assertions. The price is that
 * a test that crashes names no line; a core or the sanitizers do. */
#define _mark_point(file, line) ((void)0)

/* Whether the whole text matches a pattern with * and ?. */
bool glob_match(const char *pattern, const char *text);

typedef void suite_fn(TCase *tc);

void check_register(const char *name, suite_fn *fn);

#define SUITE(name)                                                    \
	static void suite_##name(TCase *tc);                           \
	__attribute__((constructor)) static void register_##name(void) \
	{                                                              \
		check_register(#name, suite_##name);                   \
	}                                                              \
	static void suite_##name(TCase *tc)

#endif
