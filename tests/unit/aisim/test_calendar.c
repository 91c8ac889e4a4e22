#include "aisim/calendar.h"

#include "tests/unit/check.h"

START_TEST(first_comes_first)
{
	static const int at[] = { 5, 3, 9, 3, 7, 1, 9, 2, 8, 3 };
	struct calendar calendar = { 0 };
	struct calendar_entry last = { 0 };

	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		calendar_add(&calendar, (struct calendar_entry){
					    .at = at[i],
					    .job = 100 - i,
					});
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		const struct calendar_entry *e = calendar_first(&calendar);

		ck_assert(e->at > last.at ||
		          (e->at == last.at && e->job > last.job));
		last = *e;
		calendar_drop_first(&calendar);
	}
	ck_assert_ptr_null(calendar_first(&calendar));
	calendar_fini(&calendar);
}
END_TEST

SUITE(calendar)
{
	tcase_add_test(tc, first_comes_first);
}
