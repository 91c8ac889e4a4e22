/*
 * opt.h - parse command lines by a table
 *
 * Each program has one table, from which come its parser, its --help, the shell
 * completion and a test of its man page. Every program has --help and
 * --version, which are not in the tables. Long options may be abbreviated if
 * that is unambiguous; values may be joined (--opt=v, -ov) or follow.
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
	const char *arg;  /* placeholder of the value; NULL: it has none */
	const char *help; /* one line; NULL: an alias, not shown */
	/* Called with the value, NULL if there is none, and the ctx of
	 * opt_parse(). Error texts are prefixed with "--name: ". */
	opt_set_fn *set;
	size_t offset; /* for set functions that use it */
	bool optional; /* the value may be left out; if given, it must be
	                  joined, --opt=v or -ov */
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
	bool stop_at_operand; /* what follows the first operand is no option
	                         (aisub) */
};

/* Simple set functions; offset is that of the member in *ctx. */
opt_set_fn opt_set_text; /* const char * */
opt_set_fn opt_set_true; /* bool */

/*
 * Parse a command line: call the set function of each option, move the operands
 * to the end of argv and return the index of the first. For --help and
 * --version, print and exit with 0; for a bad option, print the error and "Try
 * 'NAME --help'." and exit with EXIT_USAGE.
 */
int opt_parse(const struct opt_prog *prog, void *ctx, int argc, char **argv);

/* Set one option, given by its full name or letter: for directives and
 * environment variables. Fails with ENOENT if there is no such option,
 * otherwise like its set function. */
int opt_apply(const struct opt *opts, void *ctx, const char *name,
              const char *value, struct err *err);

/* Append each option with its help text, as --help prints them. */
void opt_describe(const struct opt *opts, struct buf *out);

/* Find an option by its long name or, if name is one character, its letter.
 * Returns NULL if there is none. */
const struct opt *opt_find(const struct opt *opts, const char *name);

#endif
