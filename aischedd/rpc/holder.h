/*
 * holder.h - how much each user holds of what connections share
 *
 * A connection belongs to a stranger until its first valid credential. Each
 * kind of socket has a number of connections for strangers; when all are taken,
 * the origin (uid on a Unix socket, address over TCP) that has the most of them
 * loses its oldest one. Afterwards a connection belongs to a user. The number
 * for each user is limited, and some are kept for root and admins. When all
 * others are taken, an idle one is closed; if none is idle, the user who has
 * the most loses one to a user who has fewer.
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

/* One user, and what this user's requests and connections hold. */
struct holder {
	uid_t uid;
	bool admin; /* or root: limits of users do not apply */
	size_t nconns;
	size_t nasks; /* unanswered requests */
	size_t body_bytes;
};

/* Count a new connection as a stranger's; may close that of another stranger.
 */
void holder_add_stranger(struct conn *conn);

/*
 * Count the connection as this peer's from now on. Fails with EBUSY if the user
 * has as many as allowed and each waits for an answer.
 */
int holder_admit(struct conn *conn, const struct peer *peer, struct err *err);

/* Count it as the web program's; never fails. */
void holder_admit_web(struct conn *conn);

/* Whether the connection may have another request in flight; one is always
 * allowed. */
bool holder_may_ask(const struct conn *conn);

/* Stop counting the connection; call it before that is closed. */
void holder_remove(struct conn *conn);

/* Close the least needed connection; returns false if all wait for an answer.
 */
bool holder_make_room(struct conns *all);

/* Whether a body of this many bytes may be received now. */
bool holder_has_memory(const struct conn *conn, size_t len);
/* Count bytes for the ask, or give them back. */
void holder_charge(struct ask *ask, size_t bytes);
void holder_discharge(struct ask *ask);

#endif
