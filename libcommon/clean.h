/*
 * clean.h - make foreign text safe for a terminal
 */
#ifndef LIBCOMMON_CLEAN_H
#define LIBCOMMON_CLEAN_H

#include <stddef.h>

/*
 * Replace by '?' whatever a terminal might obey or show in the wrong place:
 * control characters (U+0000 to U+001F, U+007F to U+009F), those that change
 * the direction of text or end a line, and bytes that are not UTF-8. Returns
 * the new length, which is not greater; adds no zero byte.
 */
size_t text_clean(char *s, size_t len);

#endif
