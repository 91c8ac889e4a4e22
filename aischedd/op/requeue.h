/*
 * requeue.h - jobs that have ended, named in a request to requeue them
 */
#ifndef AISCHEDD_OP_REQUEUE_H
#define AISCHEDD_OP_REQUEUE_H

#include "aischedd/daemon.h"

/*
 * Queue one ended job again: a plain one (task is NO_TASK), or one task of an
 * array.  Reads the history at once, so that mass.c bounds how many a request
 * may name.
 * Fails: ENOENT, EPERM; as requeue_ended().
 */
int op_requeue_ended(struct daemon *d, const struct peer *peer, uint64_t id,
                     uint32_t task, struct err *err);

#endif
