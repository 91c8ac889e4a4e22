/*
 * page.h - the part of a listing that a request wants: sort, after, limit,
 * count
 *
 * Rows that fit are offered one by one, each with its key and its id. Without a
 * sort they are offered in the order of the listing, and the page takes the
 * first `limit` of them after the cursor. With one it keeps the best `limit` of
 * all in a heap; when all were offered it sorts them in pieces. So a page costs
 * a look at each job, and memory for its own rows only.
 *
 * Keys are texts as listings show them: numbers are compared as numbers and
 * come before other texts, whatever is empty comes last in both directions;
 * equal keys go by id. Texts count with their first PAGE_KEY bytes. A cursor is
 * "ID:KEY" of the last row of a page: the next page begins behind that place,
 * even if the row itself is gone by then. With `back` a page has the rows
 * before that place, the nearest first.
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
	PAGE_KEY = 64,      /* bytes of a key */
	PAGE_TEXT = 8 << 20 /* bytes of rows kept until they are sorted */
};

enum page_kind { PAGE_NUMBER, PAGE_WORD, PAGE_EMPTY };

/* A row that the page has. */
struct page_row {
	uint64_t id;
	enum page_kind kind;
	double number;
	char *key;  /* at most PAGE_KEY bytes */
	char *text; /* the row itself, or NULL: it is written later */
};

struct page {
	bool asked;                /* the request has one of the fields */
	bool counts, down, begins; /* begins: there is a cursor */
	bool back;                 /* the exact reverse of the order */
	const char *sort; /* field, borrowed from the request; NULL: none */
	uint64_t limit;   /* UINT64_MAX: none */
	struct page_row after;

	uint64_t count;       /* rows that fit */
	uint64_t beyond;      /* rows that fit, behind the cursor */
	uint64_t taken;       /* rows of the page so far */
	struct page_row last; /* the last row taken; with a sort, the last one
	                         wanted */
	struct page_row *row; /* a heap, the worst on top; then sorted */
	size_t nrows, cap, bytes;
	size_t unsorted, told;
};

/* Read the fields sort, after, back, limit and count. Fails with EINVAL. */
int page_init(struct page *page, const json_t *body, struct err *err);
void page_fini(struct page *page);

/*
 * Offer a row that fits; returns whether the page takes it. If so, and the page
 * has no sort, the row is written at once. A page with a sort gets it by
 * page_keep(): its text, or NULL if it can be written later.
 */
bool page_offer(struct page *page, const char *key, uint64_t id);
void page_keep(struct page *page, char *text);

/* Whether the rest of the listing can change neither page nor count. */
bool page_is_full(const struct page *page);

/* Sort a piece of what is kept; returns whether there is more to do. */
bool page_sort(struct page *page, uint64_t until_steps);
/* Returns the next row of a page that is sorted, or NULL after the last. */
const struct page_row *page_next(struct page *page);

/* Returns the cursor of the next page: a text, or null if this is the last. */
json_t *page_cursor(const struct page *page);

#endif
