/*
 * words.h - the words of a line
 */
#ifndef AICTL_WORDS_H
#define AICTL_WORDS_H

#include <stddef.h>

#include "libcommon/err.h"

/*
 * Split a line as a shell does: blanks, '', "", \, and # for a comment at the
 * beginning of a word. Owns: the caller, words_free(). Fails with EINVAL for a
 * quote without end.
 */
struct words {
	char **word; /* NULL-terminated */
	size_t n, cap;
};
int words_split(struct words *ret, const char *line, struct err *err);
void words_free(struct words *words);

#endif
