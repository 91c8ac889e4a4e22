/*
 * export.h - which variables of the submitter a job gets
 */
#ifndef LIBCOMMON_EXPORT_H
#define LIBCOMMON_EXPORT_H

#include "libcommon/buf.h"
#include "libcommon/err.h"

/*
 * Append NAME=VALUE, each with its zero byte. list is that of --export: ALL,
 * NONE, NAME, NAME=VALUE, several of them between commas; values with commas
 * are quoted, '' or "". NULL is ALL. Fails with EINVAL for a bad name or a
 * quote without end, with E2BIG over LIMIT_ENV.
 */
int export_env(struct buf *ret, const char *list, char *const *env,
               struct err *err);

#endif
