/* test_page.c - pages of a listing */
#include "aischedd/read/page.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

/* The sort keys of the rows of a listing, by id; "" means that there is no
 * row. */
static const char *const keys[] = {
	"", "bob", "9", "10", "-", "alice", "9", "2.5", "empty", "bob", "-3",
};

/* Returns the key of a row; "-" above stands for an empty key. */
static const char *key_of(size_t id)
{
	return strcmp(keys[id], "-") != 0 ? keys[id] : "";
}

/* Returns a request for a page; a sort that begins with '<' is in reverse
 * order. */
static json_t *body(const char *sort, int limit, const char *after)
{
	bool back = sort && *sort == '<';

	return json_pack("{s:s*, s:i, s:s*, s:b, s:b}", "sort",
	                 back ? sort + 1 : sort, "limit", limit, "after", after,
	                 "count", 1, "back", back);
}

/* Make a page: offer it all rows except number `but`. Appends the ids of the
 * page and returns its cursor. */
static char *turn(const char *sort, int limit, const char *after, size_t but,
                  struct buf *ids)
{
	json_t *request = body(sort, limit, after), *next;
	const struct page_row *row;
	struct page page;
	char *cursor;

	ck_assert_int_eq(page_init(&page, request, NULL), 0);
	for (size_t id = 1; id < ARRAY_SIZE(keys); id++) {
		/* Without a sort, rows are in the order of their ids. */
		const char *key = page.sort ? key_of(id) : "-1";

		if (id == but || !page_offer(&page, key, id))
			continue;
		if (page.sort)
			page_keep(&page, NULL);
		else
			buf_printf(ids, " %zu", id);
	}
	while (page_sort(&page, 0))
		page_sort(&page, UINT64_MAX);
	while ((row = page_next(&page)))
		buf_printf(ids, " %zu", (size_t)row->id);
	ck_assert_uint_eq(page.count, ARRAY_SIZE(keys) - 1 - (but > 0));
	next = page_cursor(&page);
	cursor = json_is_string(next) ? xstrdup(json_string_value(next)) : NULL;
	json_decref(next);
	page_fini(&page);
	json_decref(request);
	return cursor;
}

static const struct {
	const char *sort, *ids;
} orders[] = {
	{ NULL, " 1 2 3 4 5 6 7 8 9 10" },
	{ "name", " 10 7 2 6 3 5 1 9 8 4" },
	{ "-name", " 8 1 9 5 3 2 6 7 10 4" },
	{ "<name", " 4 8 9 1 5 3 6 2 7 10" },
	{ "<-name", " 4 10 7 6 2 3 5 9 1 8" },
};

/* Numbers are sorted by value and before texts, empty keys are last, and rows
 * with equal keys are sorted by id. */
START_TEST(pages_in_order)
{
	for (int limit = 1; limit <= 11; limit++) {
		struct buf ids = { 0 };
		char *after = NULL, *next;

		do {
			next = turn(orders[_i].sort, limit, after, 0, &ids);
			free(after);
			after = next;
		} while (after);
		ck_assert_str_eq(ids.data, orders[_i].ids);
		buf_free(&ids);
	}
}
END_TEST

/* The row named by the cursor does not exist any longer when the next page is
 * read. */
START_TEST(after_a_row_that_went)
{
	struct buf ids = { 0 };
	char *after = turn("name", 4, NULL, 0, &ids);

	ck_assert_str_eq(after, "6:9");
	free(turn("name", 4, after, 6, &ids));
	ck_assert_str_eq(ids.data, " 10 7 2 6 3 5 1 9");
	free(after);
	buf_free(&ids);
}
END_TEST

/* With a limit of 0 rows are only counted. */
START_TEST(count_alone)
{
	struct buf ids = { 0 };

	ck_assert_ptr_null(turn("name", 0, NULL, 0, &ids));
	ck_assert_ptr_null(turn(NULL, 0, NULL, 0, &ids));
	ck_assert_uint_eq(ids.len, 0);
}
END_TEST

static const struct {
	int limit;
	const char *after, *why;
} bad[] = {
	{ -1, NULL, "limit must be 0 to 10000 rows" },
	{ 10001, NULL, "limit must be 0 to 10000 rows" },
	{ 1, "", "'' is no place" },
	{ 1, "x:1", "'x:1' is no place" },
	{ 1, "-1:1", "'-1:1' is no place" },
	{ 1, "7", "'7' is no place" },
	{ 1, "99999999999999999999999:1", "is no place" },
};

START_TEST(bad_page)
{
	json_t *request = body("name", bad[_i].limit, bad[_i].after);
	struct page page;
	struct err err;

	ck_assert_int_eq(page_init(&page, request, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, bad[_i].why));
	page_fini(&page);
	json_decref(request);
}
END_TEST

/* Long keys that are equal up to byte 64, where the cursor cuts them. */
START_TEST(long_keys)
{
	json_t *request = body("name", 2, NULL), *cursor;
	struct page page;
	char key[4001];

	memset(key, 'x', sizeof(key));
	memcpy(key + 63, "\xc3\xa9", 2); /* bytes 64 and 65 */
	key[sizeof(key) - 1] = '\0';
	ck_assert_int_eq(page_init(&page, request, NULL), 0);
	for (uint64_t id = 3; id; id--)
		if (page_offer(&page, key, id))
			page_keep(&page, NULL);
	while (page_sort(&page, UINT64_MAX))
		;
	ck_assert_uint_eq(page_next(&page)->id, 1);
	ck_assert_uint_eq(page_next(&page)->id, 2);
	cursor = page_cursor(&page);
	ck_assert_uint_eq(strlen(json_string_value(cursor)), 2 + 63);
	json_decref(cursor);
	page_fini(&page);
	json_decref(request);
}
END_TEST

/* Rows that need too much memory make the page shorter, not wrong. */
START_TEST(long_rows)
{
	json_t *request = body("name", 100, NULL), *cursor;
	const struct page_row *row;
	struct page page;
	uint64_t n = 0;

	ck_assert_int_eq(page_init(&page, request, NULL), 0);
	for (uint64_t id = 100; id; id--) {
		char *text = xmalloc(1 << 20);

		memset(text, 'x', (1 << 20) - 1);
		text[(1 << 20) - 1] = '\0';
		if (page_offer(&page, "same", id))
			page_keep(&page, text);
		else
			free(text);
	}
	while (page_sort(&page, UINT64_MAX))
		;
	for (; (row = page_next(&page)); n++)
		ck_assert_uint_eq(row->id, n + 1);
	ck_assert_uint_eq(n, PAGE_TEXT >> 20);
	cursor = page_cursor(&page);
	ck_assert_str_eq(json_string_value(cursor), "8:same");
	json_decref(cursor);
	page_fini(&page);
	json_decref(request);
}
END_TEST

SUITE(page)
{
	tcase_add_loop_test(tc, pages_in_order, 0, ARRAY_SIZE(orders));
	tcase_add_test(tc, after_a_row_that_went);
	tcase_add_test(tc, count_alone);
	tcase_add_loop_test(tc, bad_page, 0, ARRAY_SIZE(bad));
	tcase_add_test(tc, long_keys);
	tcase_add_test(tc, long_rows);
}
