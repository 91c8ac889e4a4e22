/*
 * listen.h - sockets to listen on
 */
#ifndef AISCHEDD_RPC_LISTEN_H
#define AISCHEDD_RPC_LISTEN_H

#include <stddef.h>
#include <sys/types.h>

#include "libcommon/err.h"

/* most addresses of one host name that are listened on */
enum { LISTEN_MAX = 8 };

/*
 * Listen on a Unix socket at path. mode says who may connect; gid is the
 * socket's group, -1: the daemon's own. Makes the socket's folder if it is
 * missing, and replaces a socket file on which nobody answers. Returns the
 * descriptor, or -1: fails with EADDRINUSE if somebody answers, or with errno.
 */
int listen_unix(const char *path, mode_t mode, gid_t gid, struct err *err);

/* Listen on TCP at every address of the host (for "" at all of this machine).
 * Returns how many descriptors are in ret, or -1. */
int listen_tcp(const char *host, const char *port, int ret[LISTEN_MAX],
               struct err *err);

#endif
