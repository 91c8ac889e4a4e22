/*
 * paths.h - addresses of the daemon, and our own helper programs
 *
 * conf_default_socket(), declared in conf.h, is here, too, because tools do not
 * link the configuration's parser.
 */
#ifndef LIBCOMMON_PATHS_H
#define LIBCOMMON_PATHS_H

#include "libcommon/err.h"

/*
 * Parse "tcp://host:port", "host:port", "[::1]:port", or the path of a socket.
 * Returns 1 for TCP: the caller frees *ret_host and *ret_port (host may be "":
 * every address); 0 for a path. Fails with EINVAL.
 */
int address_parse(const char *address, char **ret_host, char **ret_port,
                  struct err *err);

/*
 * Returns the path of a program that users do not call: installed beside ours,
 * in libexec/aisched, or in that folder of the build. The caller frees it.
 * Fails with ENOENT.
 */
char *program_path(const char *folder, const char *name, struct err *err);

/* Root's default socket: the system's daemon. */
extern const char system_socket[];

#endif
