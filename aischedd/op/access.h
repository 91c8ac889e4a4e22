/*
 * access.h - what a peer may do
 */
#ifndef AISCHEDD_OP_ACCESS_H
#define AISCHEDD_OP_ACCESS_H

#include "aischedd/daemon.h"

enum role access_role(const struct daemon *d, const struct peer *peer);

/* Whether the peer is an operator of the queue, or of all. */
bool access_operates(const struct daemon *d, const struct peer *peer,
                     uint32_t queue);

/* Whether the peer may change the job. */
bool access_job(const struct daemon *d, const struct peer *peer,
                const struct job *job);

/* Whether the peer may read what is private (output, script) of a job that may
 * have ended; queue is an index, -1: it no longer exists. */
bool access_read(const struct daemon *d, const struct peer *peer, uint32_t uid,
                 int queue);

/* Returns the peer as a submitter for the state; borrows from peer. */
struct submitter access_submitter(const struct peer *peer);

#endif
