/* test_constraint.c - expressions over node features */
#include "libcommon/constraint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

enum { CAP = 200 };

/* Returns the number of a word, which is one letter: a is 0. */
static int32_t letter(const char *word, size_t len, void *arg)
{
	(void)arg;
	return len == 1 ? word[0] - 'a' : 25;
}

static bool in_text(int32_t word, const void *arg)
{
	return strchr(arg, 'a' + word) != NULL;
}

static const struct {
	const char *rule, *features;
	bool holds;
} cases[] = {
	{ "a", "a", true },
	{ "a", "b", false },
	{ "a&b", "ab", true },
	{ "a&b", "a", false },
	{ "a|b", "b", true },
	{ "a|b", "c", false },
	{ "a|b&c", "a", true }, /* & binds tighter */
	{ "a|b&c", "b", false },
	{ "(a|b)&c", "a", false },
	{ "(a|b)&c", "bc", true },
	{ "a&(b|c)&d", "acd", true },
	{ "a&(b|c)&d", "ad", false },
	{ "((a))", "a", true },
	{ "a&b|c&d", "cd", true },
	{ "a&b|c&d", "bc", false },
	{ "key=value", "z", true },
	{ "h100-sxm.v2", "z", true },
	{ "a*2", "", true }, /* a counted term holds on any node */
	{ "a&b*2", "a", true },
	{ "a&b*2", "b", false },
	{ "a*2&b", "a", false },
	{ "[a*1&(b|c)*3]&d", "d", true },
	{ "!a", "b", true },
	{ "!a", "a", false },
	{ "!!a", "a", true },
	{ "a&!b", "a", true },
	{ "a&!b", "ab", false }, /* ! binds tightest */
	{ "!a&b", "b", true },
	{ "!a&b", "", false },
	{ "!(a&b)", "a", true },
	{ "!(a&b)", "ab", false },
	{ "!(a|b)", "c", true },
	{ "!(a|b)", "b", false },
	{ "!(a&!(b|c))", "ac", true },
	{ "!(a&!(b|c))", "a", false },
	{ "!a*2&b", "b", true },
	{ "c|!(!a|!b)", "ab", true },
	{ "c&[a|b]", "bc", true },
	{ "c&[a|b]", "c", false },
	{ "[a&b|c]", "ab", true },
	{ "[a&b|c]", "a", false },
};

START_TEST(holds)
{
	int32_t rule[CAP];
	struct err err;
	size_t n;

	ck_assert_msg(!constraint_parse(cases[_i].rule, letter, NULL, rule, CAP,
	                                &n, &err),
	              "%s", err.text);
	ck_assert_msg(constraint_holds(rule, n, in_text, cases[_i].features) ==
	                  cases[_i].holds,
	              "%s on %s", cases[_i].rule, cases[_i].features);
}
END_TEST

static const struct {
	const char *rule, *where;
} refused[] = {
	{ "", "character 1" },
	{ "a&", "character 3" },
	{ "&a", "character 1" },
	{ "a||b", "character 3" },
	{ "(a", "character 3" },
	{ "a)", "character 2" },
	{ "()", "character 2" },
	{ "a b", "character 2" },
	{ "a,b", "character 2" },
	{ "a*", "character 3" },
	{ "a*0", "character 4" },
	{ "a*2x", "character 4" },
	{ "a*2|b", "character 4" },
	{ "a|b*2", "character 6" },
	{ "(a*2)", "character 3" },
	{ "a*100001", "character 8" },
	{ "[a]", "character 3" },
	{ "[a|b]&[c|d]", "character 9" },
	{ "[a*2", "character 5" },
	{ "[[a*2]]", "character 2" },
	{ "([a*2])", "character 2" },
	{ "!", "character 2" },
	{ "a(b)", "character 2" },
	{ "a!b", "character 2" },
	{ "![a*2]", "character 2" },
	{ "!(a*2)", "character 4" },
	{ "!&a", "character 2" },
	{ "k>", "character 3" },
	{ "k>=2", "character 5" },
	{ "k<2x", "character 5" },
	{ ">2", "character 3" },
	{ "k>2>3", "character 6" },
	{ "k>99999999999999999999999", "character 26" },
};

static const struct {
	const char *rule, *chosen; /* one expression for each alternative */
} choices[] = {
	{ "a", "" },
	{ "a|b", "" },
	{ "[a*2&b]", "" },
	{ "[a|b]", "a b " },
	{ "c&[a&d|(b|e)]&f", "c&a&d&f c&(b|e)&f " },
};

START_TEST(alternatives)
{
	const char *rule = choices[_i].rule;
	char all[64] = "";

	for (size_t k = 0; k < constraint_alternatives(rule); k++) {
		char *one = constraint_choose(rule, k);

		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s ",
		         one);
		free(one);
	}
	ck_assert_str_eq(all, choices[_i].chosen);
}
END_TEST

START_TEST(errors_say_where)
{
	int32_t rule[CAP];
	struct err err;
	size_t n = 77;

	ck_assert_int_eq(constraint_parse(refused[_i].rule, letter, NULL, rule,
	                                  CAP, &n, &err),
	                 -1);
	ck_assert_int_eq(err.code, EINVAL);
	ck_assert_msg(strstr(err.text, refused[_i].where) != NULL, "%s",
	              err.text);
	ck_assert_uint_eq(n, 77);
}
END_TEST

static const struct {
	const char *word, *feature;
	bool holds;
} words[] = {
	{ "ib", "ib", true },           { "ib", "i", false },
	{ "ib", "ibx", false },         { "zone", "zone=a", true },
	{ "zone", "zones=a", false },   { "zone=a", "zone=a", true },
	{ "zone=a", "zone=ab", false }, { "zone=a", "zone", false },
	{ "zone=", "zone", true },      { "zone=", "zone=a", false },
	{ "n>4", "n=5", true },         { "n>4", "n=4", false },
	{ "n<4", "n=3", true },         { "n<4", "n=4", false },
	{ "n>-1", "n=0", true },        { "n>9", "n=10", true },
	{ "n>4", "n=x", false },        { "n<4", "n", false },
	{ "n>4", "m=5", false },
};

START_TEST(words_ask_for_values_too)
{
	ck_assert_msg(constraint_word_holds(
			  words[_i].word, words[_i].feature) == words[_i].holds,
	              "%s on %s", words[_i].word, words[_i].feature);
}
END_TEST

/* Write a rule as text: a letter for each word, a digit for each count. */
static void in_letters(const int32_t *rule, size_t n, char *ret)
{
	for (size_t i = 0; i < n; i++) {
		if (rule[i] >= 0)
			*ret++ = (char)('a' + rule[i]);
		else if (constraint_count(rule[i]))
			*ret++ = (char)('0' + constraint_count(rule[i]));
		else
			*ret++ = rule[i] == CONSTRAINT_AND  ? '&'
			         : rule[i] == CONSTRAINT_OR ? '|'
			                                    : '!';
	}
	*ret = '\0';
}

START_TEST(counts_follow_what_they_count)
{
	int32_t rule[CAP];
	char text[CAP];
	size_t n;

	ck_assert_int_eq(constraint_parse("a&[(b|c)*2&d*4]", letter, NULL, rule,
	                                  CAP, &n, NULL),
	                 0);
	in_letters(rule, n, text);
	ck_assert_str_eq(text, "abc|2d4&&");
}
END_TEST

START_TEST(not_follows_words_only)
{
	int32_t rule[CAP];
	char text[CAP];
	size_t n;

	ck_assert_int_eq(constraint_parse("!(a|!b&c)&d*1", letter, NULL, rule,
	                                  CAP, &n, NULL),
	                 0);
	in_letters(rule, n, text);
	ck_assert_str_eq(text, "a!bc!|&d1&");
	ck_assert_int_eq(constraint_count(CONSTRAINT_NOT), 0);
	ck_assert_int_eq(constraint_token(1), CONSTRAINT_NOT - 1);
}
END_TEST

START_TEST(list_leaves_a_value_each)
{
	static const int32_t wanted[] = { 0, 1, CONSTRAINT_AND, 2,
		                          CONSTRAINT_NOT };
	int32_t rule[CAP];
	struct err err = { 0 };
	size_t n;

	ck_assert_int_eq(
	    constraint_parse_list("a&b,!c", letter, NULL, rule, CAP, &n, &err),
	    0);
	ck_assert_uint_eq(n, ARRAY_SIZE(wanted));
	ck_assert_mem_eq(rule, wanted, sizeof(wanted));
	ck_assert_int_eq(constraint_parse_list("a,b,c,d,e,f,g,h,i", letter,
	                                       NULL, rule, CAP, &n, &err),
	                 -1);
	ck_assert_ptr_nonnull(strstr(err.text, "too many wishes"));
	ck_assert_int_eq(
	    constraint_parse_list("a*2", letter, NULL, rule, CAP, &n, &err),
	    -1);
	ck_assert_int_eq(
	    constraint_parse_list("[a|b]", letter, NULL, rule, CAP, &n, &err),
	    -1);
	ck_assert_int_eq(
	    constraint_parse_list("a,", letter, NULL, rule, CAP, &n, &err), -1);
}
END_TEST

START_TEST(a_soft_taint_has_its_effect_behind_its_key)
{
	ck_assert(constraint_taint_is_soft("k:PreferNoSchedule"));
	ck_assert(constraint_taint_is_soft("k:PreferNoSchedule=v"));
	ck_assert(!constraint_taint_is_soft("k"));
	ck_assert(!constraint_taint_is_soft("k:NoExecute=v"));
	ck_assert(!constraint_taint_is_soft("k=a:PreferNoSchedule"));
	ck_assert(!constraint_taint_is_soft(":PreferNoSchedule"));
}
END_TEST

START_TEST(too_long)
{
	int32_t rule[3];
	struct err err;
	size_t n;

	ck_assert_int_eq(
	    constraint_parse("a&b", letter, NULL, rule, 3, &n, &err), 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(
	    constraint_parse("a&b|c", letter, NULL, rule, 3, &n, &err), -1);
	ck_assert_int_eq(err.code, ERANGE);
}
END_TEST

/* Parse "a|b&(" repeated: this puts most values on the parser's stack. */
static int parse_nested(int levels, int32_t *rule, size_t *n, struct err *err)
{
	char text[1000];
	size_t len = 0;

	for (int i = 0; i < levels; i++)
		len +=
		    (size_t)snprintf(text + len, sizeof(text) - len, "a|b&(");
	len += (size_t)snprintf(text + len, sizeof(text) - len, "a|b&c");
	memset(text + len, ')', (size_t)levels);
	text[len + (size_t)levels] = '\0';
	return constraint_parse(text, letter, NULL, rule, 1000, n, err);
}

START_TEST(depth_is_limited)
{
	int32_t rule[1000];
	struct err err;
	size_t n;

	ck_assert_int_eq(parse_nested(64, rule, &n, &err), 0);
	ck_assert(constraint_holds(rule, n, in_text, "bc"));
	ck_assert(!constraint_holds(rule, n, in_text, "b"));
	ck_assert_int_eq(parse_nested(65, rule, &n, &err), -1);
	ck_assert_int_eq(err.code, EINVAL);
}
END_TEST

START_TEST(no_rule_holds)
{
	ck_assert(constraint_holds(NULL, 0, in_text, ""));
}
END_TEST

SUITE(constraint)
{
	tcase_add_loop_test(tc, holds, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(tc, errors_say_where, 0, ARRAY_SIZE(refused));
	tcase_add_loop_test(tc, words_ask_for_values_too, 0, ARRAY_SIZE(words));
	tcase_add_loop_test(tc, alternatives, 0, ARRAY_SIZE(choices));
	tcase_add_test(tc, counts_follow_what_they_count);
	tcase_add_test(tc, not_follows_words_only);
	tcase_add_test(tc, list_leaves_a_value_each);
	tcase_add_test(tc, a_soft_taint_has_its_effect_behind_its_key);
	tcase_add_test(tc, too_long);
	tcase_add_test(tc, depth_is_limited);
	tcase_add_test(tc, no_rule_holds);
}
