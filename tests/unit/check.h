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

/* Fail the test if the texts differ, and print both to stderr: Check cannot
 * tell why a test failed if the message is longer than 8 KiB. */
void check_equal(const char *got, const char *want);

/* Fail the test with a short message unless `good`, and print the long text to
 * stderr. */
void check_long(bool good, const char *text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef void suite_fn(TCase *tc);

void check_register(const char *name, suite_fn *fn);

/* Returns the name of the suite to which tests are being added. */
const char *check_suite(void);

#define SUITE(name)                                                    \
	static void suite_##name(TCase *tc);                           \
	__attribute__((constructor)) static void register_##name(void) \
	{                                                              \
		check_register(#name, suite_##name);                   \
	}                                                              \
	static void suite_##name(TCase *tc)

#endif
