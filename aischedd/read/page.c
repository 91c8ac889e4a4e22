/* page.c - the page of a listing that a request asks for */
#include "aischedd/read/page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/heap.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

/* --- order of rows -------------------------------------------------------- */

/* Returns how many bytes of a key are compared: PAGE_KEY at most, but no UTF-8
 * character is cut. */
static size_t key_len(const char *key)
{
	size_t len = strnlen(key, PAGE_KEY + 1);

	if (len <= PAGE_KEY)
		return len;
	for (len = PAGE_KEY; len && ((unsigned char)key[len] & 0xc0) == 0x80;)
		len--;
	return len;
}

/* Returns a row with the parsed key, for comparison with other rows; the key's
 * text is copied to ret_key. */
static struct page_row look_at(const char *key, uint64_t id,
                               char ret_key[PAGE_KEY + 1])
{
	size_t len = key_len(key);
	struct page_row row = { .id = id, .key = ret_key };
	char *end;

	memcpy(ret_key, key, len);
	ret_key[len] = '\0';
	row.kind = len ? PAGE_WORD : PAGE_EMPTY;
	/* strtod() would read "inf" and "0x10" as numbers, but they
	 * are words. */
	if (!len || strspn(ret_key, "+-.0123456789") != len)
		return row;
	row.number = strtod(ret_key, &end);
	if (!*end)
		row.kind = PAGE_NUMBER;
	return row;
}

static void row_free(struct page_row *row)
{
	free(row->key);
	free(row->text);
	*row = (struct page_row){ 0 };
}

static int compare_keys(const struct page_row *a, const struct page_row *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == PAGE_NUMBER)
		return a->number < b->number ? -1 : a->number > b->number;
	return strcmp(a->key, b->key);
}

static bool is_before(const struct page *page, const struct page_row *a,
                      const struct page_row *b)
{
	int order;

	if (page->back) {
		const struct page_row *swap = a;

		a = b;
		b = swap;
	}
	order = compare_keys(a, b);
	steps_add(1);
	if (!order)
		return page->down && !page->sort ? a->id > b->id
		                                 : a->id < b->id;
	if (page->down && a->kind != PAGE_EMPTY && b->kind != PAGE_EMPTY)
		return order > 0;
	return order < 0;
}

#define AT(page, i)        (page)->row[i]
#define WORSE(page, a, b)  is_before(page, &(b), &(a))
#define PUT(page, i, item) ((page)->row[i] = (item))
HEAP(kept, struct page_row, struct page *, AT, WORSE, PUT)

/* --- the request ---------------------------------------------------------- */

static int read_cursor(struct page *page, const char *text, struct err *err)
{
	char *end, key[PAGE_KEY + 1];
	uint64_t id;

	errno = 0;
	id = strtoull(text, &end, 10);
	if (end == text || *end != ':' || *text == '-' || errno)
		return err_set(err, EINVAL,
		               "'%.40s' is no place to continue after: give "
		               "'after' of the previous answer",
		               text);
	page->after = look_at(end + 1, id, key);
	page->after.key = xstrdup(key);
	page->begins = true;
	return 0;
}

int page_init(struct page *page, const json_t *body, struct err *err)
{
	const json_t *limit = json_object_get(body, "limit");
	const char *sort = json_string_value(json_object_get(body, "sort"));
	const char *after = json_string_value(json_object_get(body, "after"));

	*page = (struct page){ .limit = UINT64_MAX };
	page->counts = json_is_true(json_object_get(body, "count"));
	page->back = json_is_true(json_object_get(body, "back"));
	page->asked = limit || sort || after || page->counts || page->back;
	if (page->back && !sort)
		return err_set(
		    err, EINVAL,
		    "back reverses a sorted listing: give a sort, too");
	if (sort) {
		page->down = *sort == '-';
		page->sort = sort + page->down;
		page->limit = LIMIT_PAGE;
	}
	if (limit) {
		json_int_t n = json_integer_value(limit);

		if (n < 0 || n > LIMIT_PAGE)
			return err_set(err, EINVAL,
			               "limit must be 0 to %d rows",
			               LIMIT_PAGE);
		page->limit = (uint64_t)n;
	}
	return after ? read_cursor(page, after, err) : 0;
}

void page_fini(struct page *page)
{
	for (size_t i = 0; i < page->nrows; i++)
		row_free(&page->row[i]);
	free(page->row);
	row_free(&page->after);
	row_free(&page->last);
	*page = (struct page){ 0 };
}

/* --- keeping and sorting rows --------------------------------------------- */

static void drop_worst(struct page *page)
{
	struct page_row gone = page->row[0];

	page->bytes -= gone.text ? strlen(gone.text) : 0;
	row_free(&gone);
	page->nrows--;
	if (page->nrows)
		kept_sink(page, page->nrows, 0, page->row[page->nrows]);
}

/* Whether a row belongs to the best `limit` rows of those offered so far. */
static bool is_wanted(struct page *page, const struct page_row *row)
{
	return page->limit && (page->nrows < page->limit ||
	                       is_before(page, row, &page->row[0]));
}

void page_keep(struct page *page, char *text)
{
	struct page_row row = page->last;

	page->last = (struct page_row){ 0 };
	row.text = text;
	page->bytes += text ? strlen(text) : 0;
	if (page->nrows >= page->limit)
		drop_worst(page);
	page->row = GROW(page->row, page->nrows, &page->cap);
	page->nrows++;
	kept_rise(page, page->nrows - 1, row);
	while (page->bytes > PAGE_TEXT && page->nrows > 1) {
		drop_worst(page);
		/* keep at most this many rows from now on */
		page->limit = page->nrows;
	}
	page->unsorted = page->nrows;
}

static bool stream(struct page *page)
{
	if (page->taken >= page->limit)
		return false;
	page->taken++;
	return true;
}

bool page_offer(struct page *page, const char *key, uint64_t id)
{
	char text[PAGE_KEY + 1];
	struct page_row row;

	page->count++;
	if (!page->asked) {
		page->taken++;
		return true;
	}
	row = look_at(key, id, text);
	if (page->begins && !is_before(page, &page->after, &row))
		return false;
	page->beyond++;
	if (page->sort ? !is_wanted(page, &row) : !stream(page))
		return false;
	row_free(&page->last);
	row.key = xstrdup(text);
	page->last = row;
	return true;
}

bool page_is_full(const struct page *page)
{
	return !page->sort && !page->counts && page->beyond > page->limit;
}

bool page_sort(struct page *page, uint64_t until_steps)
{
	while (page->unsorted > 1 && steps_so_far < until_steps) {
		size_t end = --page->unsorted;
		struct page_row worst = page->row[0];

		kept_sink(page, end, 0, page->row[end]);
		page->row[end] = worst;
	}
	return page->unsorted > 1;
}

const struct page_row *page_next(struct page *page)
{
	const struct page_row *row;

	if (page->told == page->nrows)
		return NULL;
	row = &page->row[page->told++];
	page->taken++;
	return row;
}

json_t *page_cursor(const struct page *page)
{
	const struct page_row *last = page->sort && page->nrows
	                                  ? &page->row[page->nrows - 1]
	                                  : &page->last;
	json_t *cursor;

	if (page->beyond <= (page->sort ? page->nrows : page->taken) ||
	    !last->key)
		return json_null();
	cursor =
	    json_sprintf("%llu:%s", (unsigned long long)last->id, last->key);
	return cursor ? cursor : json_null();
}
