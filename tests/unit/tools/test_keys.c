/* test_keys.c - keys decoded from the bytes that a terminal sends */
#include "aiq/keys.h"

#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const struct {
	const char *bytes;
	int key[8]; /* ends with KEY_NONE */
} cases[] = {
	{ "", { KEY_NONE } },
	{ "q", { 'q' } },
	{ "jk\r", { 'j', 'k', KEY_ENTER } },
	{ "\x1b", { KEY_ESC } },
	{ "\x1bq", { KEY_ESC, 'q' } },
	{ "\x1b\x1b", { KEY_ESC, KEY_ESC } },
	{ "\x1b[A\x1b[B", { KEY_UP, KEY_DOWN } },
	{ "\x1b[C\x1b[D", { KEY_RIGHT, KEY_LEFT } },
	{ "\x1bOA\x1bOB", { KEY_UP, KEY_DOWN } },
	{ "\x1b[H\x1b[F", { KEY_HOME, KEY_END } },
	{ "\x1b[1~\x1b[4~", { KEY_HOME, KEY_END } },
	{ "\x1b[7~\x1b[8~", { KEY_HOME, KEY_END } },
	{ "\x1b[5~\x1b[6~", { KEY_PAGE_UP, KEY_PAGE_DOWN } },
	{ "\x1b[1;5A", { KEY_UP } }, /* with Ctrl */
	{ "\x1b[15~x", { KEY_OTHER, 'x' } },
	{ "\x1b[99999999999999999999~x", { KEY_OTHER, 'x' } },
	{ "\x1b[Zx", { KEY_OTHER, 'x' } },
	{ "\x1b[", { KEY_OTHER } }, /* cut off */
	{ "\x1b[5", { KEY_OTHER } },
	{ "\xc3\xa9", { 0xc3, 0xa9 } },
};

static void expect_keys(struct keys *keys, const int *want, size_t *at,
                        bool late)
{
	for (int key; (key = keys_next(keys, late)) != KEY_NONE;)
		ck_assert_int_eq(key, want[(*at)++]);
}

START_TEST(keys_from_bytes)
{
	const char *bytes = cases[_i].bytes;
	struct keys keys = { .len = 0 };
	size_t at = 0;

	keys_add(&keys, bytes, strlen(bytes));
	expect_keys(&keys, cases[_i].key, &at, true);
	ck_assert_int_eq(cases[_i].key[at], KEY_NONE);
	ck_assert_uint_eq(keys.len, 0);
}
END_TEST

START_TEST(they_may_come_in_pieces)
{
	struct keys keys = { .len = 0 };
	size_t at = 0;

	for (const char *p = cases[_i].bytes; *p; p++) {
		keys_add(&keys, p, 1);
		expect_keys(&keys, cases[_i].key, &at, false);
	}
	expect_keys(&keys, cases[_i].key, &at, true);
	ck_assert_int_eq(cases[_i].key[at], KEY_NONE);
}
END_TEST

START_TEST(what_does_not_fit_is_lost)
{
	struct keys keys = { .len = 0 };
	char many[200];
	size_t n = 0;

	memset(many, 'x', sizeof(many));
	keys_add(&keys, many, sizeof(many));
	while (keys_next(&keys, false) == 'x')
		n++;
	ck_assert_uint_eq(n, sizeof(keys.byte));
	/* An escape sequence that does not end is dropped. */
	memset(many, '5', sizeof(many));
	memcpy(many, "\x1b[", 2);
	keys_add(&keys, many, sizeof(many));
	ck_assert_int_eq(keys_next(&keys, false), KEY_OTHER);
	keys_add(&keys, "q", 1);
	ck_assert_int_eq(keys_next(&keys, false), 'q');
}
END_TEST

SUITE(keys)
{
	tcase_add_loop_test(tc, keys_from_bytes, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(tc, they_may_come_in_pieces, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, what_does_not_fit_is_lost);
}
