/* test_steps.c - how many steps of work a turn has, and each kind of work */
#include "libcommon/steps.h"

#include "libcommon/mem.h"
#include "tests/unit/check.h"

START_TEST(a_slice_is_whole_before_the_first_turn)
{
	steps_add(10 * STEPS_TURN);
	ck_assert_uint_eq(steps_of_turn(), 0);
	ck_assert_uint_eq(steps_slice(), STEPS_SLICE);
}
END_TEST

START_TEST(a_slice_is_smaller_in_a_turn_that_has_done_much)
{
	static const struct {
		uint64_t used, slice;
	} cases[] = {
		{ 0, STEPS_SLICE },
		{ STEPS_SHARED - STEPS_SLICE, STEPS_SLICE },
		{ STEPS_SHARED - STEPS_SLICE + 1, STEPS_SLICE - 1 },
		{ STEPS_SHARED - STEPS_LEAST, STEPS_LEAST },
		{ STEPS_SHARED - STEPS_LEAST + 1, STEPS_LEAST },
		{ STEPS_SHARED, STEPS_LEAST },
		{ 10 * STEPS_TURN, STEPS_LEAST },
	};

	steps_add(1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		steps_begin_turn();
		steps_add(cases[i].used);
		ck_assert_uint_eq(steps_of_turn(), cases[i].used);
		ck_assert_uint_eq(steps_slice(), cases[i].slice);
	}
}
END_TEST

/* Kinds of work which all have more to do than a turn has room for */
START_TEST(many_kinds_of_work_do_not_add_up_to_a_long_turn)
{
	steps_add(1);
	steps_begin_turn();
	for (int kind = 0; kind < 12; kind++)
		steps_add(steps_slice());
	ck_assert_uint_le(steps_of_turn(), STEPS_TURN * 2 / 3);
}
END_TEST

SUITE(steps)
{
	tcase_add_test(tc, a_slice_is_whole_before_the_first_turn);
	tcase_add_test(tc, a_slice_is_smaller_in_a_turn_that_has_done_much);
	tcase_add_test(tc, many_kinds_of_work_do_not_add_up_to_a_long_turn);
}
