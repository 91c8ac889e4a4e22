/*
 * words.h - split a line into words
 */
#ifndef AICTL_WORDS_H
#define AICTL_WORDS_H

#include <stddef.h>

#include "libcommon/err.h"

/*
 * Split a line as a shell does: words are separated by blanks, quoted by '', ""
 * and \, and # at the beginning of a word begins a comment. The caller must
 * call words_free(). Fails with EINVAL for a quote without an end.
 */
struct words {
	char **word; /* NULL-terminated */
	size_t n, cap;
};
int words_split(struct words *ret, const char *line, struct err *err);
void words_free(struct words *words);

#endif
