/*
 * check.h - one Check suite a file, found by its binary without a list
 *
 *	SUITE(place) { tcase_add_loop_test(tc, place_case, 0, 4); }
 *
 * Output is TAP; CK_FORK=no runs in one process, for a debugger.
 */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

/* An assertion that holds writes nothing. Check would write its place to a file
 * each time, which took nine tenths of the time of tests that look at many
 * jobs; a test that crashes then names no line, but a core and the sanitizers
 * do. */
#define _mark_point(file, line) ((void)0)

/* Whether the text fits a pattern with * and ?. */
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
