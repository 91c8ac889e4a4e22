/*
 * audit.h - who did what: note acts that change something, and list them
 */
#ifndef AISCHEDD_OP_AUDIT_H
#define AISCHEDD_OP_AUDIT_H

#include "aischedd/op/op.h"

/* Note an act on a job; on another user's job it is logged, too. */
void audit_job(struct daemon *d, const struct peer *peer, const char *act,
               uint64_t job, const char *display_id, const char *owner);

/* Note any other act: on "node n0"; text may be NULL. */
void audit_act(struct daemon *d, const struct peer *peer, const char *act,
               const char *what, const char *name, const char *text);

/* Note the effect of a signal, which root or the daemon's own user sent. */
void daemon_note_signal(struct daemon *d, const char *act, const char *what,
                        const char *signal);

#endif
