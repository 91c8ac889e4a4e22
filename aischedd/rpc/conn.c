/* conn.c - one connection: frames in, requests in order */
#include "aischedd/rpc/conn.h"

#include <event2/buffer.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

static const struct peer nobody = { .user = "nobody" };

static size_t body_len(const struct ask *ask)
{
	return (size_t)ask->head.json_len + ask->head.raw_len;
}

static bool is_whole(const struct ask *ask)
{
	return ask->body && ask->got == body_len(ask);
}

static struct ask *ask_new(struct conn *conn, const struct frame_head *head)
{
	struct ask *ask = xcalloc(1, sizeof(*ask));

	ask->conn = conn;
	ask->head = *head;
	TAILQ_INIT(&ask->frames);
	TAILQ_INSERT_TAIL(&conn->asks, ask, next);
	conn->nasks++;
	return ask;
}

/* Those that wait for memory look again, from the loop. */
static void feed_starving(struct conns *all)
{
	struct conn *conn;

	while ((conn = TAILQ_FIRST(&all->starving))) {
		TAILQ_REMOVE(&all->starving, conn, of_starving);
		conn->starving = false;
		bufferevent_trigger(conn->bev, EV_READ,
		                    BEV_TRIG_IGNORE_WATERMARKS |
		                        BEV_TRIG_DEFER_CALLBACKS);
	}
}

void ask_release(struct ask *ask)
{
	struct conns *all = ask->conn->all;

	json_decref(ask->in.body);
	ask->in.body = NULL;
	if (!ask->body)
		return;
	if (!ask->checked)
		ask->conn->unchecked -= body_len(ask);
	free(ask->body);
	ask->body = NULL;
	all->body_bytes -= body_len(ask);
	feed_starving(all);
}

void ask_free(struct ask *ask)
{
	struct conn *conn = ask->conn;

	work_forget(conn->all->workers, ask->work);
	ask_release(ask);
	answer_free(ask);
	if (conn->reading == ask)
		conn->reading = NULL;
	TAILQ_REMOVE(&conn->asks, ask, next);
	conn->nasks--;
	free(ask->peer);
	free(ask);
}

/* As ask_free(), for one whose peer is gone. */
static void ask_drop(struct ask *ask)
{
	struct conns *all = ask->conn->all;

	if (ask->handed && !ask->answered)
		all->gone(ask, all->arg);
	ask_free(ask);
}

void conn_close(struct conn *conn)
{
	struct conns *all = conn->all;

	while (!TAILQ_EMPTY(&conn->asks))
		ask_drop(TAILQ_FIRST(&conn->asks));
	TAILQ_REMOVE(conn->known ? &all->known : &all->strangers, conn,
	             of_list);
	if (conn->starving)
		TAILQ_REMOVE(&all->starving, conn, of_starving);
	all->n--;
	event_free(conn->timer);
	bufferevent_free(conn->bev);
	free(conn);
}

bool conns_make_room(struct conns *all)
{
	struct conn *conn = TAILQ_FIRST(&all->strangers);

	if (!conn)
		TAILQ_FOREACH(conn, &all->known, of_list)
			if (TAILQ_EMPTY(&conn->asks))
				break;
	if (!conn)
		return false;
	conn_close(conn);
	return true;
}

bool conn_is_sending(const struct conn *conn)
{
	const struct ask *ask;

	TAILQ_FOREACH(ask, &conn->asks, next)
		if (ask->answered)
			return true;
	return evbuffer_get_length(bufferevent_get_output(conn->bev)) > 0;
}

static void set_timer(struct conn *conn, enum conn_timer timer_for, int ms)
{
	struct timeval after = { .tv_sec = ms / 1000,
		                 .tv_usec = ms % 1000 * 1000 };

	if (timer_for != TIMER_NONE)
		evtimer_add(conn->timer, &after);
	else if (conn->timer_for != TIMER_NONE)
		evtimer_del(conn->timer);
	conn->timer_for = timer_for;
}

/*
 * Tell the peer why this is the end, once what it asked before is answered.
 * ask: the request that is wrong, or NULL.  Nothing after it is handed over.
 */
static void conn_fail(struct conn *conn, struct ask *ask, const struct err *err)
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
	/* Who asked does not matter any more, so the answer needs no munged. */
	work_forget(conn->all->workers, ask->work);
	ask->work = NULL;
	free(ask->peer);
	ask->peer = NULL;
	bufferevent_setwatermark(conn->bev, EV_WRITE, 0, 0);
	if (!conn->eof)
		bufferevent_enable(conn->bev, EV_READ);
	set_timer(conn, TIMER_NONE, 0);
	rpc_refuse(ask, err);
}

/* Closing while the peer still sends would reset the connection and perhaps
 * take the last answer with it: wait for the peer to close, but not long. */
static void conn_linger(struct conn *conn)
{
	if (conn->eof) {
		conn_close(conn);
		return;
	}
	conn->lingering = true;
	shutdown(bufferevent_getfd(conn->bev), SHUT_WR);
	set_timer(conn, TIMER_LINGER, conn->all->limits.linger_ms);
}

int request_parse(const char *json, size_t len, json_t **ret, enum op *ret_op,
                  struct err *err)
{
	json_error_t why;
	json_t *body = json_loadb(json, len, JSON_REJECT_DUPLICATES, &why);
	const char *name = json_string_value(json_object_get(body, "op"));
	int op;

	if (!name) {
		if (body)
			err_set(err, EPROTO,
			        "the request does not say what it asks for");
		else
			err_set(err, EPROTO, "the request is not JSON: %s",
			        why.text);
		json_decref(body);
		return -1;
	}
	*ret = body;
	op = op_parse(name);
	if (op < 0)
		return err_set(err, ENOSYS, "no such request: '%s'", name);
	*ret_op = (enum op)op;
	return 0;
}

/* Without a branch on the bytes: how long it takes says nothing. */
static bool same_digest(const unsigned char *a, const unsigned char *b)
{
	unsigned char differ = 0;

	for (int i = 0; i < WIRE_DIGEST; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

/* What its sender may not ask is refused, and the connection goes on. */
static int check_right(const struct ask *ask, struct err *err)
{
	const struct request_in *in = &ask->in;

	if (!ask->peer && op_role(in->op) != ROLE_NOBODY)
		return err_set(err, EACCES,
		               "request '%s' came without a credential",
		               op_name(in->op));
	if (in->raw_len && in->op != OP_submit)
		return err_set(err, EINVAL, "request '%s' takes no raw bytes",
		               op_name(in->op));
	return 0;
}

static void open_request(struct ask *ask)
{
	struct conns *all = ask->conn->all;
	struct request_in *in = &ask->in;
	unsigned char digest[WIRE_DIGEST];
	struct err err = { 0 };

	frame_hash_end(&ask->hash, digest);
	if (ask->peer && !same_digest(digest, ask->digest)) {
		err_set(&err, EACCES,
		        "the credential does not belong to this request");
		conn_fail(ask->conn, ask, &err);
		return;
	}
	in->peer = ask->peer ? ask->peer : &nobody;
	in->raw = ask->body + ask->head.json_len;
	in->raw_len = ask->head.raw_len;
	if (request_parse(ask->body, ask->head.json_len, &in->body, &in->op,
	                  &err) < 0 &&
	    err.code != ENOSYS) {
		conn_fail(ask->conn, ask, &err);
		return;
	}
	if (err.code || check_right(ask, &err) < 0) {
		rpc_refuse(ask, &err);
		return;
	}
	ask->handed = true;
	all->handler(ask, in, all->arg);
}

/* Those that are whole and checked, up to the first that is not. */
static void hand_over(struct conn *conn)
{
	struct ask *next;

	for (struct ask *ask = TAILQ_FIRST(&conn->asks); ask; ask = next) {
		next = TAILQ_NEXT(ask, next);
		if (ask->handed || ask->answered)
			continue;
		if (!ask->checked || !is_whole(ask))
			return;
		open_request(ask);
		if (conn->ending)
			return; /* next is gone */
	}
}

/* What reading a frame waits for. */
enum wait { WAIT_NOT, WAIT_PEER, WAIT_US };

static int check_head(const struct conn *conn, const struct frame_head *head,
                      struct err *err)
{
	if (head->kind != FRAME_REQUEST)
		return err_set(err, EPROTO, "a frame that is no request");
	if (head->seq != conn->seq + 1)
		return err_set(err, EPROTO,
		               "request %u came where %u was due: replayed, or "
		               "one was lost",
		               head->seq, conn->seq + 1);
	if (!head->cred_len &&
	    (size_t)head->json_len + head->raw_len > READ_AHEAD)
		return err_set(err, EMSGSIZE,
		               "a request without a credential is too long: at "
		               "most %d bytes",
		               READ_AHEAD);
	return 0;
}

static enum wait take_head(struct conn *conn)
{
	struct evbuffer *in = bufferevent_get_input(conn->bev);
	struct evbuffer *out = bufferevent_get_output(conn->bev);
	unsigned char bytes[WIRE_HEAD];
	struct frame_head head;
	struct err err;

	if (conn->reading)
		return WAIT_NOT;
	if (conn->all->stopping || conn->nasks == ASKS_MAX ||
	    evbuffer_get_length(out) > DRAINED)
		return WAIT_US;
	if (evbuffer_copyout(in, bytes, WIRE_HEAD) < WIRE_HEAD)
		return WAIT_PEER;
	if (frame_head_get(&head, bytes, &err) < 0 ||
	    check_head(conn, &head, &err) < 0) {
		conn_fail(conn, NULL, &err);
		return WAIT_US;
	}
	evbuffer_drain(in, WIRE_HEAD);
	conn->reading = ask_new(conn, &head);
	conn->seq = head.seq;
	set_timer(conn, TIMER_NONE, 0);
	return WAIT_NOT;
}

static void conn_go(struct conn *conn);

static void on_decoded(struct work *work, void *arg)
{
	struct ask *ask = arg;
	struct conn *conn = ask->conn;

	ask->work = NULL;
	if (work->failed) {
		conn_fail(conn, ask, &work->err);
		return;
	}
	ask->peer = work->peer;
	work->peer = NULL;
	memcpy(ask->digest, work->digest, WIRE_DIGEST);
	if (ask->body)
		conn->unchecked -= body_len(ask);
	ask->checked = true;
	if (!conn->known) {
		TAILQ_REMOVE(&conn->all->strangers, conn, of_list);
		TAILQ_INSERT_TAIL(&conn->all->known, conn, of_list);
		conn->known = true;
	}
	hand_over(conn);
	conn_go(conn);
}

static enum wait take_cred(struct conn *conn, struct ask *ask)
{
	struct evbuffer *in = bufferevent_get_input(conn->bev);
	size_t len = ask->head.cred_len;

	if (ask->has_cred)
		return WAIT_NOT;
	if (evbuffer_get_length(in) < len)
		return WAIT_PEER;
	ask->has_cred = true;
	if (len)
		ask->work =
		    work_decode(conn->all->workers,
		                (const char *)evbuffer_pullup(in, (ssize_t)len),
		                len, on_decoded, ask);
	else
		ask->checked = true;
	evbuffer_drain(in, len);
	return WAIT_NOT;
}

/* A large body is for those we know, when there is memory for it. */
static enum wait begin_body(struct conn *conn, struct ask *ask)
{
	struct conns *all = conn->all;
	size_t len = body_len(ask);

	if (ask->body)
		return WAIT_NOT;
	if (!ask->checked && conn->unchecked + len > READ_AHEAD)
		return WAIT_US;
	if (len > READ_AHEAD &&
	    all->body_bytes + len > all->limits.body_bytes) {
		if (!conn->starving)
			TAILQ_INSERT_TAIL(&all->starving, conn, of_starving);
		conn->starving = true;
		return WAIT_US;
	}
	if (!ask->checked)
		conn->unchecked += len;
	all->body_bytes += len;
	ask->body = xmalloc(len + 1);
	frame_hash_begin(&ask->hash, &ask->head, all->cluster, conn->nonce, 0);
	return WAIT_NOT;
}

/* Hashed as it comes, so that no turn of the loop hashes 64 MiB. */
static enum wait take_body(struct conn *conn, struct ask *ask)
{
	struct evbuffer *in = bufferevent_get_input(conn->bev);
	int n =
	    evbuffer_remove(in, ask->body + ask->got, body_len(ask) - ask->got);

	if (n > 0) {
		frame_hash_add(&ask->hash, ask->body + ask->got, (size_t)n);
		ask->got += (size_t)n;
	}
	return is_whole(ask) ? WAIT_NOT : WAIT_PEER;
}

static enum wait take_frame(struct conn *conn)
{
	enum wait wait = take_head(conn);

	if (wait == WAIT_NOT)
		wait = take_cred(conn, conn->reading);
	if (wait == WAIT_NOT)
		wait = begin_body(conn, conn->reading);
	if (wait == WAIT_NOT)
		wait = take_body(conn, conn->reading);
	return wait;
}

/* The longest idle is the first of its list. */
static void was_active(struct conn *conn)
{
	struct conn_list *list =
	    conn->known ? &conn->all->known : &conn->all->strangers;

	TAILQ_REMOVE(list, conn, of_list);
	TAILQ_INSERT_TAIL(list, conn, of_list);
}

/* Read on, unless there is much that cannot be taken yet.  (At its own high
 * watermark libevent would call us back without end.) */
static void set_reading(struct conn *conn)
{
	size_t len = evbuffer_get_length(bufferevent_get_input(conn->bev));
	bool on = bufferevent_get_enabled(conn->bev) & EV_READ;

	if (len < READ_SIZE && !on)
		bufferevent_enable(conn->bev, EV_READ);
	else if (len >= READ_SIZE && on)
		bufferevent_disable(conn->bev, EV_READ);
}

/* Take as many frames as there are, then see how long to wait for more. */
static void conn_go(struct conn *conn)
{
	struct evbuffer *in = bufferevent_get_input(conn->bev);
	const struct rpc_limits *limits = &conn->all->limits;
	enum wait wait = WAIT_NOT;

	while (!conn->ending && (wait = take_frame(conn)) == WAIT_NOT) {
		conn->reading = NULL;
		was_active(conn);
		hand_over(conn);
	}
	if (conn->ending)
		return;
	set_reading(conn);
	if (wait == WAIT_PEER &&
	    (conn->reading || evbuffer_get_length(in) > 0)) {
		if (conn->timer_for != TIMER_FRAME)
			set_timer(conn, TIMER_FRAME, limits->frame_ms);
	} else if (!conn->known && TAILQ_EMPTY(&conn->asks)) {
		set_timer(conn, TIMER_IDLE, limits->idle_ms);
	} else {
		set_timer(conn, TIMER_NONE, 0);
	}
}

static void on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct conn *conn = arg;

	if (conn->ending)
		evbuffer_drain(in, evbuffer_get_length(in));
	else
		conn_go(conn);
}

static void on_write(struct bufferevent *bev, void *arg)
{
	struct evbuffer *out = bufferevent_get_output(bev);
	struct conn *conn = arg;

	if (!conn->ending || !TAILQ_EMPTY(&conn->asks)) {
		answer_drained(conn);
		conn_go(conn);
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

/* The peer closed.  It may still listen: a frame that was cut is told so. */
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

	/* 16 bytes always come whole, once the kernel has any at all. */
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
	TAILQ_INIT(&all->strangers);
	TAILQ_INIT(&all->known);
	TAILQ_INIT(&all->starving);
}

void conn_new(struct conns *all, int fd, bool tcp)
{
	struct conn *conn = xcalloc(1, sizeof(*conn));
	int on = 1;

	conn->all = all;
	conn->tcp = tcp;
	TAILQ_INIT(&conn->asks);
	TAILQ_INSERT_TAIL(&all->strangers, conn, of_list);
	all->n++;
	if (tcp) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	}
	make_nonce(conn->nonce);
	conn->timer = evtimer_new(all->base, on_timer, conn);
	conn->bev =
	    bufferevent_socket_new(all->base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(conn->bev, on_read, on_write, on_event, conn);
	bufferevent_setwatermark(conn->bev, EV_WRITE, DRAINED, 0);
	bufferevent_set_max_single_read(conn->bev, READ_SIZE);
	bufferevent_enable(conn->bev, EV_READ | EV_WRITE);
	say_hello(conn);
	set_timer(conn, TIMER_IDLE, all->limits.idle_ms);
}
