/*
 * listen.h - sockets to listen on
 */
#ifndef AISCHEDD_RPC_LISTEN_H
#define AISCHEDD_RPC_LISTEN_H

#include <stddef.h>

#include "libcommon/err.h"

enum { LISTEN_MAX = 8 }; /* addresses that one host name may have */

/*
 * A socket that listens at path, for everybody; its folder is made when it
 * is missing.  Returns the descriptor, or -1.  A socket file that nobody
 * answers on is replaced.  Fails: EADDRINUSE somebody answers, or errno.
 */
int listen_unix(const char *path, struct err *err);

/* On every address of the host ("": all of this machine); returns how many
 * descriptors are in ret, or -1. */
int listen_tcp(const char *host, const char *port, int ret[LISTEN_MAX],
               struct err *err);

#endif
