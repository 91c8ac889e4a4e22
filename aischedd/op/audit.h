/*
 * audit.h - who did what: note acts that change something, and list them
 */
#ifndef AISCHEDD_OP_AUDIT_H
#define AISCHEDD_OP_AUDIT_H

#include "aischedd/op/op.h"

/* Record an act of the peer on a job; if the job is another user's, also write
 * the act to the log. text says more about the act, or is NULL. */
void audit_job(struct daemon *d, const struct peer *peer, const char *act,
               uint64_t job, const char *display_id, const char *owner,
               const char *text);

/* Whether a refused act of the peer may be recorded: in each minute at most ten
 * refused acts of one user are recorded. If so, *ret_last tells whether this is
 * the last one of the minute. */
bool audit_may_refuse(struct daemon *d, const struct peer *peer,
                      bool *ret_last);

/* Record an act of the peer on anything else. what and name together are the
 * target, as in "node n0"; text says more about the act, or is NULL. */
void audit_act(struct daemon *d, const struct peer *peer, const char *act,
               const char *what, const char *name, const char *text);

/* Record what the daemon did because of a signal. It counts as an act of the
 * user as whom the daemon runs: only that user and root can send signals. */
void daemon_note_signal(struct daemon *d, const char *act, const char *what,
                        const char *signal);

#endif
