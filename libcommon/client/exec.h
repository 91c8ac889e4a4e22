/*
 * exec.h - run a command in a running job on this machine
 *
 * The command is a step that shares resources with all others, and has the
 * environment and the folder of one of the job's own tasks. If our process
 * ends, for whatever reason, the shepherd ends the command.
 */
#ifndef LIBCOMMON_CLIENT_EXEC_H
#define LIBCOMMON_CLIENT_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

struct exec {
	const char *socket; /* path of the socket of the job's shepherd */
	/* Rank of the task whose environment and folder the command gets. */
	int64_t rank;
	/* Descriptor for the command's stdin, unless it has a terminal. */
	int input;
	/* Give the command a terminal of its own; if we have no terminal, warn
	 * and run it without one. */
	bool tty;
	/* The job is another user's, so the command must not have our terminal:
	 * where stdin is a terminal, it gets /dev/null, and where stdout or
	 * stderr is one, we copy its output. */
	bool foreign;
};

/*
 * Run the command, and return its exit status, or 128+n if signal n ended it.
 * Returns -1 if it could not be started or the connection was lost.
 */
int exec_run(const struct exec *exec, char *const *argv, struct err *err);

#endif
