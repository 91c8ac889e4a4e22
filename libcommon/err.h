/*
 * err.h - how functions say why they failed
 *
 * A function that can fail takes a trailing `struct err *err` and returns 0
 * or -1 (or a pointer or NULL).  On failure *err says why; on success it is
 * not touched.  err may be NULL when the caller does not care.
 */
#ifndef LIBCOMMON_ERR_H
#define LIBCOMMON_ERR_H

#include <errno.h>

#define EXIT_USAGE 2 /* every tool: 0 done, 1 refused or failed, 2 usage */

struct err {
	int code;       /* an errno value; travels over the wire */
	char text[400]; /* one line for a person, no newline */
};

/* Set *err and return -1, so that `return err_set(...)` reads as one step. */
int err_set(struct err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* As err_set() with code errno and ": strerror(errno)" appended. */
int err_sys(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));

/* Put "context: " before the text of an error already set; returns -1. */
int err_wrap(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));

#endif
