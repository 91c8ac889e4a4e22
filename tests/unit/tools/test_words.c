/* test_words.c - split lines of aictl into words */
#include <string.h>

#include "aictl/aictl.h"
#include "aictl/words.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

/* clang-format off */
static const struct {
	/* each word in brackets; NULL: an error */
	const char *name, *line, *want;
} cases[] = {
	{ "blanks part words", "  hold 12\t13 \n", "[hold][12][13]" },
	{ "an empty line has none", "   \n", "" },
	{ "a comment has none", "  # hold 12", "" },
	{ "a comment ends a line", "hold 12 # not 13", "[hold][12]" },
	{ "a # within a word is one", "update 1 name=a#b",
	  "[update][1][name=a#b]" },
	{ "quotes keep blanks", "drain n1 -r 'bad disk' \"bad fan\"",
	  "[drain][n1][-r][bad disk][bad fan]" },
	{ "quotes end within a word", "name='a b'c\"d e\"", "[name=a bcd e]" },
	{ "empty quotes are a word", "a '' \"\"", "[a][][]" },
	{ "a backslash keeps the next", "a\\ b \\' \\\\", "[a b]['][\\]" },
	{ "within \"\", too", "\"a\\\"b\" 'a\\b'", "[a\"b][a\\b]" },
	{ "a # in quotes is text", "'# a'", "[# a]" },
	{ "a quote without end", "hold '12", NULL },
	{ "a double one, too", "hold \"12\\\"", NULL },
};
/* clang-format on */

START_TEST(split)
{
	struct words words;
	struct err why;
	struct buf got = { 0 };

	if (words_split(&words, cases[_i].line, &why) < 0) {
		ck_assert_msg(!cases[_i].want, "%s: %s", cases[_i].name,
		              why.text);
		return;
	}
	buf_puts(&got, "");
	for (size_t i = 0; i < words.n; i++)
		buf_printf(&got, "[%s]", words.word[i]);
	ck_assert_msg(cases[_i].want && !strcmp(got.data, cases[_i].want),
	              "%s: got %s", cases[_i].name, got.data);
	words_free(&words);
	buf_free(&got);
}
END_TEST

SUITE(words)
{
	tcase_add_loop_test(tc, split, 0, ARRAY_SIZE(cases));
}
