/*
 * conf_read.h - read a configuration file and its includes as a tree
 *
 * The tree is that of libconfuse. Its values are of type struct conf_value,
 * which has their place in the file. The options of a section are in the order
 * of its table of keys. Only one thread may read at a time, because
 * libconfuse's scanner has global state.
 */
#ifndef LIBCOMMON_CONF_CONF_READ_H
#define LIBCOMMON_CONF_CONF_READ_H

#include <confuse.h>
#include <stdbool.h>

#include "libcommon/conf/conf_keys.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"

/* A value as written, and its place for error messages. */
struct conf_value {
	const char *file;
	int line;
	const char *text;
};

/*
 * Read text, which errors call `file`; if text is NULL, read the file at that
 * path. The caller frees the tree with cfg_free(); its strings are in the
 * arena. Fails with EINVAL, and a text like `file:line: what`, or with an errno
 * value of open(2).
 */
cfg_t *conf_read(const char *file, const char *text, struct arena *arena,
                 struct err *err);

/* Returns where the section begins. */
const struct conf_value *conf_place(cfg_t *section);

/* Returns the option of key i of the section's table; cfg_opt_size() is its
 * number of values. */
cfg_opt_t *conf_option(cfg_t *section, size_t i);
const struct conf_value *conf_value(cfg_opt_t *opt, unsigned i);

/* Whether the option is given, even as an empty list. */
bool conf_is_given(const cfg_opt_t *opt);

/* Get entry i of a section whose keys are any names; returns false if there are
 * not this many. */
bool conf_entry(cfg_t *section, size_t i, const char **ret_name,
                const char **ret_text);

#endif
