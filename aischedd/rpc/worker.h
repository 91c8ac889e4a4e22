/*
 * worker.h - threads for blocking calls: MUNGE and the name service
 *
 * Submit a work on the loop's thread. Its done() is called there exactly once:
 * when the work is done or when its deadline has passed. If munged hangs, the
 * work is forgotten, and its thread is used again once munged answers.
 */
#ifndef AISCHEDD_RPC_WORKER_H
#define AISCHEDD_RPC_WORKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/rpc/rpc.h"
#include "libcommon/err.h"
#include "libcommon/wire.h"

struct workers;
struct cred_work;

/* Called on the loop's thread; the work is freed after the call. */
typedef void cred_done_fn(struct cred_work *work, void *arg);

struct cred_work {
	bool encode; /* true: digest -> cred; false: cred -> digest and peer */
	bool failed; /* *err has the reason */
	struct err err;
	char *cred;
	unsigned char digest[WIRE_DIGEST];
	struct peer *peer; /* sender of the credential; done() may take it */

	/* Used by worker.c only. */
	cred_done_fn *done;
	void *arg;
	int64_t until_ms;
	enum { CRED_QUEUED, CRED_RUNNING, CRED_DONE, CRED_FORGOTTEN } state;
	TAILQ_ENTRY(cred_work) of_queue, of_alive;
};

/* Start the threads. munge_socket: NULL or "" means the system's socket. Fails
 * with EMFILE, or with EAGAIN if a thread cannot be made. */
struct workers *workers_new(struct event_base *base, const char *munge_socket,
                            struct err *err);

/* Forget all unfinished works, and free. */
void workers_free(struct workers *workers);
void workers_set_deadline(struct workers *workers, int64_t ms);

/* Submit a credential to be decoded; cred has len bytes and no
 * terminating zero. */
struct cred_work *workers_decode(struct workers *workers, const char *cred,
                                 size_t len, cred_done_fn *done, void *arg);
struct cred_work *workers_encode(struct workers *workers,
                                 const unsigned char digest[WIRE_DIGEST],
                                 cred_done_fn *done, void *arg);

/* Forget a work: its done() will not be called. NULL is allowed. */
void workers_forget(struct workers *workers, struct cred_work *work);

#endif
