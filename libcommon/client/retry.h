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

/* A request that may be repeated, and its address. */
struct retry {
	const char *address;   /* as for client_open() */
	struct client *client; /* NULL: not connected; freed by retry_close() */
	int patience_s;        /* for a lost daemon; -1: for ever */
};

/*
 * Like client_call(), repeated on a new connection if the old one is lost.
 * parts gets the parts of the answer; NULL if none are expected. Does not wait
 * for a daemon that is down from the start. Fails as client_open() and
 * client_call().
 */
json_t *retry_call(struct retry *retry, json_t *req, const struct buf *raw,
                   struct buf *parts, struct err *err);

void retry_close(struct retry *retry);

/*
 * Wait until the jobs have ended, however long that takes; if the daemon goes
 * away, wait for it, with one line on stderr. Returns an exit status: the
 * highest of theirs, 128+n for a signal, 1 for a job that ended other than
 * COMPLETED with a status of 0; -1 on failure.
 */
int retry_wait(struct retry *retry, const char *const *jobs, size_t n,
               struct err *err);

#endif
