/*
 * requeue.h - requeue ended jobs
 */
#ifndef AISCHEDD_OP_REQUEUE_H
#define AISCHEDD_OP_REQUEUE_H

#include "aischedd/daemon.h"

/*
 * Requeue one ended job: a plain one (task is NO_TASK), or one task of an
 * array. Reads the history on the loop's thread, so mass.c limits how many
 * ended jobs a request may name. Fails with ENOENT, EPERM, or as
 * requeue_ended().
 */
int op_requeue_ended(struct daemon *d, const struct peer *peer, uint64_t id,
                     uint32_t task, struct err *err);

#endif
