/*
 * retry.h - requests that survive a restart of the daemon
 */
#ifndef LIBCOMMON_CLIENT_RETRY_H
#define LIBCOMMON_CLIENT_RETRY_H

#include <jansson.h>
#include <stddef.h>

#include "libcommon/buf.h"
#include "libcommon/client/client.h"
#include "libcommon/err.h"

/* A connection that is opened again if it is lost. */
struct retry {
	const char *address;   /* as for client_open() */
	struct client *client; /* NULL: not connected; freed by retry_close() */
	int patience_s; /* how long to wait for a daemon that has gone away; -1:
	                   for ever */
};

/*
 * Like client_call(), but repeat the request on a new connection if the old one
 * is lost; so the request must do no harm if it is repeated. `parts` gets the
 * text of all parts of the answer, and is NULL if none are expected. Fails like
 * client_open() and client_call(), and at once if the daemon is down from the
 * start.
 */
json_t *retry_call(struct retry *retry, json_t *req, const struct buf *raw,
                   struct buf *parts, struct err *err);

void retry_close(struct retry *retry);

/*
 * Wait until the jobs have ended, without a time limit; if the daemon goes
 * away, print one line to stderr and wait for it. Returns the highest exit
 * status of the jobs; a job counts as 128+n if signal n ended it, and as 1 if
 * its status is 0 but it is not COMPLETED. Returns -1 on failure.
 */
int retry_wait(struct retry *retry, const char *const *jobs, size_t n,
               struct err *err);

#endif
