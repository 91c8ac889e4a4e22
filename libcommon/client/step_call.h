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

/* Connect to the socket of a shepherd. Owns: the caller closes it. Fails with
 * the error of the system. */
int step_call_connect(const char *path, struct err *err);

/* Send a packed request with stdin, stdout and stderr. Fails with E2BIG if it
 * is larger than STEP_REQUEST_MAX, else with the error of the system. */
int step_call_send(int conn, const struct buf *request, const int *stream,
                   struct err *err);

/* Send a message (taken). If the shepherd is gone, the next read tells. */
void step_call_tell(int conn, json_t *msg);

/*
 * Take the next message, with its descriptors, which the caller owns. Returns 1
 * with *ret, which is NULL if it is no JSON; 0 if there is none yet; -1 if the
 * connection is lost.
 */
int step_call_hear(int conn, json_t **ret, int fd[STEP_FDS], int *ret_nfds);

/* Block the signals that clients of steps take, and return a descriptor to read
 * them from; *ret_before: the mask to go back to, NULL if nobody wants it. */
int step_call_signals(sigset_t *ret_before);

#endif
