/* err.c - why a function failed */
#include "libcommon/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libcommon/clean.h"

/* Texts quote user input: a newline in it must not begin another line. */
static void one_line(char *s)
{
	s[text_clean(s, strlen(s))] = '\0';
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	one_line(err->text);
	return -1;
}

int err_sys(struct err *err, const char *fmt, ...)
{
	int code = errno;
	size_t len;
	va_list ap;

	if (!err)
		return -1;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %s",
	         strerror(code));
	one_line(err->text);
	return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char was[sizeof(err->text)];
	size_t len;
	va_list ap;

	if (!err)
		return -1;
	memcpy(was, err->text, sizeof(was));
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %.*s",
	         (int)sizeof(was) - 1, was);
	one_line(err->text);
	return -1;
}
