/*
 * reserve.h - reservations that wait until their users are looked up
 */
#ifndef AISCHEDD_OP_RESERVE_H
#define AISCHEDD_OP_RESERVE_H

#include "aischedd/daemon.h"

/* Call it after daemon_free_crons(), whose thread looks them up. */
void daemon_free_reservings(struct daemon *d);

#endif
