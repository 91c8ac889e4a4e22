/*
 * listen.h - sockets to listen on
 */
#ifndef AISCHEDD_RPC_LISTEN_H
#define AISCHEDD_RPC_LISTEN_H

#include <stddef.h>
#include <sys/types.h>

#include "libcommon/err.h"

enum { LISTEN_MAX = 8 }; /* addresses of one host name */

/*
 * Listen at path; mode says who may connect; gid: the group of the socket, -1:
 * ours. Makes its folder if it is missing, and replaces a socket file on which
 * nobody answers. Returns the descriptor, or -1. Fails with EADDRINUSE if
 * somebody answers, or with errno.
 */
int listen_unix(const char *path, mode_t mode, gid_t gid, struct err *err);

/* Listen on every address of the host ("": all of this machine). Returns how
 * many descriptors are in ret, or -1. */
int listen_tcp(const char *host, const char *port, int ret[LISTEN_MAX],
               struct err *err);

#endif
