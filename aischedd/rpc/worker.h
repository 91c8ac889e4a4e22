/*
 * worker.h - threads for blocking calls: MUNGE and the name service
 *
 * Submit a work on the loop's thread; it comes back there, exactly once: when
 * it is done or when its deadline passes. A thread that hangs in munged is not
 * waited for: its work is forgotten, and the thread is used again once munged
 * answers.
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

/* Called on the loop's thread; the work is freed afterwards. */
typedef void cred_done_fn(struct cred_work *work, void *arg);

struct cred_work {
	bool encode; /* true: digest -> cred; false: cred -> digest and peer */
	bool failed; /* err has the reason */
	struct err err;
	char *cred;
	unsigned char digest[WIRE_DIGEST];
	struct peer *peer; /* the sender of the credential; may be taken */

	/* Used by worker.c only. */
	cred_done_fn *done;
	void *arg;
	int64_t until_ms;
	enum { CRED_QUEUED, CRED_RUNNING, CRED_DONE, CRED_FORGOTTEN } state;
	TAILQ_ENTRY(cred_work) of_queue, of_alive;
};

/* munge_socket: NULL or "" is the system's. Fails with EMFILE, or EAGAIN if a
 * thread cannot be made. */
struct workers *workers_new(struct event_base *base, const char *munge_socket,
                            struct err *err);

/* Forgets all unfinished works. */
void workers_free(struct workers *workers);
void workers_set_deadline(struct workers *workers, int64_t ms);

/* cred has len bytes and no terminating zero. */
struct cred_work *workers_decode(struct workers *workers, const char *cred,
                                 size_t len, cred_done_fn *done, void *arg);
struct cred_work *workers_encode(struct workers *workers,
                                 const unsigned char digest[WIRE_DIGEST],
                                 cred_done_fn *done, void *arg);

/* Drop a work: done() will not be called. NULL is allowed. */
void workers_forget(struct workers *workers, struct cred_work *work);

#endif
