/*
 * relays.h - commands of users in jobs of a cluster
 *
 * The daemon stands between the user's connections and the cluster: what the
 * command writes becomes parts of the answer to one request, what it reads
 * comes with others. Nothing is read from the cluster while the user's
 * connection has much to send, and input is answered when there is room for
 * more; so little is held in memory. The command ends when the connection
 * does, and counts until then.
 */
#ifndef AISCHEDD_RELAYS_H
#define AISCHEDD_RELAYS_H

#include "aischedd/daemon.h"

/* Returns the runner of the job, which must have nodes, if commands in it are
 * relayed; or NULL. */
struct runner *relays_runner(const struct daemon *d, const struct job *job);

/* Begin one: the wish has a task of the job. Fails with EBUSY if there are too
 * many, or as the runner does. */
int relays_begin(struct daemon *d, struct ask *ask, const struct job *job,
                 const struct request_in *in, const struct run_exec_wish *wish,
                 struct err *err);

/* Returns a field of the request; 0 if it is not there, less, or more than
 * most. */
uint16_t relays_number(const struct request_in *in, const char *key,
                       uint16_t most);

/* Pass on input, the size of the terminal, a signal. */
int relays_input(struct daemon *d, struct ask *ask, const struct request_in *in,
                 struct err *err);

void daemon_relay_gone(struct daemon *d, const struct ask *ask);
void daemon_free_relays(struct daemon *d);

#endif
