/*
 * conf_build.h - build struct conf from the tree of a file
 *
 * conf.c builds the top level, classes, pools and licences; nodes and queues
 * have files of their own. Each step fails with `file:line: what`.
 */
#ifndef LIBCOMMON_CONF_CONF_BUILD_H
#define LIBCOMMON_CONF_CONF_BUILD_H

#include "libcommon/conf/conf_read.h"

struct conf_build {
	struct conf *conf;
	cfg_t *top;
	struct buf *warnings; /* NULL: not wanted */
	struct err *err;
};

/* Report an error at this place; returns -1. */
int build_fail(struct conf_build *b, const struct conf_value *at,
               const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void build_warn(struct conf_build *b, const struct conf_value *at,
                const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Count the sections of this name, and get each. */
size_t build_count(struct conf_build *b, const char *name);
cfg_t *build_section(struct conf_build *b, const char *name, size_t i);

/*
 * Set the members of base that have keys: all to their defaults; or those in
 * the section. what: name of the section ("queue"; NULL: the top).
 */
void build_defaults(struct conf_build *b, const char *what, void *base);
int build_keys(struct conf_build *b, const char *what, cfg_t *section,
               void *base);

/* Returns a section's title as a name, NULL if it is invalid. The arena owns
 * it. */
const char *build_name(struct conf_build *b, const char *what, cfg_t *section);

/* Returns where the key is set, else where the section begins. */
const struct conf_value *build_place(cfg_t *section, const char *key);

int build_nodes(struct conf_build *b);
int build_queues(struct conf_build *b);

#endif
