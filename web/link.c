/* link.c - requests to the daemon */
#include "web/link.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "libcommon/mem.h"
#include "libcommon/wire.h"

enum { PARTS_MAX = 4 << 20 }; /* bytes of one answer */

struct web_query {
	TAILQ_ENTRY(web_query) next;
	web_answer_fn *fn; /* NULL: forgotten */
	void *arg;
	struct web_answer answer;
};

struct web_link {
	struct bufferevent *bev;
	void (*gone)(void);
	uint32_t seq;
	TAILQ_HEAD(, web_query) queries;
};

static void finish(struct web_link *link, const char *json, size_t len)
{
	struct web_query *q = TAILQ_FIRST(&link->queries);
	json_t *last = json_loadb(json, len, 0, NULL);
	const json_t *error = json_object_get(last, "error");

	TAILQ_REMOVE(&link->queries, q, next);
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
	buf_free(&q->answer.parts);
	json_decref(last);
	free(q);
}

static void take_part(struct web_link *link, const char *data, size_t len)
{
	struct web_query *q = TAILQ_FIRST(&link->queries);

	if (!q->fn || q->answer.err.code)
		return;
	if (q->answer.parts.len + len > PARTS_MAX)
		err_set(&q->answer.err, EMSGSIZE,
		        "the answer is too long: ask for less");
	else
		buf_add(&q->answer.parts, data, len);
}

/* Returns false if there is no whole frame. */
static bool take_frame(struct web_link *link)
{
	struct evbuffer *in = bufferevent_get_input(link->bev);
	unsigned char bytes[WIRE_HEAD];
	struct frame_head head;
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
	if (head.kind != FRAME_HELLO && TAILQ_EMPTY(&link->queries))
		link->gone();
	else if (head.kind == FRAME_PART)
		take_part(link, body + head.json_len, head.raw_len);
	else if (head.kind == FRAME_REPLY)
		finish(link, body, head.json_len);
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

struct web_query *web_link_ask(struct web_link *link, json_t *req,
                               const char *cookie, web_answer_fn *fn, void *arg)
{
	struct evbuffer *out = bufferevent_get_output(link->bev);
	struct web_query *q = xcalloc(1, sizeof(*q));
	char *json = json_dumps(req, JSON_COMPACT);
	struct frame_head head = {
		.kind = FRAME_REQUEST,
		.seq = ++link->seq,
		.cred_len = cookie ? (uint32_t)strlen(cookie) : 0,
		.json_len = (uint32_t)strlen(json),
	};
	unsigned char bytes[WIRE_HEAD];

	q->fn = fn;
	q->arg = arg;
	TAILQ_INSERT_TAIL(&link->queries, q, next);
	frame_head_put(bytes, &head);
	evbuffer_add(out, bytes, sizeof(bytes));
	if (cookie)
		evbuffer_add(out, cookie, head.cred_len);
	evbuffer_add(out, json, head.json_len);
	free(json);
	json_decref(req);
	return q;
}

void web_query_forget(struct web_query *query)
{
	if (query)
		query->fn = NULL;
}
