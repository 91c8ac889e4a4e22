/*
 * answer.c - answers of a connection
 *
 * Answers are sent in the order of their requests. The web program sends
 * requests of many users, so its answers are sent as soon as they are ready:
 * what takes long for one user delays no other.
 *
 * Over TCP each frame waits for a credential that binds it to its request, so
 * that the client knows who answers. On a Unix socket frames have no
 * credential: the client trusts whoever could make a socket at that path.
 * Answers to a ping and to unknown peers have none either, because munged
 * itself may be broken.
 */
#include "aischedd/rpc/answer.h"

#include <assert.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/rpc/conn.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

static void frame_free(struct frame *f)
{
	workers_forget(f->ask->conn->all->workers, f->work);
	TAILQ_REMOVE(&f->ask->frames, f, next);
	free(f->cred);
	free(f->data);
	free(f);
}

void answer_free(struct ask *ask)
{
	while (!TAILQ_EMPTY(&ask->frames))
		frame_free(TAILQ_FIRST(&ask->frames));
}

static void frame_send(struct frame *f)
{
	struct evbuffer *out = bufferevent_get_output(f->ask->conn->bev);
	size_t len = f->head.json_len + f->head.raw_len;
	unsigned char head[WIRE_HEAD];

	f->head.cred_len = f->cred ? (uint32_t)strlen(f->cred) : 0;
	frame_head_put(head, &f->head);
	evbuffer_add(out, head, sizeof(head));
	if (f->cred)
		evbuffer_add(out, f->cred, f->head.cred_len);
	evbuffer_add(out, f->data, len);
	f->ask->queued -= len;
	frame_free(f);
}

/* Send those frames of an answer that have their credentials, in order. Returns
 * whether the last frame of the answer was sent. */
static bool send_ready(struct ask *ask)
{
	struct frame *f;

	while ((f = TAILQ_FIRST(&ask->frames)) && !f->work)
		frame_send(f);
	return ask->answered && !f;
}

/* send the frames that are ready */
static void flush_frames(struct conn *conn)
{
	struct ask *ask, *next;
	bool fewer = false;

	for (ask = TAILQ_FIRST(&conn->asks); ask; ask = next) {
		next = TAILQ_NEXT(ask, next);
		if (send_ready(ask)) {
			ask_free(ask);
			fewer = true;
		} else if (!conn->web) {
			break;
		}
	}
	/* An answered request was freed, so another one may be read. Let the
	 * loop read it, as our caller may be the handler. */
	if (fewer)
		bufferevent_trigger(conn->bev, EV_READ,
		                    BEV_TRIG_IGNORE_WATERMARKS |
		                        BEV_TRIG_DEFER_CALLBACKS);
}

/* Returns the ask whose answer is to continue next: the oldest one or, on the
 * web program's connection, the one that has sent the fewest parts. Returns
 * NULL if there is none. */
static struct ask *find_drained(const struct conn *conn)
{
	struct ask *found = NULL, *ask;

	TAILQ_FOREACH(ask, &conn->asks, next) {
		if (ask->drained && (!found || ask->part < found->part))
			found = ask;
		if (!conn->web)
			break;
	}
	return found;
}

void answer_drained(struct conn *conn)
{
	struct ask *ask = find_drained(conn);
	size_t out = evbuffer_get_length(bufferevent_get_output(conn->bev));
	void (*fn)(struct ask *, void *);

	if (!ask || out + ask->queued > DRAINED)
		return;
	fn = ask->drained;
	ask->drained = NULL;
	fn(ask, ask->drained_arg);
	if (find_drained(conn))
		bufferevent_trigger(conn->bev, EV_WRITE,
		                    BEV_TRIG_DEFER_CALLBACKS);
}

/* Send a frame whose credential has been made. If making it failed, close the
 * connection: the client then repeats its request with the same token. */
static void on_encoded(struct cred_work *work, void *arg)
{
	struct frame *f = arg;
	struct conn *conn = f->ask->conn;

	f->work = NULL;
	if (work->failed) {
		conn_close(conn);
		return;
	}
	f->cred = work->cred;
	work->cred = NULL;
	flush_frames(conn);
}

static void frame_add(struct ask *ask, enum frame_kind kind, char *data,
                      size_t len)
{
	struct conn *conn = ask->conn;
	struct frame *f = xcalloc(1, sizeof(*f));
	unsigned char digest[WIRE_DIGEST];

	f->ask = ask;
	f->data = data;
	f->head.kind = kind;
	f->head.seq = ask->head.seq;
	if (kind == FRAME_REPLY)
		f->head.json_len = (uint32_t)len;
	else
		f->head.raw_len = (uint32_t)len;
	ask->part++;
	ask->queued += len;
	TAILQ_INSERT_TAIL(&ask->frames, f, next);
	if (conn->tcp && ask->peer) {
		frame_digest(digest, kind, conn->all->cluster, conn->nonce,
		             f->head.seq, ask->part, data, f->head.json_len,
		             data, f->head.raw_len);
		f->work =
		    workers_encode(conn->all->workers, digest, on_encoded, f);
	}
	flush_frames(conn);
}

char *answer_refusal(const struct err *err)
{
	struct buf json = { 0 };

	buf_puts(&json, "{\"error\":{\"code\":");
	buf_i64(&json, err->code);
	buf_puts(&json, ",\"text\":");
	buf_json(&json, err->text);
	buf_puts(&json, "}}");
	return buf_take(&json);
}

static void last_frame(struct ask *ask, char *json)
{
	assert(!ask->answered);
	ask->answered = true;
	ask->drained = NULL;
	ask_release(ask);
	frame_add(ask, FRAME_REPLY, json, strlen(json));
}

void rpc_refuse(struct ask *ask, const struct err *err)
{
	last_frame(ask, answer_refusal(err));
}

void rpc_reply(struct ask *ask, json_t *body)
{
	char *json = json_dumps(body, JSON_COMPACT);
	struct err err;

	json_decref(body);
	if (json && strlen(json) <= LIMIT_JSON) {
		last_frame(ask, json);
		return;
	}
	free(json);
	err_set(&err, EMSGSIZE, "the answer is too long to send");
	rpc_refuse(ask, &err);
}

void rpc_part(struct ask *ask, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		size_t n = len < PART_MAX ? len : PART_MAX;
		char *copy = xmalloc(n);

		memcpy(copy, p, n);
		frame_add(ask, FRAME_PART, copy, n);
		p += n;
		len -= n;
	}
}

void rpc_when_drained(struct ask *ask, void (*fn)(struct ask *, void *),
                      void *arg)
{
	ask->drained = fn;
	ask->drained_arg = arg;
	bufferevent_trigger(ask->conn->bev, EV_WRITE, BEV_TRIG_DEFER_CALLBACKS);
}
