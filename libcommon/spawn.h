/* spawn.h - start programs that an admin names */
#ifndef LIBCOMMON_SPAWN_H
#define LIBCOMMON_SPAWN_H

#include <sys/types.h>

/*
 * Start argv[0] in a process group of its own, with PATH alone in its
 * environment and all signals as a login has them. in: its standard input, -1:
 * /dev/null; out: its output and errors.
 *
 * The shell starts it: to start a program from a file server that hangs would
 * hold up whoever does it. So one that cannot be started is started, too, and
 * ends with status 126 or 127. Returns 0 or an errno value.
 */
int spawn_program(const char *const *argv, int in, int out, pid_t *ret);

#endif
