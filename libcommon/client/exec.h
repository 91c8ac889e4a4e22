/*
 * exec.h - run a command in a job that runs on this machine
 *
 * It is a step that overlaps all others, with the environment and the folder of
 * one of the job's own tasks. It ends with us, however we end.
 */
#ifndef LIBCOMMON_CLIENT_EXEC_H
#define LIBCOMMON_CLIENT_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

struct exec {
	const char *socket; /* of the job's shepherd */
	int64_t rank;       /* the task that it is like */
	int input;          /* its standard input, unless on a terminal */
	bool tty;           /* on a terminal of its own; without one here, warn
	                       and go on */
	bool foreign; /* for another user, who gets no terminal of ours: it
	                 reads nothing there, and what it writes is copied */
};

/*
 * Run it and return its exit status, 128+n for a signal. Fails with -1 if it
 * was not started, or if the connection was lost.
 */
int exec_run(const struct exec *exec, char *const *argv, struct err *err);

#endif
