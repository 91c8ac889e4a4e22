/*
 * directive.h - #AISUB and #SBATCH lines of a script
 */
#ifndef LIBCOMMON_DIRECTIVE_H
#define LIBCOMMON_DIRECTIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "libcommon/err.h"

struct directive {
	int line;           /* from 1 */
	bool slurm;         /* #SBATCH */
	const char *name;   /* long name, or one letter */
	const char *value;  /* NULL: none was given */
};

/* Return -1 with *err to stop. */
typedef int directive_fn(const struct directive *d, void *arg,
                         struct err *err);

/*
 * Call fn for each option on directive lines before the first command.  A
 * line may hold several options; values may be quoted ('', "", \) and are
 * joined or follow as on a command line: takes_value says which options
 * have one.  Text after " #" is a comment.  A directive-like line after the
 * first command goes to late (may be NULL): a warning.
 * Fails: EINVAL, `name:line: ...` (a token that is no option, a quote
 * without end), or what fn said, with that prefix.
 */
int directive_scan(const char *script, size_t len, const char *name,
                   bool (*takes_value)(const char *option, bool slurm,
                                       void *arg),
                   directive_fn *fn, void (*late)(int line, void *arg),
                   void *arg, struct err *err);

#endif
