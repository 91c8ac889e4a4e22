/*
 * holder.h - who holds how much of what connections share
 *
 * A connection is a stranger's until its first good credential.  Strangers
 * of each kind of socket have connections of their own; when all are taken,
 * the origin (uid on a Unix socket, address over TCP) that has most of them
 * loses its oldest one.  Afterwards a connection belongs to a user.  Each
 * user may have so many, and some are kept for root and admins; when all
 * others are taken, an idle one is closed, else the user who has most of
 * them loses one to a user who has fewer.
 */
#ifndef AISCHEDD_RPC_HOLDER_H
#define AISCHEDD_RPC_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/err.h"

struct ask;
struct conn;
struct conns;
struct peer;

/* One user and what the requests and connections of that user take. */
struct holder {
	uid_t uid;
	bool admin; /* root, too: the limits of users do not apply */
	size_t nconns;
	size_t nasks; /* requests that are not answered yet */
	size_t body_bytes;
};

/* Count a new connection as a stranger's; may close that of another. */
void holder_add_stranger(struct conn *conn);

/*
 * The connection is this peer's from now on.
 * Fails with EBUSY: all that this user may have wait for an answer.
 */
int holder_admit(struct conn *conn, const struct peer *peer, struct err *err);

/* Whether the connection may have another request in flight: one it always
 * may. */
bool holder_may_ask(const struct conn *conn);

/* The connection is about to be closed. */
void holder_remove(struct conn *conn);

/* Close the connection that is missed least; false: all wait for an answer. */
bool holder_make_room(struct conns *all);

/* Whether a body of so many bytes may be received now. */
bool holder_has_memory(const struct conn *conn, size_t len);
/* Count bytes for the ask, or give them back. */
void holder_charge(struct ask *ask, size_t bytes);
void holder_discharge(struct ask *ask);

#endif
