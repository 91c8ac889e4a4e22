/* link.c - requests to the daemon */
#include "web/link.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "libcommon/mem.h"
#include "libcommon/wire.h"

enum {
	PARTS_MAX = 4 << 20, /* bytes of one answer, at most */
	SENT_MAX = 4 /* requests of one visitor that are sent and not yet
	                answered, at most */
};

struct web_query {
	TAILQ_ENTRY(web_query) next;
	struct web_link *link;
	uint64_t visitor;
	struct frame_head head; /* seq is 0 until the request is sent */
	struct buf text;        /* cookie and JSON, until it is sent */
	web_answer_fn *fn;      /* NULL: the answer is no longer wanted */
	void *arg;
	struct web_answer answer;
};

struct web_link {
	struct bufferevent *bev;
	void (*gone)(void);
	uint32_t seq;
	TAILQ_HEAD(, web_query) queries; /* oldest first */
};

static void query_free(struct web_query *q)
{
	TAILQ_REMOVE(&q->link->queries, q, next);
	buf_free(&q->text);
	buf_free(&q->answer.parts);
	free(q);
}

/* --- requests ------------------------------------------------------------- */

static void send_now(struct web_query *q)
{
	struct evbuffer *out = bufferevent_get_output(q->link->bev);
	unsigned char bytes[WIRE_HEAD];

	q->head.seq = ++q->link->seq;
	frame_head_put(bytes, &q->head);
	evbuffer_add(out, bytes, sizeof(bytes));
	evbuffer_add(out, q->text.data, q->text.len);
	buf_free(&q->text);
}

size_t web_link_count(const struct web_link *link, uint64_t visitor)
{
	const struct web_query *q;
	size_t n = 0;

	TAILQ_FOREACH(q, &link->queries, next)
		n += q->visitor == visitor;
	return n;
}

/* Send the oldest waiting request of a visitor, unless SENT_MAX of them are
 * already sent. */
static void send_next(struct web_link *link, uint64_t visitor)
{
	struct web_query *q, *waits = NULL;
	int sent = 0;

	TAILQ_FOREACH(q, &link->queries, next) {
		if (q->visitor != visitor)
			continue;
		if (q->head.seq)
			sent++;
		else if (!waits)
			waits = q;
	}
	if (waits && sent < SENT_MAX)
		send_now(waits);
}

struct web_query *web_link_ask(struct web_link *link, json_t *req,
                               const char *cookie, uint64_t visitor,
                               web_answer_fn *fn, void *arg)
{
	struct web_query *q = xcalloc(1, sizeof(*q));
	char *json = json_dumps(req, JSON_COMPACT);

	q->link = link;
	q->visitor = visitor;
	q->fn = fn;
	q->arg = arg;
	q->head.kind = FRAME_REQUEST;
	q->head.cred_len = cookie ? (uint32_t)strlen(cookie) : 0;
	q->head.json_len = (uint32_t)strlen(json);
	buf_puts(&q->text, cookie ? cookie : "");
	buf_puts(&q->text, json);
	free(json);
	json_decref(req);
	TAILQ_INSERT_TAIL(&link->queries, q, next);
	send_next(link, visitor);
	return q;
}

/* A request that was sent is freed only when its answer comes; until then it
 * counts towards SENT_MAX. */
void web_query_forget(struct web_query *query)
{
	if (!query)
		return;
	query->fn = NULL;
	if (!query->head.seq)
		query_free(query);
}

/* --- answers -------------------------------------------------------------- */

/* Returns the sent request with this number, or NULL. */
static struct web_query *find(const struct web_link *link, uint32_t seq)
{
	struct web_query *q;

	TAILQ_FOREACH(q, &link->queries, next)
		if (q->head.seq == seq && seq)
			return q;
	return NULL;
}

static void finish(struct web_query *q, const char *json, size_t len)
{
	json_t *last = json_loadb(json, len, 0, NULL);
	const json_t *error = json_object_get(last, "error");
	struct web_link *link = q->link;
	uint64_t visitor = q->visitor;

	if (!last)
		err_set(&q->answer.err, EPROTO, "the daemon answers no JSON");
	else if (error)
		err_set(&q->answer.err,
		        (int)json_integer_value(json_object_get(error, "code")),
		        "%s",
		        json_string_value(json_object_get(error, "text")));
	q->answer.last = last;
	if (q->fn)
		q->fn(&q->answer, q->arg);
	json_decref(last);
	query_free(q);
	send_next(link, visitor);
}

static void take_part(struct web_query *q, const char *data, size_t len)
{
	if (!q->fn || q->answer.err.code)
		return;
	if (q->answer.parts.len + len > PARTS_MAX)
		err_set(&q->answer.err, EMSGSIZE,
		        "the answer is too long: ask for less");
	else
		buf_add(&q->answer.parts, data, len);
}

/* Handle a frame of the daemon. Returns false if none is complete. */
static bool take_frame(struct web_link *link)
{
	struct evbuffer *in = bufferevent_get_input(link->bev);
	unsigned char bytes[WIRE_HEAD];
	struct frame_head head;
	struct web_query *q;
	const char *body;
	size_t len;

	if (evbuffer_copyout(in, bytes, WIRE_HEAD) < WIRE_HEAD)
		return false;
	if (frame_head_get(&head, bytes, NULL) < 0) {
		link->gone();
		return false;
	}
	len = WIRE_HEAD + head.cred_len + (size_t)head.json_len + head.raw_len;
	if (evbuffer_get_length(in) < len)
		return false;
	body = (const char *)evbuffer_pullup(in, (ssize_t)len) + WIRE_HEAD +
	       head.cred_len;
	q = find(link, head.seq);
	if (!q && head.kind != FRAME_HELLO)
		link->gone();
	else if (head.kind == FRAME_PART)
		take_part(q, body + head.json_len, head.raw_len);
	else if (head.kind == FRAME_REPLY)
		finish(q, body, head.json_len);
	evbuffer_drain(in, len);
	return true;
}

static void on_read(struct bufferevent *bev, void *arg)
{
	(void)bev;
	while (take_frame(arg))
		;
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct web_link *link = arg;

	(void)bev;
	(void)what;
	link->gone();
}

struct web_link *web_link_new(struct event_base *base, int fd,
                              void (*gone)(void))
{
	struct web_link *link = xcalloc(1, sizeof(*link));

	link->gone = gone;
	TAILQ_INIT(&link->queries);
	link->bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(link->bev, on_read, NULL, on_event, link);
	bufferevent_enable(link->bev, EV_READ | EV_WRITE);
	return link;
}

void web_link_free(struct web_link *link)
{
	while (!TAILQ_EMPTY(&link->queries))
		query_free(TAILQ_FIRST(&link->queries));
	bufferevent_free(link->bev);
	free(link);
}
