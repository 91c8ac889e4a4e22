/*
 * page.h - the page of a listing that a request asks for: sort, after,
 * limit, count
 *
 * Rows that match the filters are offered one by one, each with its key and its
 * id. Without a sort they are offered in the order of the listing, and the page
 * takes the first `limit` of them after the cursor. With a sort the page keeps
 * the best `limit` rows in a heap; after all were offered, it sorts these in
 * pieces. A page costs a look at each job, but memory for its own rows only.
 *
 * Keys are texts as listings show them. Numbers are compared as numbers and
 * come before other texts; empty keys come last in both directions; rows with
 * equal keys are ordered by id. Only the first PAGE_KEY bytes of a text are
 * compared. A cursor is "ID:KEY" of the last row of a page: the next page
 * begins behind that place, even if that row no longer exists. With `back` a
 * page has the rows before that place, the nearest first.
 */
#ifndef AISCHEDD_READ_PAGE_H
#define AISCHEDD_READ_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

enum {
	PAGE_KEY = 64,      /* most bytes of a key that are compared */
	PAGE_TEXT = 8 << 20 /* most bytes of rows kept until they are sorted */
};

enum page_kind { PAGE_NUMBER, PAGE_WORD, PAGE_EMPTY };

/* A row of the page, or a cursor. */
struct page_row {
	uint64_t id;
	enum page_kind kind;
	double number;
	char *key; /* at most PAGE_KEY bytes */
	/* text of the row; NULL: it is made when the row is sent */
	char *text;
};

struct page {
	/* the request has one of the page's fields */
	bool asked;
	/* counts: the request wants the number of rows; down: descending;
	 * begins: the request has a cursor */
	bool counts, down, begins;
	bool back; /* reverse the order, empty keys included */
	/* field to sort by, borrowed from the request; NULL: the
	 * listing's order */
	const char *sort;
	/* most rows of the page; UINT64_MAX: no limit */
	uint64_t limit;
	struct page_row after;

	uint64_t count;  /* rows that match */
	uint64_t beyond; /* rows that match and are behind the cursor */
	uint64_t taken;  /* rows of the page so far */
	/* without a sort: the last row that the page took; with one: the row
	 * that the next page_keep() adds */
	struct page_row last;
	/* with a sort: a heap with the worst row on top, later sorted */
	struct page_row *row;
	size_t nrows, cap, bytes;
	size_t unsorted, told;
};

/* Read the fields sort, after, back, limit and count of a request. Fails
 * with EINVAL. */
int page_init(struct page *page, const json_t *body, struct err *err);
void page_fini(struct page *page);

/*
 * Offer a row that matches the filters; returns whether the page takes it. The
 * caller then writes the row at once if the page has no sort. If the page has a
 * sort, the caller passes the row's text to page_keep(), or NULL if the text
 * can be made later.
 */
bool page_offer(struct page *page, const char *key, uint64_t id);
void page_keep(struct page *page, char *text);

/* Whether the page and its count are complete, so that no further rows need
 * be offered. */
bool page_is_full(const struct page *page);

/* Sort some of the rows kept; returns whether there is more to sort. */
bool page_sort(struct page *page, uint64_t until_steps);
/* Returns the next row of a sorted page, or NULL after the last one. */
const struct page_row *page_next(struct page *page);

/* Returns the cursor for the next page as a text, or null if this is
 * the last. */
json_t *page_cursor(const struct page *page);

#endif
