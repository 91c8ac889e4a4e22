/*
 * conf_read.h - read a configuration file and its includes as a tree
 *
 * The tree is libconfuse's; its values are struct conf_value, which know their
 * place. The options of a section are in the order of its table of keys.
 * libconfuse's scanner is global: only one thread may read at a time.
 */
#ifndef LIBCOMMON_CONF_CONF_READ_H
#define LIBCOMMON_CONF_CONF_READ_H

#include <confuse.h>
#include <stdbool.h>

#include "libcommon/conf/conf_keys.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

/* A value as written, and its place for errors. */
struct conf_value {
	const char *file;
	int line;
	const char *text;
};

/*
 * Read the text, called `file` in errors; if text is NULL, read the file of
 * that path. The caller frees the tree with cfg_free(); strings are in the
 * arena. Fails with EINVAL, `file:line: what`, or with an errno of open.
 */
cfg_t *conf_read(const char *file, const char *text, struct arena *arena,
                 struct err *err);

/* Returns where the section begins. */
const struct conf_value *conf_place(cfg_t *section);

/* Returns option i of the table; cfg_opt_size() says how many values it has. */
cfg_opt_t *conf_option(cfg_t *section, size_t i);
const struct conf_value *conf_value(cfg_opt_t *opt, unsigned i);

/* Whether the option is given, even as an empty list. */
bool conf_is_given(const cfg_opt_t *opt);

/* Get entry i of a section with free keys; returns false after the last. */
bool conf_entry(cfg_t *section, size_t i, const char **ret_name,
                const char **ret_text);

#endif
