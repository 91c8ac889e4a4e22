/*
 * hostlist.h - expand and format "n[000-127],login,r[1-2]n[1-8]"
 *
 * Zero padding is kept; several brackets in one name are allowed.
 */
#ifndef LIBCOMMON_HOSTLIST_H
#define LIBCOMMON_HOSTLIST_H

#include <stddef.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

/* Names in the order in which they were written. */
struct hostlist {
	char **name;
	size_t n, cap;
};

/* Parse and expand a list; the caller must hostlist_free(ret). Fails with
 * EINVAL, and the position in the text, or with ERANGE if there are more than
 * LIMIT_HOSTS names. */
int hostlist_parse(struct hostlist *ret, const char *s, struct err *err);
void hostlist_free(struct hostlist *list);

/* Append the list in its short form: sorted, without duplicates, with ranges in
 * brackets for names that differ only in the number at their end. */
void hostlist_format(const char *const *name, size_t n, struct buf *out);

#endif
