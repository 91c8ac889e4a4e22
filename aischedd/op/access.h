/* access.h - what a peer may do */
#ifndef AISCHEDD_OP_ACCESS_H
#define AISCHEDD_OP_ACCESS_H

#include "aischedd/daemon.h"

enum role access_role(const struct daemon *d, const struct peer *peer);

/* Whether the peer operates this queue, a queue above it, or all queues. */
bool access_operates(const struct daemon *d, const struct peer *peer,
                     uint32_t queue);

/* Whether the peer may change the job: its owner and operators of its
 * queue may. */
bool access_job(const struct daemon *d, const struct peer *peer,
                const struct job *job);

/* Whether the peer may read the private parts (output, script) of a job, active
 * or ended. uid: the job's owner. queue: index of the job's queue; -1: that
 * queue no longer exists. */
bool access_read(const struct daemon *d, const struct peer *peer, uint32_t uid,
                 int queue);

/* Refuse a request because the peer may not read the job. Sets EPERM, or ENOENT
 * ("there is no job") if the configuration hides others' jobs from the peer.
 * Returns -1. */
int access_refuse(const struct daemon *d, const struct peer *peer,
                  const char *job, struct err *err);

/* Whether the configuration hides the jobs of others (`what` is "jobs") or
 * their use of resources (`what` is "usage") from the peer. Nothing is hidden
 * from operators of all queues; operators of some queues see what is in these.
 */
bool access_hides(const struct daemon *d, const struct peer *peer,
                  const char *what);

/*
 * Whether the peer may know that the job, or this task of an array (NO_TASK:
 * the whole array), exists. If others' jobs are hidden from the peer, the peer
 * may only know of their own jobs, and of active jobs in queues that they
 * operate.
 */
bool access_sees(const struct daemon *d, const struct peer *peer, uint64_t id,
                 uint32_t task);

/* Returns a list of the names of the queues that the peer operates; the caller
 * owns the list. */
json_t *access_queues(const struct daemon *d, const struct peer *peer);

/* Returns the peer as a submitter for the state. Its texts are borrowed from
 * the peer. */
struct submitter access_submitter(const struct peer *peer);

#endif
