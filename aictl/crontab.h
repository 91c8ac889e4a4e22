/*
 * crontab.h - read a file of recurring work, in the syntax of scrontab
 *
 * A file has comments; lines NAME=value, which set the environment of all
 * entries below them; lines that begin with #SCRON or #AISUB, whose options
 * apply to the next entry only; and entries: five fields or a macro such as
 * @daily, then a command.
 */
#ifndef AICTL_CRONTAB_H
#define AICTL_CRONTAB_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/buf.h"

/* The user who owns the entries. */
struct crontab_user {
	const char *name, *home;
};

struct crontab {
	json_t *entries;   /* entries and errors as a cron_file request has
	                      them, in the order of the file */
	struct buf raw;    /* their scripts and environments */
	struct buf errors; /* "name:line: text", one a line */
};

/* Read a whole file, and collect all errors in it. Relative times count from
 * `now`. The caller must call crontab_fini(). */
void crontab_read(struct crontab *ret, const char *name, const char *text,
                  size_t len, const struct crontab_user *user, int64_t now);
void crontab_fini(struct crontab *tab);

#endif
