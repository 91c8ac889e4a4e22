/*
 * mail.h - types, addresses and headers of mails
 */
#ifndef LIBCOMMON_MAIL_H
#define LIBCOMMON_MAIL_H

#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"

/* X(symbol, name): each type is a bit of a number that is stored in the
 * database, so append new ones. */
#define MAIL_TYPES(X)                       \
	X(BEGIN, "BEGIN")                   \
	X(END, "END")                       \
	X(FAIL, "FAIL")                     \
	X(REQUEUE, "REQUEUE")               \
	X(INVALID_DEPEND, "INVALID_DEPEND") \
	X(TIME_LIMIT, "TIME_LIMIT")         \
	X(TIME_LIMIT_50, "TIME_LIMIT_50")   \
	X(TIME_LIMIT_80, "TIME_LIMIT_80")   \
	X(TIME_LIMIT_90, "TIME_LIMIT_90")   \
	X(ARRAY_TASKS, "ARRAY_TASKS")       \
	X(CRON_SKIPPED, "CRON_SKIPPED")     \
	X(IDLE_GPU, "IDLE_GPU")

enum mail_type {
#define X(sym, name) MAIL_##sym,
	MAIL_TYPES(X)
#undef X
	    MAIL_NTYPES
};

#define MAIL_BIT(type) ((int64_t)1 << (type))

const char *mail_type_name(enum mail_type type);

/* Parse "END,FAIL", "ALL" or "NONE", in upper or lower case, into bits. */
int mail_types_parse(const char *s, int64_t *ret, struct err *err);

/* Append the types as a list like "END,FAIL", or nothing if there are none. */
void mail_types_format(int64_t types, struct buf *out);

/* Check the address of one recipient: NAME@DOMAIN, or the NAME of a local
 * user. A name consists of atoms and dots (RFC 5321); quotes and lists
 * are refused. */
int mail_check_address(const char *s, struct err *err);

/* Returns the domain of a checked address; NULL if it names a local user. */
const char *mail_domain(const char *address);

/* Append a header. Unless the text is plain ASCII, it is encoded (RFC 2047) and
 * folded; so a user's text cannot begin another header. */
void mail_put_header(struct buf *out, const char *name, const char *text);

#endif
