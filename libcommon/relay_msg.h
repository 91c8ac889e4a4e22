/*
 * relay_msg.h - a command in a job of a cluster, or a connection to a port of a
 * job, through the daemon
 */
#ifndef LIBCOMMON_RELAY_MSG_H
#define LIBCOMMON_RELAY_MSG_H

/* The first byte of each part of the answer to relay. */
#define RELAY_BEGINS '0' /* then its number, decimal */
#define RELAY_OUT    '1' /* then bytes of its stdout */
#define RELAY_ERR    '2'

enum { RELAY_PIECE = 65536 /* bytes of a command, and of input at a time */ };

#endif
