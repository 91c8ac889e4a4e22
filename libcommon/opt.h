/*
 * opt.h - parse command lines by a table
 *
 * One table for each program gives the parser, --help, the completion and the
 * man-page check. --help and --version are in every program and not in the
 * tables. Long options may be abbreviated if that is unambiguous; values may be
 * joined (--opt=v, -ov) or follow.
 */
#ifndef LIBCOMMON_OPT_H
#define LIBCOMMON_OPT_H

#include <stdbool.h>
#include <stddef.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

struct opt;

typedef int opt_set_fn(void *ctx, const struct opt *opt, const char *value,
                       struct err *err);

struct opt {
	char letter;      /* 0: none */
	const char *name; /* long name, without dashes */
	const char *arg;  /* placeholder of the value; NULL: takes none */
	const char *help; /* one line; NULL: an alias, not shown */
	/* Takes the value (NULL for options without). Its error text is
	 * prefixed with "--name: ". ctx is that of opt_parse(). */
	opt_set_fn *set;
	size_t offset; /* for set functions that use one */
	bool optional; /* the value may be missing; only --opt=v or -ov */
};

#define OPT_END   \
	{         \
		0 \
	}

struct opt_prog {
	const char *name;  /* "aiq" */
	const char *usage; /* "[OPTION]... [JOB]..." */
	const char *about; /* one or two lines for --help */
	const struct opt *opts;
	bool stop_at_operand; /* options end at the first operand (aisub) */
};

/* Simple set functions; offset: of the member in *ctx. */
opt_set_fn opt_set_text; /* const char * */
opt_set_fn opt_set_true; /* bool */

/*
 * Parse; moves operands to the end and returns the index of the first. --help
 * and --version print and exit 0; a bad option prints one line and "Try 'NAME
 * --help'." and exits with EXIT_USAGE.
 */
int opt_parse(const struct opt_prog *prog, void *ctx, int argc, char **argv);

/* Apply one option by its full name or letter, for directives and variables.
 * Fails with ENOENT if there is no such option, else with EINVAL. */
int opt_apply(const struct opt *opts, void *ctx, const char *name,
              const char *value, struct err *err);

/* Append each option with its help, as for --help. */
void opt_describe(const struct opt *opts, struct buf *out);

/* Find by long name or, for one character, letter; returns NULL if there is
 * none. */
const struct opt *opt_find(const struct opt *opts, const char *name);

#endif
