/*
 * clean.h - make text from users and other programs safe for a terminal
 */
#ifndef LIBCOMMON_CLEAN_H
#define LIBCOMMON_CLEAN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Replace by '?' everything that a terminal might execute or show in another
 * place: control characters (U+0000 to U+001F, U+007F to U+009F), characters
 * that change the direction of text or end a line, and bytes that are not
 * UTF-8. Returns the new length, which is at most len; adds no zero byte.
 */
size_t text_clean(char *s, size_t len);

/* Returns the character with which s begins if text_clean() would replace it
 * and JSON does not escape it, being U+007F or above, and sets *len to its
 * bytes; else returns 0. */
uint32_t text_hidden(const char *s, size_t *len);

/* Returns the number of bytes of the control character with which s begins, or
 * 0 if s begins with another character, or is empty. */
size_t text_control(const char *s);

#endif
