/* test_idmap.c - ids, most of which are consecutive, and their values */
#include "aischedd/state/idmap.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/dice.h"

enum { IDS = 10 * IDMAP_PAGE };

static char value[IDS];

START_TEST(an_absent_id_has_no_value)
{
	struct idmap map = { { 0 } };
	size_t at = 0;

	ck_assert_ptr_null(idmap_find(&map, 0));
	idmap_del(&map, 0);
	idmap_set(&map, UINT64_MAX, value);
	ck_assert_ptr_null(idmap_find(&map, UINT64_MAX - 1));
	idmap_del(&map, UINT64_MAX - 1);
	ck_assert_ptr_eq(idmap_find(&map, UINT64_MAX), value);
	idmap_free(&map);
	ck_assert_ptr_null(idmap_each(&map, &at));
	ck_assert_ptr_null(idmap_find(&map, UINT64_MAX));
}
END_TEST

/* Set and delete ids at random, and compare with an array. */
DICE_TEST(ids_have_their_last_values, seed)
{
	struct dice d = dice_of(seed);
	struct idmap map = { { 0 } };
	void *want[IDS] = { NULL };

	for (int i = 0; i < 5 * IDS; i++) {
		uint32_t id = roll(&d, IDS);

		want[id] = roll(&d, 2) ? &value[roll(&d, IDS)] : NULL;
		if (want[id])
			idmap_set(&map, id, want[id]);
		else
			idmap_del(&map, id);
	}
	for (uint32_t id = 0; id < IDS; id++)
		ck_assert_ptr_eq(idmap_find(&map, id), want[id]);
	idmap_free(&map);
}

START_TEST(a_page_without_values_is_freed)
{
	struct idmap map = { { 0 } };
	const struct idmap_page *page;
	size_t at = 0, n = 0;

	for (uint64_t id = 0; id < IDS; id++)
		idmap_set(&map, id, value);
	for (uint64_t id = 0; id < IDS; id++)
		if (id != IDMAP_PAGE)
			idmap_del(&map, id);
	while ((page = idmap_each(&map, &at))) {
		ck_assert_uint_eq(page->n, 1);
		ck_assert_ptr_eq(page->value[0], value);
		n++;
	}
	ck_assert_uint_eq(n, 1);
	idmap_free(&map);
}
END_TEST

SUITE(idmap)
{
	tcase_add_test(tc, an_absent_id_has_no_value);
	dice_add(tc, ids_have_their_last_values, 10);
	tcase_add_test(tc, a_page_without_values_is_freed);
}
