/* tcp_peer.h - find the user at the other end of a local TCP connection */
#ifndef LIBCOMMON_CLIENT_TCP_PEER_H
#define LIBCOMMON_CLIENT_TCP_PEER_H

#include <sys/types.h>

#include "libcommon/err.h"

/* Find the user who made the socket at the other end of conn, a connection
 * within this machine. Fails if this socket has been closed. */
int tcp_peer_user(int conn, uid_t *ret, struct err *err);

#endif
