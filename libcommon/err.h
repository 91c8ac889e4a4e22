/*
 * err.h - why a function failed
 *
 * A function that can fail takes a trailing `struct err *err` and returns 0 or
 * -1 (or a pointer or NULL). On failure *err says why; on success it is not
 * touched. err may be NULL if the caller does not care.
 */
#ifndef LIBCOMMON_ERR_H
#define LIBCOMMON_ERR_H

#include <errno.h>

/* Exit status of every tool for wrong usage; 0: done, 1: refused or failed. */
#define EXIT_USAGE 2

struct err {
	int code;       /* an errno value; travels over the wire */
	char text[400]; /* one line for people, no newline */
};

/* Set *err; returns -1, for `return err_set(...)`. */
int err_set(struct err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Like err_set() with code errno and ": strerror(errno)" appended. */
int err_sys(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));

/* Prefix the text of an error with "context: "; returns -1. */
int err_wrap(struct err *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), cold));

#endif
