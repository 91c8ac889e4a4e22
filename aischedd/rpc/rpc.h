/*
 * rpc.h - sockets, frames and MUNGE: requests in, answers out
 *
 * Listens, reads frames within their limits, has each credential decoded by a
 * worker thread (and the user's name and groups looked up there), checks the
 * digest and hands the request to the handler on the loop's thread. Until then
 * it holds at most 64 KiB of a connection, and it stops reading while too much
 * waits to be answered. How many connections and how much memory each user may
 * hold is in holder.h. If munged hangs, a request waits at most AUTH_DEADLINE_S
 * and delays no other; requests that need no role are handed over at once.
 */
#ifndef AISCHEDD_RPC_RPC_H
#define AISCHEDD_RPC_RPC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/msg.h"

enum { AUTH_DEADLINE_S = 10 };

struct event_base;
struct rpc;

/* The sender; known is false for op ping, which needs no credential. */
struct peer {
	bool known;
	bool plain; /* counts only as a user, even if an operator or an admin */
	uid_t uid;
	gid_t gid;
	const char *user; /* "1234" if the uid has no name */
	size_t ngroups;
	const gid_t *group;            /* includes the primary group */
	const char *const *group_name; /* [ngroups] */
};

struct request_in {
	enum op op;
	const struct peer *peer;
	json_t *body; /* the whole object, "op" included */
	const void *raw;
	size_t raw_len;
	bool from_web; /* from the web program; see rpc_add_web() */
};

/* One request until it is answered; opaque to the handler. */
struct ask;

/* Called by rpc on the loop's thread. */
struct rpc_calls {
	/* Called for a request. `in` is borrowed for the call, its peer until
	 * the ask is answered or gone. */
	void (*handler)(struct ask *ask, const struct request_in *in,
	                void *arg);
	/* Called if the peer disconnected before it was answered: forget the
	 * ask. */
	void (*gone)(struct ask *ask, void *arg);
	/* Whether this peer may use the connections kept for admins. */
	bool (*is_admin)(const struct peer *peer, void *arg);
	/* Returns a copy of the user whose session this is, or NULL; see
	 * rpc_add_web(). */
	struct peer *(*session)(const char *cookie, size_t len, void *arg);
	void *arg;
};

/*
 * Listen on all addresses of the configuration (systemd's sockets are not
 * used). Replaces a socket file on which nobody answers. Ignores SIGPIPE from
 * now on (children must restore it) and needs LIMIT_CONNS and twice
 * LIMIT_STRANGERS descriptors. Fails with EADDRINUSE if another daemon answers
 * there, or with errno of bind.
 */
struct rpc *rpc_new(struct event_base *base, const struct conf *conf,
                    const struct rpc_calls *calls, struct err *err);
void rpc_free(struct rpc *rpc);

/*
 * Serve the web program at this end of a socket pair. Its requests carry the
 * cookie of a session in place of a credential, or nothing if nobody has logged
 * in; so it can only act for users who have logged in.
 */
void rpc_add_web(struct rpc *rpc, int fd);

/* Whether the web program may ask this without a session. */
bool rpc_is_open(enum op op);

/* Send the last frame, and free the ask; takes the body. */
void rpc_reply(struct ask *ask, json_t *body);
void rpc_refuse(struct ask *ask, const struct err *err);

/* Send one part of an answer. */
void rpc_part(struct ask *ask, const void *data, size_t len);

/* Call fn once the ask's connection has little left to send (perhaps at once,
 * from the loop): long listings are made piece by piece. */
void rpc_when_drained(struct ask *ask, void (*fn)(struct ask *, void *),
                      void *arg);

size_t rpc_connections(const struct rpc *rpc);
/* Count the connections over TCP, or the others. */
size_t rpc_connections_of(const struct rpc *rpc, bool tcp);

/* Credentials that were refused. */
uint64_t rpc_auth_failures(const struct rpc *rpc);

/*
 * Take no more connections and requests, as the daemon ends. Returns false
 * while answers are still being sent: let the loop turn for a short time, and
 * call again. Unanswered requests are not waited for.
 */
bool rpc_stop(struct rpc *rpc);

/* How long and how much peers may take; only tests change the values of
 * rpc.c. */
struct rpc_limits {
	int auth_ms;       /* MUNGE to decode or encode a credential */
	int idle_ms;       /* a peer that has not authenticated to send
	                      something */
	int frame_ms;      /* a peer to send the rest of a frame */
	int linger_ms;     /* a peer to close when told why it ends */
	size_t body_bytes; /* of all requests together, without small ones */
	size_t body_kept;  /* of these, for root and admins only */
	size_t body_user;  /* of all requests of one user; a single request may
	                      have more */
};

void rpc_set_limits(struct rpc *rpc, const struct rpc_limits *limits);

#endif
