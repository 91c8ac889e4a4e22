/*
 * relay_msg.h - the answer to `relay`, the request that runs a command in a job
 * of a cluster or connects to a port of a job
 */
#ifndef LIBCOMMON_RELAY_MSG_H
#define LIBCOMMON_RELAY_MSG_H

/* The first byte of each part of the answer to relay. */
#define RELAY_BEGINS '0' /* then the number for relay_input, decimal */
#define RELAY_OUT    '1' /* then bytes of the command's stdout */
#define RELAY_ERR    '2' /* then bytes of its stderr */

/* Most bytes of a command, and of the input in one request. */
enum { RELAY_PIECE = 65536 };

#endif
