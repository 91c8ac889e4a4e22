/*
 * conn.h - one connection: frames in, requests in order, answers out
 *
 * receive.c reads and hands over, answer.c writes, conn.c begins and ends; all
 * on the loop's thread. A connection has a list of asks, oldest first: those
 * being answered, those whose credential is being decoded, and at its end
 * perhaps the one whose frame is being read. Only callbacks of libevent close a
 * connection: a caller further up the stack may be using it. All other code
 * answers with an error and marks the connection as ending.
 */
#ifndef AISCHEDD_RPC_CONN_H
#define AISCHEDD_RPC_CONN_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "aischedd/rpc/holder.h"
#include "aischedd/rpc/rpc.h"
#include "aischedd/rpc/slices.h"
#include "aischedd/rpc/worker.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"
#include "libcommon/wire.h"

enum {
	READ_AHEAD = 64 * 1024, /* bytes of bodies held for an unknown sender */
	/* bytes read at once; at most twice as many are held */
	READ_SIZE = 32 * 1024,
	ASKS_MAX = 16, /* requests of one connection in flight */
	/* the same for the connection of the web program, which passes on the
	 * requests of all its visitors */
	ASKS_WEB = 512,
	/* A connection with more unsent bytes than this gets no further
	 * part of an answer, and its requests are not read. */
	DRAINED = 256 * 1024,
	PART_MAX = 256 * 1024 /* bytes in one frame of an answer */
};

TAILQ_HEAD(conn_list, conn);

/* Connections whose peers are not known yet, the longest idle first. */
struct strangers {
	struct conn_list list;
	size_t n;
	struct map origins; /* number of connections of each origin */
};

/* Shared by all connections. */
struct conns {
	struct event_base *base;
	struct workers *workers;
	char *cluster;
	struct rpc_calls calls;
	struct rpc_limits limits;
	bool stopping; /* takes no new requests */

	struct strangers strangers[2]; /* on Unix sockets; over TCP */
	struct conn_list known;        /* the longest idle first */
	size_t nknown;
	uint64_t auth_failures; /* credentials that were refused */
	struct map holders;     /* of known connections, by uid */
	struct slices ready;    /* connections with a request to hand over */
	struct event *go;       /* event that hands over; NULL until needed */
	struct conn_list starving; /* connections that wait for memory */
	size_t body_bytes;         /* charged to all asks together */
};

/* One frame of an answer. */
struct frame {
	TAILQ_ENTRY(frame) next;
	struct ask *ask;
	struct frame_head head;
	struct cred_work *work; /* making its credential; NULL: ready */
	char *cred, *data; /* data: the JSON of a reply, or the raw bytes of a
	                      part */
};

struct ask {
	TAILQ_ENTRY(ask) next;
	struct conn *conn;
	struct frame_head head;

	/* The request, as far as it has been read. */
	bool has_cred;          /* it has arrived, or none is needed */
	bool checked;           /* the credential is valid */
	struct cred_work *work; /* decoding the credential */
	struct peer *peer;      /* NULL: unknown */
	unsigned char digest[WIRE_DIGEST];
	struct frame_hash hash;
	char *body; /* JSON and raw; NULL: not begun, or handed over already */
	size_t got; /* bytes of body read */
	/* Bytes counted against the limits until it is answered: first those of
	 * the body, then of the JSON alone, for what the handler keeps of it.
	 */
	size_t charged;

	/* The answer. */
	bool handed, answered;
	uint32_t part;
	size_t queued; /* bytes in frames */
	TAILQ_HEAD(, frame) frames;
	void (*drained)(struct ask *, void *);
	void *drained_arg;
};

enum conn_timer { TIMER_NONE, TIMER_IDLE, TIMER_FRAME, TIMER_LINGER };

struct conn {
	struct conns *all;
	TAILQ_ENTRY(conn) of_list, of_starving;
	struct slice slice;
	struct bufferevent *bev;
	struct event *timer;
	enum conn_timer timer_for;
	bool tcp, web, starving;
	uint64_t origin;       /* a uid, or a hash of an address */
	struct holder *holder; /* NULL: a stranger */
	bool ending; /* takes no more requests; is closed when all are answered
	              */
	bool lingering; /* everything is sent; reads on until the peer closes */
	bool eof;       /* the peer sends nothing more */
	char nonce[WIRE_NONCE + 1];
	uint32_t seq; /* of the newest ask */
	TAILQ_HEAD(, ask) asks;
	size_t nasks;
	struct ask *reading; /* the newest ask, until its frame is complete */
	size_t unchecked;    /* bytes of bodies from senders not yet known */
};

/* conn.c */
void conns_init(struct conns *all); /* the lists of struct conns */
void conns_fini(struct conns *all); /* closes all connections */
void conn_new(struct conns *all, int fd, bool tcp, uint64_t origin);
/* Begin the connection of the web program, which belongs to no user and is not
 * closed in favour of others. */
void conn_new_web(struct conns *all, int fd);
void conn_close(struct conn *conn);

/* Whether an answer is still being sent. */
bool conn_is_sending(const struct conn *conn);

/* Start the connection's timer for this purpose; TIMER_NONE stops it. */
void conn_set_timer(struct conn *conn, enum conn_timer timer_for, int ms);

/*
 * Tell the peer why the connection ends, after all earlier answers. ask: the
 * request that is wrong, or NULL. No later request is handed over.
 */
void conn_fail(struct conn *conn, struct ask *ask, const struct err *err);

/* Append an ask to its connection. */
struct ask *ask_new(struct conn *conn, const struct frame_head *head);
size_t ask_body_len(const struct ask *ask);

/* Free the body of a request that is not handed over. */
void ask_release(struct ask *ask);
void ask_free(struct ask *ask);

/* receive.c */
/* Take all complete frames, then decide how long to wait for more. */
void receive(struct conn *conn);

/*
 * Decode a request's JSON, an object whose "op" names a request, with at most
 * max_values values. Fails with EPROTO if it is no such object, EMSGSIZE if it
 * has too many values, ENOSYS if there is no such request; with ENOSYS *ret is
 * set, too.
 */
int request_parse(const char *json, size_t len, size_t max_values, json_t **ret,
                  enum op *ret_op, struct err *err);

#endif
