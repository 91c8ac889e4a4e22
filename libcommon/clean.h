/*
 * clean.h - make text from users and other programs safe for a terminal
 */
#ifndef LIBCOMMON_CLEAN_H
#define LIBCOMMON_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Replace by '?' everything that a terminal might execute or show in another
 * place: control characters (U+0000 to U+001F, U+007F to U+009F), characters
 * that change the direction of text or end a line, and bytes that are not
 * UTF-8. Returns the new length, which is at most len; adds no zero byte.
 */
size_t text_clean(char *s, size_t len);

/* Whether text_clean() replaces this character. */
bool text_is_hidden(uint32_t c);

enum { TEXT_CHAR_MAX = 4 }; /* bytes of the longest character */

/* Decode the character with which a text begins. len: at least 1; the text may
 * end before, with a zero byte. Returns the character's bytes, or 0 if it is
 * not UTF-8. Surrogates, which UTF-8 excludes, are decoded; they are hidden. */
size_t text_char(const char *text, size_t len, uint32_t *ret);

/* Returns the number of bytes of the control character with which s begins, or
 * 0 if s begins with another character, or is empty. */
size_t text_control(const char *s);

#endif
