/*
 * conf_build.h - build struct conf from the tree that conf_read() returns
 *
 * conf.c builds the top level, classes, pools and licences; conf_nodes.c and
 * conf_queues.c build nodes and queues. Errors of each step have the form
 * `file:line: what`.
 */
#ifndef LIBCOMMON_CONF_CONF_BUILD_H
#define LIBCOMMON_CONF_CONF_BUILD_H

#include "libcommon/conf/conf_read.h"

struct conf_build {
	struct conf *conf;
	cfg_t *top;
	struct buf *warnings; /* NULL: do not collect warnings */
	struct err *err;
};

/* Set an EINVAL error about the place `at`; returns -1. */
int build_fail(struct conf_build *b, const struct conf_value *at,
               const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void build_warn(struct conf_build *b, const struct conf_value *at,
                const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Get the number of top-level sections of this name, and section i of them. */
size_t build_count(struct conf_build *b, const char *name);
cfg_t *build_section(struct conf_build *b, const char *name, size_t i);

/*
 * Set members of the struct `base`: build_defaults() all of them to their
 * defaults, build_keys() those whose keys are in the section. `what` is the
 * name of the section ("queue"), or NULL for the top level.
 */
void build_defaults(struct conf_build *b, const char *what, void *base);
int build_keys(struct conf_build *b, const char *what, cfg_t *section,
               void *base);

/* Returns the title of a section if it is a valid name, else NULL with an
 * error. The arena owns it. */
const char *build_name(struct conf_build *b, const char *what, cfg_t *section);

/* Returns the place in the file at which the section sets the key or, if the
 * section does not set the key, at which the section begins. */
const struct conf_value *build_place(cfg_t *section, const char *key);

/* Check the path of the key topology, like "z1/b1", of a section that `what`
 * names. Fails with EINVAL. */
int build_topology(struct conf_build *b, cfg_t *section, const char *what,
                   const char *path);

int build_nodes(struct conf_build *b);
int build_scales(struct conf_build *b);
int build_queues(struct conf_build *b);

#endif
