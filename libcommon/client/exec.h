/*
 * exec.h - run a command in a running job on this machine
 *
 * The command is a step that overlaps all others, with the environment and the
 * folder of one of the job's own tasks. It ends when we do, however we end.
 */
#ifndef LIBCOMMON_CLIENT_EXEC_H
#define LIBCOMMON_CLIENT_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

struct exec {
	const char *socket; /* of the job's shepherd */
	int64_t rank;       /* the task whose environment and folder it gets */
	int input;          /* its standard input, unless on a terminal */
	/* on a terminal of its own; if we have none, warn and continue */
	bool tty;
	/* for another user, who does not get our terminal: the command cannot
	 * read from it, and its output is copied */
	bool foreign;
};

/*
 * Run it and return its exit status, 128+n for a signal. Fails with -1 if it
 * was not started, or if the connection was lost.
 */
int exec_run(const struct exec *exec, char *const *argv, struct err *err);

#endif
