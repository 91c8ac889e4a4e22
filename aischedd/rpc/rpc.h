/*
 * rpc.h - sockets, frames and MUNGE: requests in, answers out
 *
 * Listens, reads frames within their limits, lets a worker thread decode each
 * credential and look up the user's name and groups, checks the digest, and
 * hands the request to the handler on the loop's thread. Until the sender is
 * known, at most 64 KiB of a connection's requests are held. Reading stops
 * while too much is unanswered; holder.h explains limits of connections and
 * memory. If munged hangs, a request waits at most AUTH_DEADLINE_S and delays
 * no other; requests that need no credential are handed over at once.
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

/* The sender of a request. It is unknown only for requests that need no
 * credential, such as ping. */
struct peer {
	bool known;
	bool plain; /* treat as a plain user, even if an operator or an admin */
	uid_t uid;
	gid_t gid;
	const char *user; /* login name; if there is none, the uid as text */
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
	/* steps_spent() when the daemon began to decode the request */
	uint64_t began;
	/* the request comes from the web program; see rpc_add_web() */
	bool from_web;
};

/* One request until it is answered; the handler does not see its members. */
struct ask;

/* Functions that rpc calls on the loop's thread. */
struct rpc_calls {
	/* Serve a request. `in` is borrowed for the call; its peer stays valid
	 * until the ask is answered or gone. */
	void (*handler)(struct ask *ask, const struct request_in *in,
	                void *arg);
	/* The peer disconnected before this ask was answered: forget
	 * the ask. */
	void (*gone)(struct ask *ask, void *arg);
	/* Whether this peer may use the connections kept for admins. */
	bool (*is_admin)(const struct peer *peer, void *arg);
	/* Returns a copy of the user whose session this cookie names, or NULL;
	 * see rpc_add_web(). */
	struct peer *(*session)(const char *cookie, size_t len, void *arg);
	void *arg;
};

/*
 * Listen on all addresses of the configuration (socket activation by systemd is
 * not used). Replaces a socket file on which nobody answers. Ignores SIGPIPE
 * from now on (children must restore it) and needs LIMIT_CONNS and twice
 * LIMIT_STRANGERS descriptors. Fails with EADDRINUSE if another daemon answers
 * at an address, or with errno of bind().
 */
struct rpc *rpc_new(struct event_base *base, const struct conf *conf,
                    const struct rpc_calls *calls, struct err *err);
void rpc_free(struct rpc *rpc);

/*
 * Serve the web program on this end of a socket pair. Instead of a credential,
 * its requests have the cookie of a session, or nothing if nobody has logged
 * in: so it can act only for users who have logged in.
 */
void rpc_add_web(struct rpc *rpc, int fd);

/* Whether the web program may send this request without a session. */
bool rpc_is_open(enum op op);

/* Send the last frame of the answer, and free the ask; takes over body. */
void rpc_reply(struct ask *ask, json_t *body);
void rpc_refuse(struct ask *ask, const struct err *err);

/* Send one part of an answer. */
void rpc_part(struct ask *ask, const void *data, size_t len);

/* Have the loop call fn when little is left to send on the ask's connection; if
 * little is left now, the loop calls it soon. Callers use this to make long
 * answers piece by piece. */
void rpc_when_drained(struct ask *ask, void (*fn)(struct ask *, void *),
                      void *arg);

size_t rpc_connections(const struct rpc *rpc);
/* Returns the number of connections: over TCP if tcp is true, else on
 * Unix sockets. */
size_t rpc_connections_of(const struct rpc *rpc, bool tcp);

/* Returns how many credentials were refused so far. */
uint64_t rpc_auth_failures(const struct rpc *rpc);

/*
 * Accept no more connections and requests, because the daemon ends. Returns
 * false while answers are still being sent: then let the loop run for a short
 * time and call again. Requests without an answer are not waited for.
 */
bool rpc_stop(struct rpc *rpc);

/* Limits of time and memory. The daemon uses the values in rpc.c; only tests
 * set others. */
struct rpc_limits {
	/* time for munged to decode or encode a credential */
	int auth_ms;
	/* how long a connection without a known user may be idle */
	int idle_ms;
	/* time for a peer to send the rest of a frame */
	int frame_ms;
	/* time for a peer to close after it was told why the connection ends */
	int linger_ms;
	/* memory for bodies of all requests together, small ones not counted */
	size_t body_bytes;
	/* part of body_bytes that only root and admins may use */
	size_t body_kept;
	/* memory for all bodies of one user; one single request may
	 * exceed it */
	size_t body_user;
};

void rpc_set_limits(struct rpc *rpc, const struct rpc_limits *limits);

#endif
