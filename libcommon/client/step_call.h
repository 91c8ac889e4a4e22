/*
 * step_call.h - a client's connection to the shepherd of a job (step_msg.h)
 */
#ifndef LIBCOMMON_CLIENT_STEP_CALL_H
#define LIBCOMMON_CLIENT_STEP_CALL_H

#include <jansson.h>
#include <signal.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/step_msg.h"

/* Connect to the socket of a shepherd. Returns a descriptor, which the caller
 * closes. Fails with an errno value. */
int step_call_connect(const char *path, struct err *err);

/* Send a request from step_request_pack(), with the three descriptors in
 * `stream` for stdin, stdout and stderr. Fails with E2BIG if it is larger than
 * STEP_REQUEST_MAX, else with another errno value. */
int step_call_send(int conn, const struct buf *request, const int *stream,
                   struct err *err);

/* Send a message, and free it. Errors are ignored: if the shepherd is gone, the
 * next step_call_hear() returns -1. */
void step_call_tell(int conn, json_t *msg);

/*
 * Receive the next message without blocking, with its descriptors, which the
 * caller must close; *ret_nfds is their number, or -1 if some were lost.
 * Returns 1 and sets *ret, to NULL if the message is not JSON; 0 if there is no
 * message; -1 if the connection is lost.
 */
int step_call_hear(int conn, json_t **ret, int fd[STEP_FDS], int *ret_nfds);

/* Block the signals that clients of steps handle, ignore SIGPIPE, and return a
 * descriptor from which the blocked signals are read. *ret_before, unless it is
 * NULL, gets the signal mask from before. */
int step_call_signals(sigset_t *ret_before);

#endif
