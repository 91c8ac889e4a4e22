/* test_err.c - why a function failed */
#include "libcommon/err.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

START_TEST(set_and_wrap)
{
	struct err err;

	ck_assert_int_eq(err_set(&err, ENOSPC, "queue '%s' is full", "q"), -1);
	ck_assert_int_eq(err.code, ENOSPC);
	ck_assert_str_eq(err.text, "queue 'q' is full");
	ck_assert_int_eq(err_wrap(&err, "job %d", 7), -1);
	ck_assert_int_eq(err.code, ENOSPC);
	ck_assert_str_eq(err.text, "job 7: queue 'q' is full");
}
END_TEST

START_TEST(sys_tells_errno)
{
	struct err err;

	errno = ENOENT;
	ck_assert_int_eq(err_sys(&err, "open '%s'", "/x"), -1);
	ck_assert_int_eq(err.code, ENOENT);
	ck_assert_str_eq(err.text, "open '/x': No such file or directory");
}
END_TEST

START_TEST(nobody_need_care)
{
	ck_assert_int_eq(err_set(NULL, EINVAL, "x"), -1);
	ck_assert_int_eq(err_sys(NULL, "x"), -1);
	ck_assert_int_eq(err_wrap(NULL, "x"), -1);
}
END_TEST

START_TEST(values_cannot_forge_lines)
{
	struct err err;

	err_set(&err, EINVAL, "bad name '%s'", "x\nok\t\033[2J\177");
	ck_assert_str_eq(err.text, "bad name 'x?ok??[2J?'");
	err_set(&err, EINVAL, "bad name '%s'",
	        "x\xc2\x9b"
	        "31m\u202e");
	ck_assert_str_eq(err.text, "bad name 'x?31m?'");
	err_set(&err, EINVAL, "bad name '%s'", "x\nok\t\033[2J\177");
	err_wrap(&err, "line\n2");
	ck_assert_str_eq(err.text, "line?2: bad name 'x?ok??[2J?'");
}
END_TEST

START_TEST(long_texts_are_cut)
{
	char *text = xmalloc(2000);
	struct err err;

	memset(text, 'x', 1999);
	text[1999] = '\0';
	err_set(&err, EINVAL, "%s", text);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	err_wrap(&err, "%s", "around");
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	ck_assert_int_eq(strncmp(err.text, "around: xxx", 11), 0);
	errno = ENOENT;
	err_sys(&err, "%s", text);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	free(text);
}
END_TEST

SUITE(err)
{
	tcase_add_test(tc, set_and_wrap);
	tcase_add_test(tc, sys_tells_errno);
	tcase_add_test(tc, nobody_need_care);
	tcase_add_test(tc, values_cannot_forge_lines);
	tcase_add_test(tc, long_texts_are_cut);
}
