/*
 * holder.h - how many connections and how much memory each user holds
 *
 * A connection belongs to a stranger until its first valid credential. Unix
 * sockets and TCP each have a number of connections for strangers. When all of
 * these are taken, the origin (uid on a Unix socket, address over TCP) that has
 * the most of them loses its oldest one. After its first valid credential a
 * connection belongs to a user. Each user may have a limited number of
 * connections, and some connections are kept for root and admins. When all
 * others are taken, an idle connection is closed; if none is idle, the user who
 * has the most connections loses one to a user who has fewer.
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

/* One user, and what connections and requests of this user take up. */
struct holder {
	uid_t uid;
	/* an admin or root, to whom the limits of users do not apply */
	bool admin;
	size_t nconns;
	size_t nasks; /* unanswered requests */
	size_t body_bytes;
};

/* Count a new connection as a stranger's. This may close the connection of
 * another stranger. */
void holder_add_stranger(struct conn *conn);

/* Count the connection as this peer's from now on. Fails with EBUSY if the user
 * has as many connections as allowed and all of them wait for an answer. */
int holder_admit(struct conn *conn, const struct peer *peer, struct err *err);

/* Count the connection as the web program's; never fails. */
void holder_admit_web(struct conn *conn);

/* Whether another request may be read from the connection. One unanswered
 * request is always allowed. */
bool holder_may_ask(const struct conn *conn);

/* Stop counting the connection. Call this before closing it. */
void holder_remove(struct conn *conn);

/* Close the least needed connection. Returns false if all wait for
 * an answer. */
bool holder_make_room(struct conns *all);

/* Whether memory may be allocated now for a body of this many bytes. */
bool holder_has_memory(const struct conn *conn, size_t len);
/* holder_charge(): count these bytes as held by the ask's sender.
 * holder_discharge(): no longer count any bytes of the ask. */
void holder_charge(struct ask *ask, size_t bytes);
void holder_discharge(struct ask *ask);

#endif
