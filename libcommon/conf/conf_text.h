/*
 * conf_text.h - make the text of a configuration safe for libconfuse
 *
 * libconfuse 3.3 miscounts lines after comments, refuses comments inside
 * lists, drops unexpected characters, and accepts the end of the file instead
 * of missing braces. It reads "a|b" as a path into another section. After a
 * malformed string it leaks memory, or goes on as if inside the string. This
 * code refuses, with the right line, text that libconfuse would read wrongly,
 * and replaces comments by blanks.
 */
#ifndef LIBCOMMON_CONF_CONF_TEXT_H
#define LIBCOMMON_CONF_CONF_TEXT_H

#include <stddef.h>

#include "libcommon/err.h"

/*
 * Check a text and overwrite its comments with blanks. text[len] must be 0.
 * Fails with EINVAL, and a text like `file:line: what`.
 */
int conf_text_clean(char *text, size_t len, const char *file, struct err *err);

#endif
