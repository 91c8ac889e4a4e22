/* test_clean.c - make text from users and other programs safe for a terminal */
#include "libcommon/clean.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const struct {
	const char *from, *to;
} cases[] = {
	{ "", "" },
	{ "plain, \"quoted\" \\", "plain, \"quoted\" \\" },
	{ "\033[2J\a\t\n\r\177", "?[2J?????" },
	{ "caf\u00e9 \u043f\u0443\u0442\u044c \U0001f600",
	  "caf\u00e9 \u043f\u0443\u0442\u044c \U0001f600" },
	{ "\xc2\x80 \xc2\x9b"
	  "31m \xc2\x9f",
	  "? ?31m ?" },
	{ "\xc2\xa0", "\xc2\xa0" },
	{ "a\u202eb\u2066c\u200fd\u061ce", "a?b?c?d?e" },
	{ "one\u2028two\u2029three", "one?two?three" },
	{ "\x9b"
	  "31m",
	  "?31m" },
	{ "cut \xd0", "cut ?" },
	{ "\xe2\x80", "??" },
	{ "long \xc0\x8a \xe0\x80\x8a", "long ?? ???" },
	{ "\xed\xa0\x80", "?" },
	{ "\xf5\x80\x80\x80", "????" },
};

START_TEST(clean_case)
{
	char *text = xstrdup(cases[_i].from);

	text[text_clean(text, strlen(text))] = '\0';
	ck_assert_str_eq(text, cases[_i].to);
	free(text);
}
END_TEST

SUITE(clean)
{
	tcase_add_loop_test(tc, clean_case, 0, ARRAY_SIZE(cases));
}
