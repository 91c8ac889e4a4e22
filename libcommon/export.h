/*
 * export.h - which variables of the submitter a job gets
 */
#ifndef LIBCOMMON_EXPORT_H
#define LIBCOMMON_EXPORT_H

#include "libcommon/buf.h"
#include "libcommon/err.h"

/*
 * Append the variables, as NAME=VALUE with a zero byte each, that the argument
 * of --export selects from env. list has items ALL, NONE, NAME (with its value
 * in env) or NAME=VALUE between commas; values with commas are quoted, '' or
 * "". NULL means ALL. Fails with EINVAL for a bad name or a quote without an
 * end, with E2BIG if there are more than LIMIT_ENV bytes.
 */
int export_env(struct buf *ret, const char *list, char *const *env,
               struct err *err);

#endif
