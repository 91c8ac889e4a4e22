/* test_export.c - which variables a job gets */
#include "libcommon/export.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

static char a[] = "A=1", b[] = "B=", cc[] = "CC=x=y", bad[] = "NOVALUE";
static char *const env[] = { a, b, cc, bad, NULL };

static const struct {
	const char *name, *list, *want;
} cases[] = {
	{ "all unless said", NULL, "A=1|B=|CC=x=y|" },
	{ "all", "ALL", "A=1|B=|CC=x=y|" },
	{ "none", "NONE", "" },
	{ "none, as later Slurm says it", "NIL", "" },
	{ "an empty list", "", "" },
	{ "some", "A,CC", "A=1|CC=x=y|" },
	{ "one that is not set", "A,Z", "A=1|" },
	{ "a value of its own", "A=7", "A=7|" },
	{ "all, one with a value of its own", "ALL,A=7", "B=|CC=x=y|A=7|" },
	{ "all and a new one", "ALL,D=e", "A=1|B=|CC=x=y|D=e|" },
	{ "a name that begins another", "C=1,ALL", "A=1|B=|CC=x=y|C=1|" },
	{ "quotes keep commas", "D='a,b',E=\"c,'d\"", "D=a,b|E=c,'d|" },
	{ "an empty value", "A=", "A=|" },
	{ "no name", "=1", "'=1' is not the name of a variable" },
	{ "a bad name", "1A", "'1A' is not the name of a variable" },
	{ "a quote is open", "A='x", "a quote without its end" },
};

START_TEST(export_case)
{
	struct buf got = { 0 };
	struct err err;

	buf_puts(&got, "");
	if (export_env(&got, cases[_i].list, env, &err) < 0) {
		buf_clear(&got);
		buf_puts(&got, err.text);
		ck_assert_int_eq(err.code, EINVAL);
	}
	for (size_t i = 0; i < got.len; i++)
		if (!got.data[i])
			got.data[i] = '|';
	ck_assert_msg(!strcmp(got.data, cases[_i].want), "%s: got %s",
	              cases[_i].name, got.data);
	buf_free(&got);
}
END_TEST

START_TEST(limit)
{
	char *big = xcalloc(LIMIT_ENV + 1, 1);
	char *one[] = { big, NULL };
	struct buf got = { 0 };
	struct err err;

	/* The variable and its zero byte have exactly the allowed length. */
	memset(big, 'x', LIMIT_ENV - 1);
	big[1] = '=';
	ck_assert_int_eq(export_env(&got, NULL, one, &err), 0);
	ck_assert_uint_eq(got.len, LIMIT_ENV);

	big[LIMIT_ENV - 1] = 'x';
	ck_assert_int_lt(export_env(&got, NULL, one, &err), 0);
	ck_assert_int_eq(err.code, E2BIG);
	buf_free(&got);
	free(big);
}
END_TEST

SUITE(export)
{
	tcase_add_loop_test(tc, export_case, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, limit);
}
