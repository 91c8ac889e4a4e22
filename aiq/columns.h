/*
 * columns.h - the kinds of listings, and the columns that -o names
 */
#ifndef AIQ_COLUMNS_H
#define AIQ_COLUMNS_H

#include "aiq/aiq.h"

/*
 * Parse the argument of -o: "name,state,+limit", or a template like those of
 * squeue; NULL means the default columns of the view. Fails with EINVAL and an
 * error text that names the unknown column.
 */
int format_parse(struct format *ret, const struct view *view, const char *text,
                 struct err *err);
void format_free(struct format *format);

/* Returns a list of the fields to request, in the order in which the daemon
 * then sends their values. */
json_t *format_fields(const struct format *format, bool json);

/* Returns the argument of --sort, "column" or "-column", with the column's
 * field in place of its name; the caller frees it. Returns NULL, with EINVAL,
 * if there is no such column. */
char *format_sort(const struct view *view, const char *text, struct err *err);

#endif
