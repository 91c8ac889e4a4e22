/*
 * wait.h - answer requests once jobs have ended
 */
#ifndef AISCHEDD_OP_WAIT_H
#define AISCHEDD_OP_WAIT_H

#include "aischedd/daemon.h"

/* Answer requests whose jobs have all ended by now. */
void daemon_check_waiters(struct daemon *d);
void daemon_free_waiters(struct daemon *d);

#endif
