/*
 * directive.h - read #AISUB and #SBATCH lines of a script
 */
#ifndef LIBCOMMON_DIRECTIVE_H
#define LIBCOMMON_DIRECTIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "libcommon/err.h"

struct directive {
	int line;           /* from 1 */
	bool slurm;         /* #SBATCH */
	const char *option; /* with dashes: "--time", "-t" */
	const char *value;  /* NULL: not given */
};

/* Whether an option has a value. DIRECTIVE_UNKNOWN takes the next word for its
 * value, unless that begins with '-'. */
enum directive_takes {
	DIRECTIVE_UNKNOWN,
	DIRECTIVE_FLAG,
	DIRECTIVE_VALUE,
	DIRECTIVE_OPTIONAL /* has a value only if joined: --opt=v, -ov */
};

struct directive_handler {
	enum directive_takes (*takes)(const char *option, bool slurm,
	                              void *arg);
	/* Called for each option, in order; the strings of d are valid only
	 * during the call. Returns -1 and sets *err to stop. */
	int (*option)(const struct directive *d, void *arg, struct err *err);
	/* Called for a word that is no option; if NULL, such a word is an
	 * error. Returns -1 and sets *err to stop. */
	int (*word)(const char *word, bool slurm, void *arg, struct err *err);
	/* Called once if there is a directive line behind the first command,
	 * with the number of that line. */
	void (*late)(int line, void *arg);
	void *arg;
};

/*
 * Read the options on directive lines before the first command. A line may have
 * several options. Values may be quoted ('', "", \), and are joined to the
 * option or follow it, as on a command line. Text after " #" is a comment.
 * Fails with EINVAL, `name:line: ...` (a word that is not an option, a missing
 * value or quote), or with the handler's error and that prefix.
 */
int directive_scan(const char *script, size_t len, const char *name,
                   const struct directive_handler *handler, struct err *err);

#endif
