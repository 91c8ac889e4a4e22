/*
 * export.h - which variables of the submitter a job gets
 */
#ifndef LIBCOMMON_EXPORT_H
#define LIBCOMMON_EXPORT_H

#include "libcommon/buf.h"
#include "libcommon/err.h"

/*
 * list as --export takes it: ALL, NONE, NAME, NAME=VALUE and several of them
 * between commas; values with commas are quoted, '' or "".  NULL is ALL.
 * Appends NAME=VALUE, each with its zero byte.
 * Fails: EINVAL (a name that is none, a quote without end), E2BIG over
 * LIMIT_ENV.
 */
int export_env(struct buf *ret, const char *list, char *const *env,
               struct err *err);

#endif
