/*
 * paths.h - addresses of the daemon, and our own helper programs
 *
 * paths.c also defines conf_default_socket(), which is declared in conf.h,
 * because tools do not link the configuration's parser.
 */
#ifndef LIBCOMMON_PATHS_H
#define LIBCOMMON_PATHS_H

#include "libcommon/err.h"

/*
 * Parse "tcp://host:port", "host:port", "[::1]:port", or the path of a
 * socket. Returns 1 for TCP, and the caller frees *ret_host, which is "" for
 * all addresses of the machine, and *ret_port. Returns 0 for a path. Fails
 * with EINVAL.
 */
int address_parse(const char *address, char **ret_host, char **ret_port,
                  struct err *err);

/*
 * Returns the path of a helper program, which the caller frees: that in
 * libexec/aisched beside the folder of the running program, or else that in
 * `folder` of the build tree. Fails with ENOENT.
 */
char *program_path(const char *folder, const char *name, struct err *err);

/* Default socket of a daemon that runs as root. */
extern const char system_socket[];

#endif
