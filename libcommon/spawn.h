/* spawn.h - start programs */
#ifndef LIBCOMMON_SPAWN_H
#define LIBCOMMON_SPAWN_H

#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct spawn {
	const char *const *argv;
	const char *const *env; /* NULL: ours */
	/* Its descriptors 0, 1, ...; -1: /dev/null. Each is its own number or
	 * at least nfd. */
	const int *fd;
	size_t nfd;
	int keep;    /* a descriptor that it has, too, as it is; 0: none */
	short group; /* 0: ours; POSIX_SPAWN_SETPGROUP, POSIX_SPAWN_SETSID */
	/*
	 * A shell starts argv[0], found in PATH of env: to start a program from
	 * a file server that hangs would hold up whoever does it. So one that
	 * cannot be started is started, too, and ends with status 126 or 127.
	 */
	bool by_shell;
};

/* Start a program, all signals as a login has them. Returns 0 or an errno
 * value. */
int spawn(const struct spawn *s, pid_t *ret);

/*
 * Start a program that an admin names, by a shell, in a process group of its
 * own, with PATH alone in its environment. in: its standard input, -1:
 * /dev/null; out: its output and errors.
 */
int spawn_program(const char *const *argv, int in, int out, pid_t *ret);

#endif
