/*
 * conf_build.h - from the tree of a file to struct conf
 *
 * conf.c does the top level, classes, pools and licences; nodes and queues
 * have files of their own.  Each step fails with `file:line: what`.
 */
#ifndef LIBCOMMON_CONF_CONF_BUILD_H
#define LIBCOMMON_CONF_CONF_BUILD_H

#include "libcommon/conf/conf_read.h"

struct conf_build {
	struct conf *conf;
	cfg_t *top;
	struct buf *warnings; /* NULL: nobody reads them */
	struct err *err;
};

/* Say that something at this place is wrong; returns -1. */
int build_fail(struct conf_build *b, const struct conf_value *at,
               const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void build_warn(struct conf_build *b, const struct conf_value *at,
                const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The sections of this name: how many there are, and each. */
size_t build_count(struct conf_build *b, const char *name);
cfg_t *build_section(struct conf_build *b, const char *name, size_t i);

/*
 * Set the members of base that have keys: all of them to their defaults;
 * those that the section gives.  what is its name ("queue"; NULL: the top).
 */
void build_defaults(struct conf_build *b, const char *what, void *base);
int build_keys(struct conf_build *b, const char *what, cfg_t *section,
               void *base);

/* A section's title as a name; NULL: it is none.  The arena owns it. */
const char *build_name(struct conf_build *b, const char *what, cfg_t *section);

/* Where the key is set, else where the section begins. */
const struct conf_value *build_place(cfg_t *section, const char *key);

int build_nodes(struct conf_build *b);
int build_queues(struct conf_build *b);

#endif
