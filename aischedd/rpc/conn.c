/* conn.c - one connection, from its hello to its end */
#include "aischedd/rpc/conn.h"

#include <event2/buffer.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aischedd/rpc/answer.h"
#include "config.h"
#include "libcommon/buf.h"
#include "libcommon/fdpass.h"
#include "libcommon/mem.h"

/* Origin of the web program's connection; no user has this uid. */
#define WEB_ORIGIN ((uint64_t)-2)

size_t ask_body_len(const struct ask *ask)
{
	return (size_t)ask->head.json_len + ask->head.raw_len;
}

struct ask *ask_new(struct conn *conn, const struct frame_head *head)
{
	struct ask *ask = xcalloc(1, sizeof(*ask));

	ask->conn = conn;
	ask->head = *head;
	TAILQ_INIT(&ask->frames);
	TAILQ_INSERT_TAIL(&conn->asks, ask, next);
	conn->nasks++;
	if (conn->holder)
		conn->holder->nasks++;
	return ask;
}

/* Let connections that waited for memory continue; the loop calls their
 * on_readable(). */
static void feed_starving(struct conns *all)
{
	struct conn *conn;

	while ((conn = TAILQ_FIRST(&all->starving))) {
		TAILQ_REMOVE(&all->starving, conn, of_starving);
		conn->starving = false;
		event_active(conn->readable, 0, 0);
	}
}

void ask_release(struct ask *ask)
{
	if (ask->body && !ask->checked)
		ask->conn->unchecked -= ask_body_len(ask);
	free(ask->body);
	ask->body = NULL;
	if (!ask->charged)
		return;
	holder_discharge(ask);
	feed_starving(ask->conn->all);
}

void ask_free(struct ask *ask)
{
	struct conn *conn = ask->conn;

	workers_forget(conn->all->workers, ask->work);
	ask_release(ask);
	answer_free(ask);
	if (conn->reading == ask)
		conn->reading = NULL;
	TAILQ_REMOVE(&conn->asks, ask, next);
	conn->nasks--;
	if (conn->holder)
		conn->holder->nasks--;
	free(ask->peer);
	free(ask);
}

/* Free an ask whose peer has disconnected. If the handler has it and has not
 * answered it yet, tell the handler. */
static void ask_drop(struct ask *ask)
{
	struct conns *all = ask->conn->all;

	if (ask->handed && !ask->answered)
		all->calls.gone(ask, all->calls.arg);
	ask_free(ask);
}

void conns_close_fd(struct conns *all, int fd, bool guarded)
{
	if (guarded)
		closer_close(all->closer, fd);
	else
		close(fd);
}

void conn_close(struct conn *conn)
{
	int fd = bufferevent_getfd(conn->bev);
	struct conns *all = conn->all;

	while (!TAILQ_EMPTY(&conn->asks))
		ask_drop(TAILQ_FIRST(&conn->asks));
	slices_remove(&all->ready, &conn->slice);
	holder_remove(conn);
	if (conn->starving)
		TAILQ_REMOVE(&all->starving, conn, of_starving);
	event_free(conn->timer);
	event_free(conn->readable);
	evbuffer_free(conn->in);
	bufferevent_setfd(conn->bev, -1);
	bufferevent_free(conn->bev);
	/* Even when nothing is left in the socket, its close may collect other
	 * sockets that only their own messages hold, and these may linger. */
	if (conn->guarded)
		fdpass_drain(fd);
	conns_close_fd(all, fd, conn->guarded);
	free(conn);
}

bool conn_is_sending(const struct conn *conn)
{
	const struct ask *ask;

	TAILQ_FOREACH(ask, &conn->asks, next)
		if (ask->answered)
			return true;
	return evbuffer_get_length(bufferevent_get_output(conn->bev)) > 0;
}

void conn_set_timer(struct conn *conn, enum conn_timer timer_for, int ms)
{
	struct timeval after = { .tv_sec = ms / 1000,
		                 .tv_usec = ms % 1000 * 1000 };

	if (timer_for != TIMER_NONE)
		evtimer_add(conn->timer, &after);
	else if (conn->timer_for != TIMER_NONE)
		evtimer_del(conn->timer);
	conn->timer_for = timer_for;
}

void conn_fail(struct conn *conn, struct ask *ask, const struct err *err)
{
	struct frame_head head = { .kind = FRAME_REQUEST,
		                   .seq = conn->seq + 1 };
	struct ask *later;

	if (!ask)
		ask = ask_new(conn, &head);
	while ((later = TAILQ_NEXT(ask, next)))
		ask_free(later);
	conn->reading = NULL;
	conn->ending = true;
	/* The request is refused in any case, so do not wait for munged to
	 * decode its credential. */
	workers_forget(conn->all->workers, ask->work);
	ask->work = NULL;
	free(ask->peer);
	ask->peer = NULL;
	bufferevent_setwatermark(conn->bev, EV_WRITE, 0, 0);
	if (!conn->eof)
		event_add(conn->readable, NULL);
	conn_set_timer(conn, TIMER_NONE, 0);
	rpc_refuse(ask, err);
}

/* Wait a short time for the peer to close its side first: if the daemon closed
 * while the peer still sends, the connection would be reset, and the last
 * answer could be lost. */
static void conn_linger(struct conn *conn)
{
	if (conn->eof) {
		conn_close(conn);
		return;
	}
	conn->lingering = true;
	shutdown(bufferevent_getfd(conn->bev), SHUT_WR);
	conn_set_timer(conn, TIMER_LINGER, conn->all->limits.linger_ms);
}

static void on_write(struct bufferevent *bev, void *arg)
{
	struct evbuffer *out = bufferevent_get_output(bev);
	struct conn *conn = arg;

	if (!conn->ending || !TAILQ_EMPTY(&conn->asks)) {
		answer_drained(conn);
		receive(conn);
	} else if (!conn->lingering && !evbuffer_get_length(out)) {
		conn_linger(conn);
	}
}

static bool is_awaited(const struct conn *conn)
{
	const struct ask *ask;

	TAILQ_FOREACH(ask, &conn->asks, next)
		if (ask->handed && !ask->answered)
			return true;
	return false;
}

/* The peer closed its side, or the connection broke. If the peer closed in the
 * middle of a frame, tell it so, as it may still be reading. */
static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct conn *conn = arg;
	struct err err;

	(void)bev;
	conn->eof = true;
	if (!(what & BEV_EVENT_EOF) || conn->lingering || is_awaited(conn)) {
		conn_close(conn);
	} else if (conn->timer_for == TIMER_FRAME) {
		err_set(&err, EPROTO, "the last frame was cut short");
		conn_fail(conn, conn->reading, &err);
	} else if (!conn->ending) {
		conn_close(conn);
	}
}

/* Read what has arrived. libevent does not read from these sockets, as it would
 * take descriptors that peers send (see fdpass_refuse()). */
static ssize_t read_more(struct conn *conn)
{
	int fd = bufferevent_getfd(conn->bev);
	char bytes[READ_SIZE];
	ssize_t len = conn->guarded ? fdpass_read(fd, bytes, sizeof(bytes))
	                            : recv(fd, bytes, sizeof(bytes), 0);

	if (len > 0 && !conn->ending)
		evbuffer_add(conn->in, bytes, (size_t)len);
	return len;
}

/* Something has arrived (EV_READ), or there is memory again for what had
 * arrived before. */
static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *conn = arg;
	ssize_t len = what & EV_READ ? read_more(conn) : 1;

	(void)fd;
	if (len > 0) {
		if (!conn->ending)
			receive(conn);
	} else if (len == 0 || (errno != EAGAIN && errno != EINTR)) {
		event_del(conn->readable);
		on_event(conn->bev, len ? BEV_EVENT_ERROR : BEV_EVENT_EOF,
		         conn);
	}
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	conn_close(arg);
}

static void make_nonce(char ret[WIRE_NONCE + 1])
{
	static const char digit[] = "0123456789abcdef";
	unsigned char bytes[WIRE_NONCE / 2];

	/* getrandom() returns 16 bytes completely or not at all. */
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		abort();
	for (size_t i = 0; i < sizeof(bytes); i++) {
		ret[2 * i] = digit[bytes[i] >> 4];
		ret[2 * i + 1] = digit[bytes[i] & 15];
	}
	ret[WIRE_NONCE] = '\0';
}

static void say_hello(struct conn *conn)
{
	struct evbuffer *out = bufferevent_get_output(conn->bev);
	struct frame_head head = { .kind = FRAME_HELLO };
	unsigned char bytes[WIRE_HEAD];
	struct buf json = { 0 };

	buf_puts(&json, "{\"cluster\":");
	buf_json(&json, conn->all->cluster);
	buf_printf(&json, ",\"nonce\":\"%s\",\"version\":\"%s\"}", conn->nonce,
	           PACKAGE_VERSION);
	head.json_len = (uint32_t)json.len;
	frame_head_put(bytes, &head);
	evbuffer_add(out, bytes, sizeof(bytes));
	evbuffer_add(out, json.data, json.len);
	buf_free(&json);
}

void conns_init(struct conns *all)
{
	TAILQ_INIT(&all->strangers[false].list);
	TAILQ_INIT(&all->strangers[true].list);
	TAILQ_INIT(&all->known);
	TAILQ_INIT(&all->starving);
	slices_init(&all->ready);
	all->closer = closer_new();
}

static void close_all(struct conn_list *list)
{
	while (!TAILQ_EMPTY(list))
		conn_close(TAILQ_FIRST(list));
}

void conns_fini(struct conns *all)
{
	close_all(&all->strangers[false].list);
	close_all(&all->strangers[true].list);
	close_all(&all->known);
	map_free(&all->strangers[false].origins);
	map_free(&all->strangers[true].origins);
	map_free(&all->holders);
	slices_fini(&all->ready);
	closer_free(all->closer);
	if (all->go)
		event_free(all->go);
}

static struct conn *make(struct conns *all, int fd, bool tcp, uint64_t origin)
{
	struct conn *conn = xcalloc(1, sizeof(*conn));
	int on = 1;

	conn->all = all;
	conn->tcp = tcp;
	TAILQ_INIT(&conn->asks);
	conn->origin = origin;
	holder_add_stranger(conn);
	if (tcp) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	}
	make_nonce(conn->nonce);
	conn->timer = evtimer_new(all->base, on_timer, conn);
	conn->guarded = !tcp && !fdpass_refuse(fd);
	conn->in = evbuffer_new();
	conn->readable =
	    event_new(all->base, fd, EV_READ | EV_PERSIST, on_readable, conn);
	event_add(conn->readable, NULL);
	conn->bev = bufferevent_socket_new(all->base, fd, 0);
	bufferevent_setcb(conn->bev, NULL, on_write, on_event, conn);
	bufferevent_setwatermark(conn->bev, EV_WRITE, DRAINED, 0);
	bufferevent_enable(conn->bev, EV_WRITE);
	say_hello(conn);
	conn_set_timer(conn, TIMER_IDLE, all->limits.idle_ms);
	return conn;
}

void conn_new(struct conns *all, int fd, bool tcp, uint64_t origin)
{
	make(all, fd, tcp, origin);
}

void conn_new_web(struct conns *all, int fd)
{
	struct conn *conn = make(all, fd, false, WEB_ORIGIN);

	conn->web = true;
	holder_admit_web(conn);
	conn_set_timer(conn, TIMER_NONE, 0);
}
