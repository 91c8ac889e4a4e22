/*
 * wait.h - answer requests when the jobs that they wait for have ended
 */
#ifndef AISCHEDD_OP_WAIT_H
#define AISCHEDD_OP_WAIT_H

#include "aischedd/daemon.h"

/* Answer requests whose jobs have all ended by now. */
void daemon_check_waiters(struct daemon *d);
void daemon_free_waiters(struct daemon *d);

#endif
