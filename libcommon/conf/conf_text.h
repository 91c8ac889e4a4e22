/*
 * conf_text.h - make the text of a configuration safe for libconfuse
 *
 * libconfuse 3.3 miscounts lines after comments, refuses comments inside lists,
 * drops unexpected characters, takes the end of the file for any missing brace,
 * reads "a|b" as a path into another section, and leaks or stays inside of a
 * malformed string. Text that it would get wrong is refused here with the right
 * line, and comments become blanks.
 */
#ifndef LIBCOMMON_CONF_CONF_TEXT_H
#define LIBCOMMON_CONF_CONF_TEXT_H

#include <stddef.h>

#include "libcommon/err.h"

/*
 * text[len] must be 0; comments are overwritten. Fails with EINVAL, `file:line:
 * what`.
 */
int conf_text_clean(char *text, size_t len, const char *file, struct err *err);

#endif
