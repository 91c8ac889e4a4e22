/*
 * paths.h - where the daemon is reached
 *
 * conf_default_socket() is here too (declared in conf.h), away from the
 * configuration's parser, which tools do not link.
 */
#ifndef LIBCOMMON_PATHS_H
#define LIBCOMMON_PATHS_H

#include "libcommon/err.h"

/*
 * "tcp://host:port", "host:port", "[::1]:port", or the path of a socket.
 * 1: TCP, *ret_host and *ret_port are the caller's to free (host may be "":
 * every address); 0: a path.  Fails with EINVAL.
 */
int address_parse(const char *address, char **ret_host, char **ret_port,
                  struct err *err);

/* Root's default socket: the system's daemon. */
extern const char system_socket[];

#endif
