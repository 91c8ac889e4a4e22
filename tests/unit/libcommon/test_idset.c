/* test_idset.c - sets of array task ids */
#include "libcommon/idset.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "libcommon/steps.h"
#include "tests/unit/check.h"

static const struct {
	const char *text, *want; /* the set as printed; NULL: refused */
	uint32_t count, at_once;
	int code;
} cases[] = {
	{ "7", "7", 1, 0, 0 },
	{ "0-3", "0-3", 4, 0, 0 },
	{ "0-10:5", "0-10:5", 3, 0, 0 },
	{ "0-9:4", "0-8:4", 3, 0, 0 },
	{ "0-9:20", "0", 1, 0, 0 },
	{ "5-5", "5", 1, 0, 0 },
	{ "0-99:2,200,300-301%10", "0-98:2,200,300-301", 53, 10, 0 },
	{ "7,5,6", "5-7", 3, 0, 0 },
	{ "1,1,1", "1", 1, 0, 0 },
	{ "1,100", "1,100", 2, 0, 0 },
	{ "1,100,101,102", "1,100-102", 4, 0, 0 },
	{ "0-3,4-7", "0-7", 8, 0, 0 },
	{ "0-5,3-9", "0-9", 10, 0, 0 },
	{ "0-9,3-5", "0-9", 10, 0, 0 },
	{ "0-10:2,1-9:2", "0-10", 11, 0, 0 },
	{ "0-12:3,0-12:4", "0,3-4,6,8-9,12", 7, 0, 0 },
	{ "0-1000000", "0-1000000", 1000001, 0, 0 },
	{ "3%1000001", "3", 1, 1000001, 0 },
	{ "1000001", NULL, 0, 0, ERANGE },
	{ "0-4294967296", NULL, 0, 0, ERANGE },
	{ "99999999999999999999", NULL, 0, 0, ERANGE },
	{ "3%1000002", NULL, 0, 0, ERANGE },
	{ "", NULL, 0, 0, EINVAL },
	{ ",", NULL, 0, 0, EINVAL },
	{ "1,", NULL, 0, 0, EINVAL },
	{ "-1", NULL, 0, 0, EINVAL },
	{ "1-", NULL, 0, 0, EINVAL },
	{ "9-1", NULL, 0, 0, EINVAL },
	{ "1-9:", NULL, 0, 0, EINVAL },
	{ "1-9:0", NULL, 0, 0, EINVAL },
	{ "1:2", NULL, 0, 0, EINVAL },
	{ "1 ,2", NULL, 0, 0, EINVAL },
	{ " 1", NULL, 0, 0, EINVAL },
	{ "+1", NULL, 0, 0, EINVAL },
	{ "1%", NULL, 0, 0, EINVAL },
	{ "1%0", NULL, 0, 0, EINVAL },
	{ "1%2%3", NULL, 0, 0, EINVAL },
	{ "1%2,3", NULL, 0, 0, EINVAL },
	{ "[1-3]", NULL, 0, 0, EINVAL },
};

START_TEST(parse)
{
	struct idset set = { 0 };
	struct buf text = { 0 };
	struct err err = { 0 };
	uint32_t at_once = 77;
	int rc = idset_parse(&set, &at_once, cases[_i].text, &err);

	if (!cases[_i].want) {
		ck_assert_msg(rc == -1, "'%s' was taken", cases[_i].text);
		ck_assert_int_eq(err.code, cases[_i].code);
		ck_assert_int_eq(at_once, 77);
		return;
	}
	ck_assert_msg(!rc, "%s", err.text);
	idset_format(&set, &text);
	ck_assert_str_eq(text.data, cases[_i].want);
	ck_assert_uint_eq(idset_count(&set), cases[_i].count);
	ck_assert_uint_eq(at_once, cases[_i].at_once);
	buf_free(&text);
	idset_free(&set);
}
END_TEST

START_TEST(percent_needs_to_be_asked_for)
{
	struct idset set;
	struct err err;

	ck_assert_int_eq(idset_parse(&set, NULL, "1%2", &err), -1);
	ck_assert_int_eq(err.code, EINVAL);
}
END_TEST

static struct idset set_of(const char *text)
{
	struct idset set;

	ck_assert_int_eq(idset_parse(&set, NULL, text, NULL), 0);
	return set;
}

/* Returns the set as text, and frees it. */
static const char *text_of(struct idset *set)
{
	static char text[200];
	struct buf buf = { 0 };

	buf_puts(&buf, "");
	idset_format(set, &buf);
	ck_assert_uint_lt(buf.len, sizeof(text));
	memcpy(text, buf.data, buf.len + 1);
	buf_free(&buf);
	idset_free(set);
	return text;
}

START_TEST(ids_come_and_go)
{
	struct idset set = { 0 };

	ck_assert(!idset_has(&set, 0));
	ck_assert(!idset_del(&set, 0));
	ck_assert_int_eq(idset_next(&set, -1), -1);
	idset_add(&set, 4);
	idset_add(&set, 2);
	idset_add(&set, 3);
	idset_add(&set, 3);
	ck_assert_uint_eq(idset_count(&set), 3);
	ck_assert_uint_eq(idset_min(&set), 2);
	ck_assert_uint_eq(idset_max(&set), 4);
	ck_assert(idset_del(&set, 3));
	ck_assert(!idset_del(&set, 3));
	ck_assert_int_eq(idset_next(&set, -1), 2);
	ck_assert_int_eq(idset_next(&set, 2), 4);
	ck_assert_int_eq(idset_next(&set, 4), -1);
	ck_assert_str_eq(text_of(&set), "2,4");
}
END_TEST

START_TEST(take_moves_what_is_in_both)
{
	struct idset set = set_of("0-9"), which = set_of("3-20:3"), got;

	idset_take(&set, &which, &got);
	ck_assert_str_eq(text_of(&got), "3-9:3");
	ck_assert_str_eq(text_of(&set), "0-2,4-5,7-8");
	idset_free(&which);
}
END_TEST

START_TEST(take_keeps_what_many_ranges_leave)
{
	struct idset set = set_of("0-9,20,22,30-90:10"), got;
	struct idset which = set_of("0,9,22,40-80:20,95");

	idset_take(&set, &which, &got);
	ck_assert_str_eq(text_of(&got), "0,9,22,40,60,80");
	ck_assert_str_eq(text_of(&set), "1-8,20,30,50-90:20");
	idset_free(&which);
}
END_TEST

static const struct {
	const char *a, *b;
	bool meet;
} meetings[] = {
	{ "0-9", "9", true },
	{ "0-9", "10", false },
	{ "0-1000000:2", "1-999999:2", false },
	{ "0-1000000:2", "3-1000000:3", true },
	{ "0-100:7", "5,12,19,25,27", false },
	{ "0-100:7", "5,12,19,28", true },
	{ "1,3,5,100-200:10", "2,4,6-99,101-109,150", true },
	{ "1,3,5,100-200:10", "2,4,6-99,101-109", false },
	{ "4-1000000:6", "1-1000000:9", true },
	{ "4-1000000:6", "2-1000000:9", false },
};

START_TEST(sets_meet_or_do_not)
{
	struct idset a = set_of(meetings[_i].a), b = set_of(meetings[_i].b);
	uint64_t before = steps_so_far;

	ck_assert_int_eq(idset_meets(&a, &b), meetings[_i].meet);
	ck_assert_int_eq(idset_meets(&b, &a), meetings[_i].meet);
	ck_assert_uint_lt(steps_so_far - before, 100);
	idset_free(&a);
	idset_free(&b);
}
END_TEST

START_TEST(overlaps_are_bounded)
{
	struct idset set;
	struct err err;

	ck_assert_int_eq(
	    idset_parse(&set, NULL, "0-1000000:2,0-1000000:3,1", &err), 0);
	idset_free(&set);
	ck_assert_int_eq(idset_parse(&set, NULL,
	                             "0-1000000:2,0-1000000:3,0-1000000:5",
	                             &err),
	                 -1);
	ck_assert_int_eq(err.code, ERANGE);
}
END_TEST

START_TEST(copies_are_separate)
{
	struct idset set = set_of("0-9"), copy;

	idset_del(&set, 0);
	idset_copy(&copy, &set);
	idset_del(&set, 5);
	ck_assert_str_eq(text_of(&copy), "1-9");
	ck_assert_str_eq(text_of(&set), "1-4,6-9");
	idset_copy(&copy, &set);
	ck_assert_str_eq(text_of(&copy), "");
}
END_TEST

/* Tasks of an array start in ascending order: the set of tasks that have not
 * started must stay one range. */
START_TEST(a_million_tasks_are_one_range)
{
	struct idset set = set_of("0-999999");

	for (uint32_t i = 0; i < 999999; i++) {
		ck_assert_uint_eq(set.n, 1);
		idset_del(&set, i);
	}
	ck_assert_str_eq(text_of(&set), "999999");
}
END_TEST

START_TEST(every_second_one_is_one_range)
{
	struct idset set = set_of("0-9999");

	for (uint32_t i = 0; i < 10000; i += 2)
		idset_del(&set, i);
	ck_assert_uint_eq(set.n, 1);
	ck_assert_str_eq(text_of(&set), "1-9999:2");
}
END_TEST

enum { IDS = 40 };

static void check_same(const struct idset *set, const bool *has)
{
	uint32_t count = 0;
	int64_t before = -1;

	for (size_t i = 0; i < set->n; i++) {
		const struct idrange *r = &set->range[i];

		ck_assert(r->lo <= r->hi && r->step >= 1);
		ck_assert_uint_eq((r->hi - r->lo) % r->step, 0);
		ck_assert(i == 0 || r->lo > r[-1].hi);
	}
	for (uint32_t id = 0; id < IDS; id++) {
		ck_assert_int_eq(idset_has(set, id), has[id]);
		if (!has[id])
			continue;
		ck_assert_int_eq(idset_next(set, before), id);
		before = id;
		count++;
	}
	ck_assert_int_eq(idset_next(set, before), -1);
	ck_assert_uint_eq(idset_count(set), count);
}

/* Compare a set with an array of flags after random changes. */
START_TEST(behaves_as_flags_do)
{
	struct idset set = { 0 }, other = { 0 }, both;
	bool has[IDS] = { false }, in_other[IDS] = { false };
	unsigned seed = (unsigned)_i;

	for (int i = 0; i < 400; i++) {
		uint32_t id = (uint32_t)rand_r(&seed) % IDS;

		if (rand_r(&seed) % 2) {
			idset_add(&set, id);
			has[id] = true;
		} else {
			ck_assert_int_eq(idset_del(&set, id), has[id]);
			has[id] = false;
		}
		if (i % 3 == 0) {
			idset_add(&other, id / 2 * 2);
			in_other[id / 2 * 2] = true;
		}
		check_same(&set, has);
	}
	idset_take(&set, &other, &both);
	for (int id = 0; id < IDS; id++) {
		in_other[id] = in_other[id] && has[id];
		has[id] = has[id] && !in_other[id];
	}
	check_same(&set, has);
	check_same(&both, in_other);
	idset_free(&both);
	idset_free(&other);
	idset_free(&set);
}
END_TEST

SUITE(idset)
{
	tcase_add_loop_test(tc, parse, 0, ARRAY_SIZE(cases));
	tcase_add_test(tc, percent_needs_to_be_asked_for);
	tcase_add_test(tc, ids_come_and_go);
	tcase_add_test(tc, take_moves_what_is_in_both);
	tcase_add_test(tc, take_keeps_what_many_ranges_leave);
	tcase_add_loop_test(tc, sets_meet_or_do_not, 0, ARRAY_SIZE(meetings));
	tcase_add_test(tc, overlaps_are_bounded);
	tcase_add_test(tc, copies_are_separate);
	tcase_add_test(tc, a_million_tasks_are_one_range);
	tcase_add_test(tc, every_second_one_is_one_range);
	tcase_add_loop_test(tc, behaves_as_flags_do, 0, 20);
}
