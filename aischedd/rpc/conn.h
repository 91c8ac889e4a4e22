/*
 * conn.h - one connection: frames in, requests in order, answers out
 *
 * receive.c reads frames and hands requests over, answer.c sends answers,
 * conn.c begins and ends connections; all of it runs on the loop's thread. A
 * connection has a list of asks (requests), oldest first: those being answered,
 * then those whose credential is being decoded, and at its end perhaps one
 * whose frame is being read. Only callbacks of libevent may close a connection.
 * When other code runs, a caller further up the stack may still use the
 * connection: such code sends an error and marks the connection as ending.
 */
#ifndef AISCHEDD_RPC_CONN_H
#define AISCHEDD_RPC_CONN_H

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "aischedd/rpc/closer.h"
#include "aischedd/rpc/holder.h"
#include "aischedd/rpc/rpc.h"
#include "aischedd/rpc/slices.h"
#include "aischedd/rpc/worker.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"
#include "libcommon/wire.h"

enum {
	/* bytes of request bodies held for an unknown sender */
	READ_AHEAD = 64 * 1024,
	/* bytes read from a socket at once; at most twice as many are held */
	READ_SIZE = 32 * 1024,
	/* unanswered requests of one connection */
	ASKS_MAX = 16,
	/* the same for the connection of the web program, which sends the
	 * requests of all its visitors */
	ASKS_WEB = 512,
	/* While a connection has more unsent bytes than this, no further parts
	 * of its answers are made and its requests are not read. */
	DRAINED = 256 * 1024,
	/* most bytes in one frame of an answer */
	PART_MAX = 256 * 1024
};

TAILQ_HEAD(conn_list, conn);

/* Connections whose peers are unknown, beginning with the longest idle one. */
struct strangers {
	struct conn_list list;
	size_t n;
	struct map origins; /* how many connections each origin has */
};

/* Shared by all connections. */
struct conns {
	struct event_base *base;
	struct workers *workers;
	struct closer *closer;
	char *cluster;
	struct rpc_calls calls;
	struct rpc_limits limits;
	bool stopping; /* no new requests are taken */

	struct strangers strangers[2]; /* of Unix sockets; of TCP */
	/* connections of known users, beginning with the longest idle one */
	struct conn_list known;
	size_t nknown;
	uint64_t auth_failures; /* credentials that were refused */
	struct map holders;     /* users who have connections, by uid */
	struct slices ready;    /* connections with a request to hand over */
	/* steps_turn_began of the turn in which the last request was handed
	 * over */
	uint64_t handed_in;
	/* event that hands over requests; NULL until needed */
	struct event *go;
	struct conn_list starving; /* connections that wait for memory */
	/* bytes charged to all asks together */
	size_t body_bytes;
};

/* One frame of an answer. */
struct frame {
	TAILQ_ENTRY(frame) next;
	struct ask *ask;
	struct frame_head head;
	/* work that makes the credential; NULL: the frame is ready */
	struct cred_work *work;
	char *cred, *data; /* data: the JSON of a reply, or the raw bytes of a
	                      part */
};

struct ask {
	TAILQ_ENTRY(ask) next;
	struct conn *conn;
	struct frame_head head;

	/* The part of the request that has been read. */
	/* the credential has arrived, or none is needed */
	bool has_cred;
	bool checked;           /* the credential is valid, or none is needed */
	struct cred_work *work; /* work that decodes the credential */
	struct peer *peer;      /* sender; NULL: unknown */
	unsigned char digest[WIRE_DIGEST];
	struct frame_hash hash;
	/* JSON and raw bytes; NULL: not begun, or handed over */
	char *body;
	size_t got; /* bytes of the body that have arrived */
	/* Bytes that count against the limits until the request is answered: at
	 * first the whole body; when it is handed over, the length of its JSON,
	 * as the handler may keep the parsed JSON. */
	size_t charged;

	/* The answer. */
	bool handed, answered;
	uint32_t part;
	/* bytes of frames not sent yet */
	size_t queued;
	TAILQ_HEAD(, frame) frames;
	void (*drained)(struct ask *, void *);
	void *drained_arg;
};

enum conn_timer { TIMER_NONE, TIMER_IDLE, TIMER_FRAME, TIMER_LINGER };

struct conn {
	struct conns *all;
	TAILQ_ENTRY(conn) of_list, of_starving;
	struct slice slice;
	struct bufferevent *bev; /* only writes */
	struct event *readable;  /* not pending: nothing is read for now */
	struct evbuffer *in;     /* what was read, and not processed yet */
	struct event *timer;
	enum conn_timer timer_for;
	bool tcp, web, starving;
	/* The peer can send descriptors, which the kernel must not close on the
	 * loop's thread. */
	bool guarded;
	uint64_t origin; /* a uid, or the hash of an address */
	/* the user to whom it belongs; NULL: a stranger */
	struct holder *holder;
	/* takes no more requests, and is closed when all are answered */
	bool ending;
	/* all is sent; waits for the peer to close */
	bool lingering;
	/* the peer will send nothing more */
	bool eof;
	char nonce[WIRE_NONCE + 1];
	/* number of the newest request */
	uint32_t seq;
	TAILQ_HEAD(, ask) asks;
	size_t nasks;
	/* the newest ask, while its frame is incomplete */
	struct ask *reading;
	/* bytes of bodies whose senders are not known yet */
	size_t unchecked;
};

/* conn.c */
/* set up the lists of struct conns */
void conns_init(struct conns *all);
/* close all connections */
void conns_fini(struct conns *all);
/* Close a socket. guarded: let the closer (closer.h) close it, because unread
 * messages in the socket may have descriptors whose close(2) blocks. */
void conns_close_fd(struct conns *all, int fd, bool guarded);
void conn_new(struct conns *all, int fd, bool tcp, uint64_t origin);
/* Add the connection of the web program. It belongs to no user and is never
 * closed to make room for others. */
void conn_new_web(struct conns *all, int fd);
void conn_close(struct conn *conn);

/* Whether parts of an answer are still to be sent. */
bool conn_is_sending(const struct conn *conn);

/* Start the connection's timer for this purpose instead of the previous one;
 * TIMER_NONE stops it. */
void conn_set_timer(struct conn *conn, enum conn_timer timer_for, int ms);

/* End the connection with an error, which the peer gets after all earlier
 * answers. ask: the request that caused the error, or NULL. No later request is
 * handed over. */
void conn_fail(struct conn *conn, struct ask *ask, const struct err *err);

/* Append an ask to its connection. */
struct ask *ask_new(struct conn *conn, const struct frame_head *head);
size_t ask_body_len(const struct ask *ask);

/* Free the body of a request that will not be handed over. */
void ask_release(struct ask *ask);
void ask_free(struct ask *ask);

/* receive.c */
/* Read all frames that have arrived completely, then set a timer for what is
 * still missing. */
void receive(struct conn *conn);

/*
 * Decode the JSON of a request: an object with at most max_values values, whose
 * "op" names the request. Fails with EPROTO if it is not such an object,
 * EMSGSIZE if it has too many values, ENOSYS if no request has this name; with
 * ENOSYS *ret is set nevertheless.
 */
int request_parse(const char *json, size_t len, size_t max_values, json_t **ret,
                  enum op *ret_op, struct err *err);

#endif
