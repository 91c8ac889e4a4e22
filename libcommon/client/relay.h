/*
 * relay.h - run a command in a job of a cluster, or connect to a port of a job,
 * through the daemon
 *
 * One connection carries the request and the output of the command. Two child
 * processes have connections of their own: one for input, the other for signals
 * and the size of the terminal. The command ends when this process does,
 * however that ends. For a port it is the same, without signals.
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
	int input; /* its standard input */
	/* on a terminal of its own; if we have none, warn and continue */
	bool tty;
	/* Connect our standard input and output to this port instead, and run
	 * no command; 0: run one. */
	uint16_t port;
};

/* Run it and return its exit status, 0 for a port; argv may be NULL for a port.
 * Fails with -1 if it was not started, or if its end is not known. */
int relay_run(const struct relay_wish *wish, char *const *argv,
              struct err *err);

#endif
