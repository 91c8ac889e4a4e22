/*
 * audit.h - who did what: note acts that change something, and list them
 */
#ifndef AISCHEDD_OP_AUDIT_H
#define AISCHEDD_OP_AUDIT_H

#include "aischedd/op/op.h"

/* Note an act on a job; on another user's job it is logged, too. */
void audit_job(struct daemon *d, const struct peer *peer, const char *act,
               uint64_t job, const char *display_id, const char *owner);

/* Note any other act. what and name together are its target, as in "node n0";
 * text says more about it, or is NULL. */
void audit_act(struct daemon *d, const struct peer *peer, const char *act,
               const char *what, const char *name, const char *text);

/* Note what the daemon did because of a signal, as an act of the user that it
 * runs as: only this user and root can send one. */
void daemon_note_signal(struct daemon *d, const char *act, const char *what,
                        const char *signal);

#endif
