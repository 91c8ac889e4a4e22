/*
 * crontab.h - read a file of recurring work, in the syntax of scrontab
 *
 * Comments; NAME=value for the environment of the entries below; options on
 * #SCRON or #AISUB lines for the one entry below them; entries: five fields or
 * a macro, then a command.
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
	json_t *entries;   /* of a cron_file request */
	struct buf raw;    /* their scripts and environments */
	struct buf errors; /* "name:line: text", one a line */
};

/* Read a whole file; all mistakes in it are collected. now: for relative times.
 * Owns: the caller, crontab_fini(). */
void crontab_read(struct crontab *ret, const char *name, const char *text,
                  size_t len, const struct crontab_user *user, int64_t now);
void crontab_fini(struct crontab *tab);

#endif
