/* test_labels.c - labels of jobs */
#include "libcommon/labels.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

#define PART_63 \
	"a23456789012345678901234567890123456789012345678901234567890123"

static const struct {
	const char *labels, *more, *want; /* NULL: refused */
} added[] = {
	{ NULL, "a=1", "a=1" },
	{ "a=1", "b=2", "a=1,b=2" },
	{ NULL, "b=2,a=1", "a=1,b=2" },
	{ NULL, "b=2,ab=3,a=1", "a=1,ab=3,b=2" },
	{ "a=1,b=2", "a=3", "a=3,b=2" },
	{ NULL, "a=1,a=2", "a=2" },
	{ NULL, "a=", "a=" },
	{ NULL, "A.b_c-d=X.y", "A.b_c-d=X.y" },
	{ NULL, PART_63 "=" PART_63, PART_63 "=" PART_63 },
	{ NULL, PART_63 "4=1", NULL },
	{ NULL, "a=" PART_63 "4", NULL },
	{ NULL, "", NULL },
	{ NULL, "a", NULL },
	{ NULL, "=1", NULL },
	{ NULL, "a=1,", NULL },
	{ NULL, ",a=1", NULL },
	{ NULL, "a=1=2", NULL },
	{ NULL, "-a=1", NULL },
	{ NULL, "a-=1", NULL },
	{ NULL, "a=.1", NULL },
	{ NULL, "a b=1", NULL },
	{ NULL, "x.io/a=1", NULL },
	{ NULL, "\xc3\xa4=1", NULL },
	{ "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1", "i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1",
	  "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1" },
	{ "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1",
	  "i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1", NULL },
};

START_TEST(labels_are_added)
{
	const char *want = added[_i].want;
	struct buf text = { 0 };
	struct err err = { 0 };
	int rc = labels_add(&text, added[_i].labels, added[_i].more, &err);

	ck_assert_int_eq(rc, want ? 0 : -1);
	if (want)
		ck_assert_str_eq(text.data, want);
	else
		ck_assert_int_eq(err.code, EINVAL);
	buf_free(&text);
}
END_TEST

static const struct {
	const char *labels, *wanted;
	bool have;
} wishes[] = {
	{ "a=1,b=2", "a=1", true }, { "a=1,b=2", "b=2", true },
	{ "a=1,b=2", "b", true },   { "a=1,b=2", "b=3", false },
	{ "a=1,b=2", "c", false },  { "a=1,b=2", "a=", false },
	{ "a=,b=2", "a=", true },   { "a=,b=2", "a", true },
	{ "ab=1", "a", false },     { "a=1", "ab", false },
	{ "a=12", "a=1", false },   { "a=1", "a=12", false },
	{ NULL, "a", false },
};

START_TEST(labels_are_found)
{
	ck_assert_int_eq(labels_check_wanted(wishes[_i].wanted, NULL), 0);
	ck_assert_int_eq(labels_have(wishes[_i].labels, wishes[_i].wanted),
	                 wishes[_i].have);
}
END_TEST

START_TEST(wishes_have_a_syntax)
{
	static const char *const bad[] = { "",    "=",     "=1", "a b",
		                           "a=-", "a=1=2", "a,b" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(labels_check_wanted(bad[i], NULL), -1);
}
END_TEST

SUITE(labels)
{
	tcase_add_loop_test(tc, labels_are_added, 0, ARRAY_SIZE(added));
	tcase_add_loop_test(tc, labels_are_found, 0, ARRAY_SIZE(wishes));
	tcase_add_test(tc, wishes_have_a_syntax);
}
