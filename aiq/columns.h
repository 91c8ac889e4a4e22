/*
 * columns.h - what can be listed, and the columns that -o names
 */
#ifndef AIQ_COLUMNS_H
#define AIQ_COLUMNS_H

#include "aiq/aiq.h"

/*
 * Parse "name,state,+limit" or squeue's template; NULL is the view's standard.
 * Fails with EINVAL, naming the unknown column and all known ones.
 */
int format_parse(struct format *ret, const struct view *view, const char *text,
                 struct err *err);
void format_free(struct format *format);

/* The fields to ask the daemon for, in the order of its values. */
json_t *format_fields(const struct format *format, bool json);

/* Returns the field that "column" or "-column" sorts by; owns: the caller. NULL
 * fails with EINVAL. */
char *format_sort(const struct view *view, const char *text, struct err *err);

#endif
