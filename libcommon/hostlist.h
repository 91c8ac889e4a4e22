/*
 * hostlist.h - "n[000-127],login,r[1-2]n[1-8]" and back
 *
 * Zero padding is kept; several brackets in one name are allowed.
 */
#ifndef LIBCOMMON_HOSTLIST_H
#define LIBCOMMON_HOSTLIST_H

#include <stddef.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

/* Names in the order written; owned by the caller: hostlist_free(). */
struct hostlist {
	char **name;
	size_t n, cap;
};

/* Fails with EINVAL (the text says where), with ERANGE over LIMIT_HOSTS. */
int hostlist_parse(struct hostlist *ret, const char *s, struct err *err);
void hostlist_free(struct hostlist *list);

/* The shortest usual form: sorted by name, numbers gathered, once each. */
void hostlist_format(const char *const *name, size_t n, struct buf *out);

#endif
