/*
 * table.h - print columns
 *
 * Rows are collected, then printed with each column as wide as its widest
 * value. On a terminal the last column is cut with an ellipsis at the edge;
 * into a pipe nothing is ever cut. 100,000 rows of eight columns take tens
 * of milliseconds.
 */
#ifndef LIBCOMMON_CLIENT_TABLE_H
#define LIBCOMMON_CLIENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct buf;
struct table;

/* Make an empty table. right[i]: align column i to the right, as for numbers.
 * The headers must be valid until table_free(). */
struct table *table_new(size_t ncols, const char *const *header,
                        const bool *right);

/* Add lines of values separated by tabs, as listings have them: in a value, \t,
 * \n and \\ stand for a tab, a newline and a backslash. Control characters
 * become '?'. data may end anywhere, even within a value; the next call
 * continues there. */
void table_add_tsv(struct table *table, const char *data, size_t len);

/* Show the values of a column in colours: fn returns the escape sequence of a
 * value, at most 8 bytes, or NULL for none. */
typedef const char *table_colour_fn(const char *value, size_t len);
void table_colour(struct table *table, size_t column, table_colour_fn *fn);

size_t table_rows(const struct table *table);

/* Print all rows, and the headers if header is true. Lines are cut to width
 * columns, unless that is 0. */
void table_print(const struct table *table, FILE *out, bool header, int width);
void table_free(struct table *table);

/* Print lines of values separated by tabs, with headers, on stdout, and free
 * the text. */
void table_show(size_t ncols, const char *const *header, const bool *right,
                struct buf *tsv);

/* Returns the width of the terminal if stdout is one, else 0. */
int terminal_width(void);

#endif
