/*
 * sheet.h - rows of JSON objects as a table or CSV
 */
#ifndef AIQ_SHEET_H
#define AIQ_SHEET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

enum sheet_show {
	SHEET_TEXT,
	SHEET_COUNT,
	SHEET_HOURS,
	SHEET_RATIO, /* 0 to 1; in a table "61 %" */
	SHEET_MONEY,
	SHEET_SECONDS,
	SHEET_LIST /* of texts */
};

struct sheet_column {
	const char *name, *header;
	enum sheet_show show;
	int places; /* of numbers in CSV */
};

/* Returns the next word of a list with commas and its length, 0 at the end;
 * *list is then behind it. */
const char *sheet_word(const char **list, size_t *ret_len);

/*
 * Choose from n columns those that a list with commas names; ret has room for
 * `most`. Returns how many. Fails with EINVAL; the error calls a column `what`.
 */
int sheet_choose(const struct sheet_column *column, size_t n, const char *list,
                 const char *what, struct sheet_column *ret, size_t most,
                 struct err *err);

/* Sort the rows by a column, descending if '-' precedes it; unknown values come
 * last. Returns a new array of the first `top` rows; -1: all. */
json_t *sheet_arrange(const json_t *rows, const char *sort, int64_t top);

/* Append a text for CSV (RFC 4180); one that a spreadsheet would take for a
 * formula is made a text. */
void sheet_put_text(struct buf *out, const char *s);

/* RFC 4180; a text that a spreadsheet would take for a formula is made a text.
 */
void sheet_csv(const struct sheet_column *column, size_t n, const json_t *rows,
               bool header);

/* total: a last row, in which text columns are empty, or NULL. */
void sheet_table(const struct sheet_column *column, size_t n,
                 const json_t *rows, const json_t *total, bool header);

#endif
