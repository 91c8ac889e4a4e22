/*
 * audit.h - who did what: noted by requests that change something, and listed
 */
#ifndef AISCHEDD_OP_AUDIT_H
#define AISCHEDD_OP_AUDIT_H

#include "aischedd/op/op.h"

/* An act on a job of one record; the log has a line of those on others'. */
void audit_job(struct daemon *d, const struct peer *peer, const char *act,
               uint64_t job, const char *display_id, const char *owner);

/* Of anything else: "node n0"; text may be NULL. */
void audit_act(struct daemon *d, const struct peer *peer, const char *act,
               const char *what, const char *name, const char *text);

#endif
