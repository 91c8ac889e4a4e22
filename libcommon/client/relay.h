/*
 * relay.h - run a command in a job of a cluster, or connect to a port of a job,
 * through the daemon
 *
 * One connection carries the request and the output of the command. Two child
 * processes have connections of their own: one for input, the other for signals
 * and the size of the terminal. The command ends when this process ends, for
 * whatever reason. A connection to a port works likewise, without signals.
 */
#ifndef LIBCOMMON_CLIENT_RELAY_H
#define LIBCOMMON_CLIENT_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

struct client;

struct relay_wish {
	struct client *client; /* to the daemon */
	const char *address;   /* of the daemon, as for client_open() */
	const char *job;       /* its id */
	int64_t task;
	int input; /* descriptor from which the command's input is read */
	/* Give the command a terminal of its own; if we have no terminal, warn
	 * and run it without one. */
	bool tty;
	/* Connect our standard input and output to this port instead, and run
	 * no command; 0: run one. */
	uint16_t port;
};

/* Run the command argv, and return its exit status; with a port, argv may be
 * NULL, and the status is 0. Returns -1 if the command or connection could not
 * be started, or its end is not known. */
int relay_run(const struct relay_wish *wish, char *const *argv,
              struct err *err);

#endif
