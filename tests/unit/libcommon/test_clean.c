/* test_clean.c - make text from users and other programs safe for a terminal */
#include "libcommon/clean.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/client/json_out.h"
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

START_TEST(printed_json_has_no_hidden_characters)
{
	json_t *list =
	    json_pack("[s, s]", "a\xc2\x9b\x7f\u202e\xc3\xa9\"", "\u200f");
	char *text = json_out_text(list, JSON_COMPACT);
	json_t *again = json_loads(text, 0, NULL);

	ck_assert_str_eq(text, "[\"a\\u009b\\u007f\\u202e\xc3\xa9\\\"\","
	                       "\"\\u200f\"]");
	ck_assert(json_equal(list, again));
	json_decref(again);
	json_decref(list);
	free(text);
}
END_TEST

SUITE(clean)
{
	tcase_add_test(tc, printed_json_has_no_hidden_characters);
	tcase_add_loop_test(tc, clean_case, 0, ARRAY_SIZE(cases));
}
