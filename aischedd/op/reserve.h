/*
 * reserve.h - requests for reservations, while the users named are looked up
 */
#ifndef AISCHEDD_OP_RESERVE_H
#define AISCHEDD_OP_RESERVE_H

#include "aischedd/daemon.h"

/* Free the waiting requests. Call it after daemon_free_crons(), which ends the
 * thread that looks up users. */
void daemon_free_reservings(struct daemon *d);

#endif
