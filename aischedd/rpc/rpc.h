/*
 * rpc.h - sockets, frames and MUNGE: requests in, answers out
 *
 * Listens, reads frames within their limits, has each credential decoded by
 * a worker thread (and the user's name and groups looked up there), checks
 * the digest and hands the request to the handler on the loop's thread.
 * Until then no more of a connection is held than 64 KiB, and reading of it
 * stops while too much of it waits to be answered.  How many connections and
 * how much memory each user may hold is in holder.h.
 * A munged that hangs costs each request at most AUTH_DEADLINE_S and nobody
 * else anything; requests that need no role are handed over at once.
 */
#ifndef AISCHEDD_RPC_RPC_H
#define AISCHEDD_RPC_RPC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "libcommon/conf/conf.h"
#include "libcommon/err.h"
#include "libcommon/msg.h"

enum { AUTH_DEADLINE_S = 10 };

struct event_base;
struct rpc;

/* Who asks; nobody (op ping): known is false. */
struct peer {
	bool known;
	uid_t uid;
	gid_t gid;
	const char *user; /* "1234" when the uid has no name */
	size_t ngroups;
	const gid_t *group;            /* the primary one too */
	const char *const *group_name; /* [ngroups] */
};

struct request_in {
	enum op op;
	const struct peer *peer;
	json_t *body; /* the whole object, "op" included */
	const void *raw;
	size_t raw_len;
};

/* One request until it is answered; an opaque handle for the handler. */
struct ask;

/* What rpc calls, on the loop's thread. */
struct rpc_calls {
	/* Once for each request.  `in` is borrowed for the call, its peer
	 * until the ask is answered or closed. */
	void (*handler)(struct ask *ask, const struct request_in *in,
	                void *arg);
	/* The peer went away before it was answered: forget the ask. */
	void (*gone)(struct ask *ask, void *arg);
	/* Whether the connections kept for admins are for this peer. */
	bool (*is_admin)(const struct peer *peer, void *arg);
	void *arg;
};

/*
 * Listen on all addresses of the configuration (sockets of systemd are not
 * used).  A socket file that nobody answers on is replaced.
 * Ignores SIGPIPE from now on (children must take it up again) and needs
 * LIMIT_CONNS and twice LIMIT_STRANGERS descriptors.
 * Fails: EADDRINUSE another daemon answers there, or errno of bind.
 */
struct rpc *rpc_new(struct event_base *base, const struct conf *conf,
                    const struct rpc_calls *calls, struct err *err);
void rpc_free(struct rpc *rpc);

/* The last frame; body is taken (stolen).  The ask is gone afterwards. */
void rpc_reply(struct ask *ask, json_t *body);
void rpc_refuse(struct ask *ask, const struct err *err);

/* One part of an answer. */
void rpc_part(struct ask *ask, const void *data, size_t len);

/* Call fn once the ask's connection has little left to send (it may be at
 * once, from the loop): long listings are made piece by piece. */
void rpc_when_drained(struct ask *ask, void (*fn)(struct ask *, void *),
                      void *arg);

size_t rpc_connections(const struct rpc *rpc);

/*
 * Take no more connections and requests, for the end of the daemon; false
 * while answers already given are not wholly sent: let the loop turn, not
 * for long, and ask again.  What is not answered is not waited for.
 */
bool rpc_stop(struct rpc *rpc);

/* What peers may do; only tests set other values than those of rpc.c. */
struct rpc_limits {
	int auth_ms;       /* MUNGE, to decode or encode a credential */
	int idle_ms;       /* a peer never authenticated, to say something */
	int frame_ms;      /* a peer, to send a frame it began */
	int linger_ms;     /* a peer, to close when it was told why it ends */
	size_t body_bytes; /* of all requests at once, but for small ones */
	size_t body_kept;  /* of them for root and admins only */
	size_t body_user;  /* of all requests of one user, or one of any size */
};

void rpc_set_limits(struct rpc *rpc, const struct rpc_limits *limits);

#endif
