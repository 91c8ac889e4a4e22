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

/* Names in the order written; owns: the caller, hostlist_free(). */
struct hostlist {
	char **name;
	size_t n, cap;
};

/* Fails with EINVAL and the place, or with ERANGE over LIMIT_HOSTS. */
int hostlist_parse(struct hostlist *ret, const char *s, struct err *err);
void hostlist_free(struct hostlist *list);

/* Append the shortest usual form: sorted, numbers gathered, no duplicates. */
void hostlist_format(const char *const *name, size_t n, struct buf *out);

#endif
