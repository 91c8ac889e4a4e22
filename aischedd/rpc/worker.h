/*
 * worker.h - threads for what blocks: MUNGE and the name service
 *
 * A work is given in on the loop's thread and comes back there, once, in the
 * end or when its deadline has passed, whichever is first.  A thread that
 * hangs in a hung munged is simply not waited for: its work is forgotten and
 * the thread is of use again when munged is.
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
struct work;

/* On the loop's thread; the work is freed afterwards. */
typedef void work_done_fn(struct work *work, void *arg);

struct work {
	bool encode; /* digest -> cred; else cred -> digest and peer */
	bool failed; /* err says why */
	struct err err;
	char *cred;
	unsigned char digest[WIRE_DIGEST];
	struct peer *peer; /* who made the credential; may be taken */

	/* For worker.c only: */
	work_done_fn *done;
	void *arg;
	int64_t until_ms;
	enum { WORK_QUEUED, WORK_RUNNING, WORK_DONE, WORK_FORGOTTEN } state;
	TAILQ_ENTRY(work) of_queue, of_alive;
};

/* munge_socket: NULL or "" is the system's.  Fails: EMFILE, EAGAIN (no
 * thread). */
struct workers *workers_new(struct event_base *base, const char *munge_socket,
                            struct err *err);

/* All that is still at work is forgotten. */
void workers_free(struct workers *workers);
void workers_set_deadline(struct workers *workers, int64_t ms);

/* cred is len bytes, not ended. */
struct work *work_decode(struct workers *workers, const char *cred, size_t len,
                         work_done_fn *done, void *arg);
struct work *work_encode(struct workers *workers,
                         const unsigned char digest[WIRE_DIGEST],
                         work_done_fn *done, void *arg);

/* done() will not be called any more; NULL is fine. */
void work_forget(struct workers *workers, struct work *work);

#endif
