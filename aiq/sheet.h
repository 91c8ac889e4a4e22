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
	SHEET_LIST /* a list of texts */
};

struct sheet_column {
	const char *name, *header;
	enum sheet_show show;
	int places; /* decimal places of numbers in CSV */
};

/* Returns the next word of a list with commas, sets *ret_len to its length,
 * which is 0 at the end, and moves *list behind it. */
const char *sheet_word(const char **list, size_t *ret_len);

/*
 * Copy to ret those of the n columns that a list with commas names, at most
 * `most` of them. Returns their number. Fails with EINVAL; the text says that
 * `what` has no such column.
 */
int sheet_choose(const struct sheet_column *column, size_t n, const char *list,
                 const char *what, struct sheet_column *ret, size_t most,
                 struct err *err);

/* Sort the rows by a column, in descending order if '-' precedes its name; null
 * values come last. Returns a new array of the first `top` rows, or of all if
 * top is -1. */
json_t *sheet_arrange(const json_t *rows, const char *sort, int64_t top);

/* Append a text as a CSV value (RFC 4180), such that a spreadsheet does not
 * take it for a formula. */
void sheet_put_text(struct buf *out, const char *s);

/* Print rows as CSV to stdout, with texts as by sheet_put_text(). */
void sheet_csv(const struct sheet_column *column, size_t n, const json_t *rows,
               bool header);

/* Print rows as a table. total is a last row, in which text columns are empty;
 * NULL: there is none. */
void sheet_table(const struct sheet_column *column, size_t n,
                 const json_t *rows, const json_t *total, bool header);

#endif
