/* test_mig.c - partitions of GPUs: profiles and where they fit */
#include "libcommon/mig.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

/* Each partition must end within its GPU, and be an exact number of thousandths
 * of it. */
START_TEST(tables_are_sound)
{
	for (uint8_t p = 1; p < mig_nprofiles(); p++) {
		const struct mig_profile *it = &mig_profile[p];

		ck_assert(mig_is_name(it->name));
		ck_assert_uint_eq(mig_find(it->name), p);
		ck_assert_int_eq(mig_milli(p) * it->all, 1000 * it->units);
		for (uint32_t start = 0; start < MIG_UNITS; start++) {
			if (it->starts >> start & 1)
				ck_assert_uint_le(start + it->units, it->all);
		}
		for (uint8_t m = 1; m < MIG_NMODELS; m++) {
			if (mig_has(m, p))
				ck_assert_uint_eq(mig_units(m), it->all);
		}
	}
}
END_TEST

/* As many instances of a profile fit on a GPU as the vendor's tables say. */
START_TEST(numbers_of_instances)
{
	static const uint8_t most[][3] = {
		/* compute slices, units, instances */
		{ 1, 1, 7 }, { 1, 2, 4 }, { 2, 2, 3 },
		{ 3, 4, 2 }, { 4, 4, 1 }, { 7, 8, 1 },
	};

	for (uint8_t p = 1; p < mig_nprofiles(); p++) {
		const struct mig_profile *it = &mig_profile[p];

		for (size_t i = 0; it->all == 8 && i < ARRAY_SIZE(most); i++)
			if (it->name[0] - '0' == most[i][0] &&
			    it->units == most[i][1])
				ck_assert_msg(__builtin_popcount(it->starts) ==
				                  most[i][2],
				              "%s", it->name);
	}
}
END_TEST

/* Each model has a profile of its whole memory, and all units. */
START_TEST(models_have_a_whole)
{
	for (uint8_t m = 1; m < MIG_NMODELS; m++) {
		const char *gb = strchr(mig_model_name[m], '-');
		uint32_t n = 0;

		for (uint8_t p = 1; p < mig_nprofiles(); p++)
			n += mig_has(m, p) &&
			     mig_profile[p].units == mig_units(m) &&
			     (!gb || !strncmp(mig_profile[p].name + 3, gb + 1,
			                      strlen(gb + 1)));
		ck_assert_msg(n == 1, "%s", mig_model_name[m]);
	}
}
END_TEST

START_TEST(free_starts)
{
	static const struct {
		const char *profile;
		uint8_t used, starts;
	} cases[] = {
		{ "1g.10gb", 0x00, 0x7f }, { "1g.10gb", 0x0f, 0x70 },
		{ "1g.20gb", 0x03, 0x54 }, { "2g.20gb", 0x0f, 0x10 },
		{ "3g.40gb", 0x01, 0x10 }, { "3g.40gb", 0x11, 0x00 },
		{ "4g.40gb", 0xf0, 0x01 }, { "4g.40gb", 0x08, 0x00 },
		{ "7g.80gb", 0x00, 0x01 }, { "7g.80gb", 0x80, 0x00 },
		{ "2g.12gb", 0x01, 0x04 }, { "4g.24gb", 0x01, 0x00 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_msg(mig_free_starts(mig_find(cases[i].profile),
		                              cases[i].used) == cases[i].starts,
		              "%s beside %x", cases[i].profile, cases[i].used);
}
END_TEST

START_TEST(names)
{
	ck_assert(mig_is_name("3g.41gb"));
	ck_assert(mig_is_name("1g.10gb+me"));
	ck_assert(!mig_is_name("8g.80gb"));
	ck_assert(!mig_is_name("1g.gb"));
	ck_assert(!mig_is_name("1g.10gbs"));
	ck_assert(!mig_is_name("h100"));
	ck_assert(!mig_is_name(NULL));
	ck_assert_uint_eq(mig_find("3g.41gb"), 0);
	ck_assert_uint_eq(mig_find("none"), 0);
	ck_assert_uint_eq(mig_find_model("none"), 0);
	ck_assert_uint_eq(mig_find_model("a30"), MIG_A30);
}
END_TEST

START_TEST(memory_of_models)
{
	ck_assert(mig_is_of_size(MIG_H100_80, 81920));
	ck_assert(mig_is_of_size(MIG_H100_80, 79647));
	ck_assert(mig_is_of_size(MIG_A30, 24576));
	ck_assert(mig_is_of_size(MIG_H100_94, 95830));
	ck_assert(mig_is_of_size(MIG_H100_96, 97871));
	ck_assert(mig_is_of_size(MIG_H200_141, 143771));
	ck_assert(mig_is_of_size(MIG_B200_180, 183359));
	ck_assert(!mig_is_of_size(MIG_A100_40, 81920));
}
END_TEST

/* want: the partitions that are read, or the error */
static const struct {
	const char *text, *want;
} fixed[] = {
	{ "3g.40gb@0,3g.40gb@4", "3g.40gb@0,3g.40gb@4" },
	{ "1g.10gb*7",
	  "1g.10gb@0,1g.10gb@1,1g.10gb@2,1g.10gb@3,1g.10gb@4,1g.10gb@5,"
	  "1g.10gb@6" },
	{ "1g.10gb@4*2!,4g.40gb", "4g.40gb@0,1g.10gb@4!,1g.10gb@5!" },
	{ "1g.10gb+me,7g.80gb", "partition '7g.80gb' has no place on its GPU" },
	{ "2g.20gb@1", "partition '2g.20gb@1' has no place on its GPU" },
	{ "1g.10gb*8", "partition '1g.10gb*8' has no place on its GPU" },
	{ "3g.40gb,3g.71gb", "partition '3g.71gb' has no place on its GPU" },
	{ "3g.40gb,1g.6gb", "partition '1g.6gb' has no place on its GPU" },
	{ "1g.10gb*0", "bad partition '1g.10gb*0': use PROFILE@START or "
	               "PROFILE*N, like 3g.40gb@4 or 1g.10gb*7" },
	{ "3g.40gb,", "there is no MIG profile ''" },
};

START_TEST(fixed_partitions)
{
	struct buf out = { 0 };
	uint64_t parts;
	struct err why;

	if (mig_parts_parse(fixed[_i].text, ',', &parts, &why) < 0)
		buf_puts(&out, why.text);
	else
		mig_parts_put(parts, ',', &out);
	ck_assert_str_eq(out.data, fixed[_i].want);
	buf_free(&out);
}
END_TEST

START_TEST(what_is_held)
{
	uint64_t parts;

	ck_assert(mig_parts_parse("3g.40gb@4!,1g.10gb@1,1g.10gb@0!", ',',
	                          &parts, NULL) == 0);
	ck_assert_uint_eq(mig_parts_all(parts), 8);
	ck_assert_uint_eq(mig_parts_held(parts), 0xf1);
	ck_assert_int_eq(mig_parts_free(parts, MIG_NONE), 375);
	ck_assert_uint_eq(mig_parts_starts(parts, mig_find("1g.10gb")), 0x03);
	ck_assert_uint_eq(mig_parts_all(0), 0);
	ck_assert_int_eq(mig_parts_free(0, MIG_NONE), 1000);
}
END_TEST

/* Numbers of GPUs whose partitions are made as needed, as text. */
static const struct {
	const char *text, *want; /* NULL: it is not such a text */
	uint8_t held;
	int64_t nfree; /* of an A30 */
} marks[] = {
	{ "split", "split", 0, 1000 },
	{ "whole", "whole", 0, 1000 },
	{ "@3!/@0!/split", "split/@0!/@3!", 0x09, 500 },
	{ "whole/split", "split/whole", 0, 1000 },
	{ "@8!", NULL, 0, 0 },
	{ "@1", NULL, 0, 0 },
	{ "split/", NULL, 0, 0 },
	{ "3g.40gb@4!", NULL, 0, 0 },
};

START_TEST(partitions_made_as_needed)
{
	struct buf out = { 0 };
	uint64_t parts;

	ck_assert_int_eq(mig_marks_parse(marks[_i].text, '/', &parts),
	                 marks[_i].want != NULL);
	if (!marks[_i].want)
		return;
	mig_parts_put(parts, '/', &out);
	ck_assert_str_eq(out.data, marks[_i].want);
	ck_assert(!mig_parts_fixed(parts));
	ck_assert_uint_eq(mig_parts_all(parts), 0);
	ck_assert_uint_eq(mig_parts_held(parts), marks[_i].held);
	ck_assert_int_eq(mig_parts_free(parts, MIG_A30), marks[_i].nfree);
	ck_assert_uint_eq(mig_parts_hold(parts & (MIG_NO_WHOLE | MIG_NO_PARTS),
	                                 marks[_i].held),
	                  parts);
	buf_free(&out);
}
END_TEST

START_TEST(list_of_profiles)
{
	struct buf out = { 0 };

	mig_put_profiles(&out, 1 << MIG_A30, NULL);
	ck_assert_str_eq(out.data, "1g.6gb, 2g.12gb, 4g.24gb");
	buf_free(&out);
}
END_TEST

SUITE(mig)
{
	tcase_add_test(tc, tables_are_sound);
	tcase_add_test(tc, numbers_of_instances);
	tcase_add_test(tc, models_have_a_whole);
	tcase_add_test(tc, free_starts);
	tcase_add_test(tc, names);
	tcase_add_test(tc, memory_of_models);
	tcase_add_loop_test(tc, fixed_partitions, 0,
	                    sizeof(fixed) / sizeof(fixed[0]));
	tcase_add_test(tc, what_is_held);
	tcase_add_loop_test(tc, partitions_made_as_needed, 0,
	                    sizeof(marks) / sizeof(marks[0]));
	tcase_add_test(tc, list_of_profiles);
}
