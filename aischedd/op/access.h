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

/* Refuse the request because the peer may not read the job: with EPERM, or with
 * ENOENT as if there were no such job if others' jobs are hidden from the peer.
 * Returns -1. */
int access_refuse(const struct daemon *d, const struct peer *peer,
                  const char *job, struct err *err);

/* Whether the configuration hides the jobs or use of others ("jobs", "usage")
 * from the peer; operators of a queue see those of their queue. */
bool access_hides(const struct daemon *d, const struct peer *peer,
                  const char *what);

/* Whether the peer may know that the job, or this task of an array (NO_TASK:
 * the whole array), exists. False only if others' jobs are hidden from the
 * peer, and it is neither the peer's own nor, unless it has ended, in a queue
 * that the peer operates. */
bool access_sees(const struct daemon *d, const struct peer *peer, uint64_t id,
                 uint32_t task);

/* Returns the names of the queues that the peer operates; owns: the caller. */
json_t *access_queues(const struct daemon *d, const struct peer *peer);

/* Returns the peer as a submitter for the state; borrows from peer. */
struct submitter access_submitter(const struct peer *peer);

#endif
