/*
 * environ.h - the environments of other processes
 */
#ifndef LIBCOMMON_ENVIRON_H
#define LIBCOMMON_ENVIRON_H

#include <stdbool.h>
#include <sys/types.h>

#include "libcommon/buf.h"

/*
 * Read the environment that a process had when it started its program, at most
 * 4 MiB of it, into env. Returns 0 or an errno value: ESRCH if the process is
 * gone; EAGAIN if it is in the middle of an exec, during which the kernel may
 * show an empty or partial environment.
 */
int environ_read(pid_t pid, struct buf *env);

/* Returns the value of a variable in the environment, or NULL. */
const char *environ_value(const struct buf *env, const char *name);

/* Whether the environment has exactly this "NAME=value". */
bool environ_has(const struct buf *env, const char *variable);

#endif
