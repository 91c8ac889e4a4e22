/*
 * relays.h - relay users' commands in jobs, and connections to ports of jobs
 *
 * The daemon relays between the user's connections and a job in a cluster.
 * Output of the command, or of the port, becomes parts of the answer to one
 * request; input comes with other requests. While much output waits to be sent
 * to the user, none is read from the job; a request with input is answered when
 * there is space for more. Thus the daemon holds little data in memory. When
 * the user's connection is closed, the daemon ends the command, which counts
 * against the limits until it has ended.
 */
#ifndef AISCHEDD_RELAYS_H
#define AISCHEDD_RELAYS_H

#include "aischedd/daemon.h"

/* Returns the runner of a job that has nodes, if commands in the job are
 * relayed; NULL: they are not. */
struct runner *relays_runner(const struct daemon *d, const struct job *job);

/* Whether users can be connected to ports of a job that has nodes. */
bool relays_forward(const struct daemon *d, const struct job *job);

/* Run a command in a task of the job, or connect to a port of the task, as the
 * wish says. A command needs a runner from relays_runner(), a connection needs
 * relays_forward() to be true. Fails with EBUSY if there are too many commands
 * and connections, or as the runner does. */
int relays_begin(struct daemon *d, struct ask *ask, const struct job *job,
                 const struct request_in *in, const struct run_exec_wish *wish,
                 struct err *err);

/* Returns the number that the request has for this key; 0 if it has none, or
 * one that is negative or greater than `most`. */
uint16_t relays_number(const struct request_in *in, const char *key,
                       uint16_t most);

/* Pass on to a command what the request has: input, the end of input, the size
 * of the terminal, a signal. */
int relays_input(struct daemon *d, struct ask *ask, const struct request_in *in,
                 struct err *err);

void daemon_relay_gone(struct daemon *d, const struct ask *ask);
void daemon_free_relays(struct daemon *d);

#endif
