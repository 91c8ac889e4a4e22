/* test_hostlist.c - expand host lists, and make them from names */
#include "libcommon/hostlist.h"

#include <string.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

static const struct {
	const char *text, *names; /* all names, in the order written */
	const char *again;        /* the list as printed */
} cases[] = {
	{ "n1", "n1", "n1" },
	{ "login", "login", "login" },
	{ "n[1-3]", "n1 n2 n3", "n[1-3]" },
	{ "n[008-011]", "n008 n009 n010 n011", "n[008-011]" },
	{ "n[8-11]", "n8 n9 n10 n11", "n[8-11]" },
	{ "n[98-101]", "n98 n99 n100 n101", "n[98-101]" },
	{ "n[098-101]", "n098 n099 n100 n101", "n[098-101]" },
	{ "n[3,1-2]", "n3 n1 n2", "n[1-3]" },
	{ "n[7-7]", "n7", "n7" },
	{ "b,a,n2,n1", "b a n2 n1", "a,b,n[1-2]" },
	{ "n1,n1,n[1-2]", "n1 n1 n1 n2", "n[1-2]" },
	{ "n1,n3,n5", "n1 n3 n5", "n[1,3,5]" },
	{ "n1,n01", "n1 n01", "n[1,01]" },
	{ "n,n1", "n n1", "n,n1" },
	{ "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2", "r1n[1-2],r2n[1-2]" },
	{ "n[1-2].rack,x", "n1.rack n2.rack x", "n1.rack,n2.rack,x" },
	{ "[1-2]", "1 2", "[1-2]" },
	{ "ip-10-0-0-[9-10]", "ip-10-0-0-9 ip-10-0-0-10", "ip-10-0-0-[9-10]" },
	{ "n123456789012", "n123456789012", "n123456789012" },
};

START_TEST(read_and_print)
{
	struct buf got = { 0 };
	struct hostlist list;
	struct err err;

	ck_assert_msg(!hostlist_parse(&list, cases[_i].text, &err), "%s",
	              err.text);
	for (size_t i = 0; i < list.n; i++)
		buf_printf(&got, "%s%s", i ? " " : "", list.name[i]);
	ck_assert_str_eq(got.data, cases[_i].names);

	buf_clear(&got);
	hostlist_format((const char *const *)list.name, list.n, &got);
	ck_assert_str_eq(got.data, cases[_i].again);
	buf_free(&got);
	hostlist_free(&list);
}
END_TEST

static const struct {
	const char *text, *where;
} refused[] = {
	{ "", "character 1" },        { ",n1", "character 1" },
	{ "n1,", "character 4" },     { "n1,,n2", "character 4" },
	{ "n 1", "character 2" },     { "n1\n", "character 3" },
	{ "n]", "character 2" },      { "n[1", "character 2" },
	{ "n[1,2", "character 2" },   { "n[]", "character 3" },
	{ "n[1-]", "character 5" },   { "n[-1]", "character 3" },
	{ "n[1,]", "character 5" },   { "n[a]", "character 3" },
	{ "n[1a]", "character 4" },   { "n[1[2]]", "character 4" },
	{ "n[2-1]", "character 3" },  { "n[1-2", "character 2" },
	{ "n[1-2]]", "character 7" }, { "n[1234567890]", "character 3" },
};

START_TEST(errors_say_where)
{
	struct hostlist list = { .n = 77 };
	struct err err;

	ck_assert_msg(hostlist_parse(&list, refused[_i].text, &err) == -1,
	              "'%s' was taken", refused[_i].text);
	ck_assert_int_eq(err.code, EINVAL);
	ck_assert_msg(strstr(err.text, refused[_i].where) != NULL, "%s",
	              err.text);
	ck_assert_uint_eq(list.n, 77);
}
END_TEST

START_TEST(limit_of_names)
{
	struct hostlist list;
	struct err err;

	ck_assert_int_eq(hostlist_parse(&list, "n[00001-65536]", &err), 0);
	ck_assert_uint_eq(list.n, LIMIT_HOSTS);
	hostlist_free(&list);
	ck_assert_int_eq(hostlist_parse(&list, "n[00000-65536]", &err), -1);
	ck_assert_int_eq(err.code, ERANGE);
	ck_assert_int_eq(hostlist_parse(&list, "n[0-999999999]", &err), -1);
	ck_assert_int_eq(err.code, ERANGE);
}
END_TEST

START_TEST(limit_of_a_name)
{
	char text[300];
	struct hostlist list;
	struct err err;

	memset(text, 'a', sizeof(text));
	text[255] = '\0';
	ck_assert_int_eq(hostlist_parse(&list, text, &err), 0);
	hostlist_free(&list);
	text[255] = 'a';
	text[256] = '\0';
	ck_assert_int_eq(hostlist_parse(&list, text, &err), -1);
	memcpy(text + 250, "[1-2]", 6);
	ck_assert_int_eq(hostlist_parse(&list, text, &err), -1);
	ck_assert_int_eq(err.code, EINVAL);
}
END_TEST

START_TEST(no_names_print_nothing)
{
	struct buf out = { 0 };

	hostlist_format(NULL, 0, &out);
	ck_assert_uint_eq(out.len, 0);
	buf_free(&out);
}
END_TEST

SUITE(hostlist)
{
	tcase_add_loop_test(tc, read_and_print, 0, ARRAY_SIZE(cases));
	tcase_add_loop_test(tc, errors_say_where, 0, ARRAY_SIZE(refused));
	tcase_add_test(tc, limit_of_names);
	tcase_add_test(tc, limit_of_a_name);
	tcase_add_test(tc, no_names_print_nothing);
}
