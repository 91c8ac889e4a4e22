/* spawn.h - start programs and threads */
#ifndef LIBCOMMON_SPAWN_H
#define LIBCOMMON_SPAWN_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct spawn {
	const char *const *argv;
	const char *const *env; /* NULL: ours */
	/* Descriptors that become 0, 1, ... of the program; -1: /dev/null. Each
	 * must be equal to its own index, or at least nfd. */
	const int *fd;
	size_t nfd;
	int keep; /* a descriptor that the program also inherits, under the same
	             number; 0: none */
	short group; /* 0: our process group and session; or
	                POSIX_SPAWN_SETPGROUP, POSIX_SPAWN_SETSID */
	/*
	 * Let a shell start argv[0], which it looks for in PATH of env. The
	 * file may be on a file server that hangs: then only the shell blocks,
	 * not our process. spawn() succeeds even if the program cannot be
	 * started; the process then ends with status 126 or 127.
	 */
	bool by_shell;
};

/* Start a program with default handlers for all signals, and none blocked.
 * Returns 0 or an errno value. */
int spawn(const struct spawn *s, pid_t *ret);

/*
 * Start a program that an admin has configured. A shell starts it, in a process
 * group of its own and with PATH as its only variable. `in` becomes its stdin
 * (-1: /dev/null), `out` its stdout and stderr. Returns 0 or an errno value.
 */
int spawn_program(const char *const *argv, int in, int out, pid_t *ret);

/* Start a detached thread with all signals blocked, as the loop's thread
 * handles them. Returns 0 or an errno value. */
int spawn_thread(void *(*fn)(void *arg), void *arg);

#endif
