/*
 * conn.h - one connection: frames in, requests and answers in order
 *
 * receive.c reads and hands over, answer.c writes, conn.c begins and ends; all
 * on the loop's thread.
 * A connection has a list of asks, oldest first: those being answered, those
 * whose credential is being decoded, and at its end perhaps the one whose
 * frame is being read.  Callbacks other than those of libevent never close a
 * connection while somebody above them on the stack may be using it: what
 * goes wrong is answered with an error and the connection marked as ending.
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
	READ_AHEAD =
	    64 * 1024,         /* bytes of bodies whose sender is unknown yet */
	READ_SIZE = 32 * 1024, /* bytes read at once; twice as many are held */
	ASKS_MAX = 16,         /* requests of one connection in flight */
	DRAINED = 256 * 1024,  /* bytes to be sent that count as little */
	PART_MAX = 256 * 1024  /* bytes in one frame of an answer */
};

TAILQ_HEAD(conn_list, conn);

/* Connections whose peers are not known yet, the longest idle first. */
struct strangers {
	struct conn_list list;
	size_t n;
	struct map origins; /* how many each has */
};

/* What all connections share. */
struct conns {
	struct event_base *base;
	struct workers *workers;
	char *cluster;
	struct rpc_calls calls;
	struct rpc_limits limits;
	bool stopping; /* takes no more requests */

	struct strangers strangers[2]; /* on Unix sockets; over TCP */
	struct conn_list known;        /* the longest idle first */
	size_t nknown;
	struct map holders;        /* of known connections, by uid */
	struct slices ready;       /* have a request to be handed over */
	struct event *go;          /* hands them over; NULL: not yet needed */
	struct conn_list starving; /* wait until bodies of others are gone */
	size_t body_bytes;         /* charged to all asks */
};

/* One frame of an answer. */
struct frame {
	TAILQ_ENTRY(frame) next;
	struct ask *ask;
	struct frame_head head;
	struct work *work; /* its credential is being made; NULL: ready */
	char *cred, *data; /* data: the JSON of a reply, the raw of a part */
};

struct ask {
	TAILQ_ENTRY(ask) next;
	struct conn *conn;
	struct frame_head head;

	/* The request, as far as it has come. */
	bool has_cred;     /* or needs none */
	bool checked;      /* the credential is good */
	struct work *work; /* the credential is being decoded */
	struct peer *peer; /* NULL: nobody */
	unsigned char digest[WIRE_DIGEST];
	struct frame_hash hash;
	char *body; /* JSON and raw; NULL: not begun, or handed over */
	size_t got; /* bytes of body */
	/* Bytes that count against the limits until it is answered: of the
	 * body, then of the JSON alone, for what the handler keeps of it. */
	size_t charged;

	/* Its answer. */
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
	bool tcp, starving;
	uint64_t origin;       /* a uid, or a hash of an address */
	struct holder *holder; /* NULL: a stranger */
	bool ending;    /* no more requests; closed once all is answered */
	bool lingering; /* all is sent: reads until the peer closes too */
	bool eof;       /* the peer will send no more */
	char nonce[WIRE_NONCE + 1];
	uint32_t seq; /* of the newest ask */
	TAILQ_HEAD(, ask) asks;
	size_t nasks;
	struct ask *reading; /* the newest, while its frame is not whole */
	size_t unchecked;    /* bytes of bodies whose sender is not known yet */
};

/* conn.c */
void conns_init(struct conns *all); /* the lists */
void conns_fini(struct conns *all); /* closes all connections */
void conn_new(struct conns *all, int fd, bool tcp, uint64_t origin);
void conn_close(struct conn *conn);

/* Whether an answer that was given is still on its way. */
bool conn_is_sending(const struct conn *conn);

/* TIMER_NONE stops it. */
void conn_set_timer(struct conn *conn, enum conn_timer timer_for, int ms);

/*
 * Tell the peer why this is the end, once what it asked before is answered.
 * ask: the request that is wrong, or NULL.  Nothing after it is handed over.
 */
void conn_fail(struct conn *conn, struct ask *ask, const struct err *err);

/* The last of its connection. */
struct ask *ask_new(struct conn *conn, const struct frame_head *head);
size_t ask_body_len(const struct ask *ask);

/* Free the body of a request that is not handed over. */
void ask_release(struct ask *ask);
void ask_free(struct ask *ask);

/* receive.c */
/* Take as many frames as there are, then see how long to wait for more. */
void receive(struct conn *conn);

/*
 * Decode a request's JSON, an object whose "op" names a request, unless it has
 * more than so many values.
 * Fails with EPROTO when it is no such object, EMSGSIZE when it has too many
 * values, ENOSYS when there is no such request; with ENOSYS *ret is set, too.
 */
int request_parse(const char *json, size_t len, size_t max_values, json_t **ret,
                  enum op *ret_op, struct err *err);

/* answer.c */
void answer_flush(struct conn *conn);        /* send what is ready, in order */
void answer_drained(struct conn *conn);      /* little is left to send */
void answer_free(struct ask *ask);           /* its frames */
char *answer_refusal(const struct err *err); /* JSON, on the heap */

#endif
