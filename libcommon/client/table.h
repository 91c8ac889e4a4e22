/*
 * table.h - print columns
 *
 * Rows are collected, then printed with each column as wide as its widest
 * value. On a terminal the last column is cut with an ellipsis at the edge;
 * into a pipe nothing is ever cut. Fast: 100,000 rows of eight columns take
 * tens of milliseconds.
 */
#ifndef LIBCOMMON_CLIENT_TABLE_H
#define LIBCOMMON_CLIENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct buf;
struct table;

/* headers are borrowed until table_free(); right: numbers, aligned right. */
struct table *table_new(size_t ncols, const char *const *header,
                        const bool *right);

/* Add lines of values between tabs, as in listings; tabs, newlines and
 * backslashes in values come as \t \n \\. What a terminal would obey is shown
 * as '?'. data may end anywhere; the rest comes with the next call. */
void table_add_tsv(struct table *table, const char *data, size_t len);

/* Show the values of a column in colours: fn returns the escape sequence before
 * a value, at most 8 bytes, or NULL. */
typedef const char *table_colour_fn(const char *value, size_t len);
void table_colour(struct table *table, size_t column, table_colour_fn *fn);

size_t table_rows(const struct table *table);

/* width: of the terminal, 0: never cut. */
void table_print(const struct table *table, FILE *out, bool header, int width);
void table_free(struct table *table);

/* Print lines of values between tabs, with their header, on stdout. Takes the
 * text. */
void table_show(size_t ncols, const char *const *header, const bool *right,
                struct buf *tsv);

/* Returns the width of stdout's terminal, 0 if it is none. */
int terminal_width(void);

#endif
