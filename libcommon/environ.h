/*
 * environ.h - the environments of other processes
 */
#ifndef LIBCOMMON_ENVIRON_H
#define LIBCOMMON_ENVIRON_H

#include <stdbool.h>
#include <sys/types.h>

#include "libcommon/buf.h"

/*
 * Read the environment with which a process began its program, at most 4 MiB of
 * it, into env. Returns 0, or an errno: EAGAIN in the middle of an exec, when
 * an environment reads as empty; ESRCH if the process is gone.
 */
int environ_read(pid_t pid, struct buf *env);

/* Returns the value of a variable in it, or NULL. */
const char *environ_value(const struct buf *env, const char *name);

/* Whether it has this "NAME=value". */
bool environ_has(const struct buf *env, const char *variable);

#endif
