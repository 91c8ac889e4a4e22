/* receive.c - read frames, and hand the requests over in order */
#include <event2/buffer.h>
#include <stddef.h>
#include <string.h>

#include "aischedd/rpc/conn.h"
#include "libcommon/mem.h"
#include "libcommon/steps.h"

enum {
	/* steps charged for decoding and answering a request of any size */
	STEPS_REQUEST = 100,
	/* bytes of a request for which one step is charged */
	BYTES_STEP = 64,
	/* A request with more JSON may take most of a turn. */
	LARGE_JSON = 64 * 1024
};

static const struct peer nobody = { .user = "nobody" };

static bool is_whole(const struct ask *ask)
{
	return ask->body && ask->got == ask_body_len(ask);
}

/* Returns an upper bound of the number of values in a JSON text. An object or
 * an array counts as four values, as it takes that much memory. */
static size_t count_values(const char *json, size_t len)
{
	bool in_string = false;
	size_t n = 1;

	for (size_t i = 0; i < len; i++) {
		char c = json[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string)
			n += c == '{' || c == '[' ? 4 : c == ',';
	}
	return n;
}

int request_parse(const char *json, size_t len, size_t max_values, json_t **ret,
                  enum op *ret_op, struct err *err)
{
	json_error_t why;
	json_t *body;
	const char *name;
	size_t values;
	int op;

	values = count_values(json, len);
	steps_add(len / BYTES_STEP);
	if (values > max_values)
		return err_set(err, EMSGSIZE,
		               "the request has more than %zu values: divide "
		               "it",
		               max_values);
	steps_add(values / 2);
	body = json_loadb(json, len, JSON_REJECT_DUPLICATES, &why);
	name = json_string_value(json_object_get(body, "op"));
	if (!name) {
		if (body)
			err_set(err, EPROTO, "the request has no \"op\"");
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

/* Compare digests without a branch on their bytes, so that the time taken tells
 * nothing about them. */
static bool same_digest(const unsigned char *a, const unsigned char *b)
{
	unsigned char differ = 0;

	for (int i = 0; i < WIRE_DIGEST; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

/* Whether raw bytes (a script, a file or input) may follow the
 * request's JSON. */
static bool takes_raw(enum op op)
{
	return op == OP_submit || op == OP_cron || op == OP_cron_file ||
	       op == OP_relay || op == OP_relay_input;
}

/* Check that the sender may make this request. If not, the request is refused,
 * but the connection stays open. */
static int check_right(const struct request_in *in, struct err *err)
{
	if (!in->peer->known && op_role(in->op) != ROLE_NOBODY &&
	    !(in->from_web && rpc_is_open(in->op)))
		return err_set(err, EACCES,
		               "request '%s' came without a credential",
		               op_name(in->op));
	if (in->raw_len && !takes_raw(in->op))
		return err_set(err, EINVAL, "request '%s' takes no raw bytes",
		               op_name(in->op));
	return 0;
}

/* Returns how many JSON values a request may have; more are allowed in a
 * request that has raw bytes. */
static size_t max_values(const struct ask *ask)
{
	return ask->head.raw_len ? LIMIT_VALUES_SUBMIT : LIMIT_VALUES;
}

/* Parse the request and call the handler, or refuse the request. Its JSON is
 * freed when the handler returns, unless the handler took a reference. */
static void hand_to_handler(struct ask *ask, char *body, struct request_in *in)
{
	struct conns *all = ask->conn->all;
	struct err err = { 0 };

	if (request_parse(body, ask->head.json_len, max_values(ask), &in->body,
	                  &in->op, &err) < 0 &&
	    err.code != ENOSYS) {
		conn_fail(ask->conn, ask, &err);
	} else if (err.code || check_right(in, &err) < 0) {
		rpc_refuse(ask, &err);
	} else {
		ask->handed = true;
		all->calls.handler(ask, in, all->calls.arg);
	}
	json_decref(in->body);
}

/* Take the body from the ask. From here on only the length of the JSON is
 * charged to the sender: the handler may keep about this much memory until it
 * answers. */
static char *take_body_from(struct ask *ask)
{
	char *body = ask->body;

	ask->body = NULL;
	ask_release(ask);
	holder_charge(ask, ask->head.json_len);
	return body;
}

static void open_request(struct ask *ask)
{
	unsigned char digest[WIRE_DIGEST];
	struct request_in in = {
		.peer = ask->peer ? ask->peer : &nobody,
		.raw = ask->body + ask->head.json_len,
		.raw_len = ask->head.raw_len,
		.began = steps_spent(),
		.from_web = ask->conn->web,
	};
	struct err err;
	char *body;

	frame_hash_end(&ask->hash, digest);
	if (ask->peer && !ask->conn->web && !same_digest(digest, ask->digest)) {
		err_set(&err, EACCES,
		        "the credential does not belong to this request");
		ask->conn->all->auth_failures++;
		conn_fail(ask->conn, ask, &err);
		return;
	}
	body = take_body_from(ask);
	hand_to_handler(ask, body, &in);
	free(body);
}

/* Returns the connection's oldest request that was not handed over yet, or NULL
 * if it is incomplete or its credential is not checked yet. */
static struct ask *find_ready(const struct conn *conn)
{
	struct ask *ask;

	TAILQ_FOREACH(ask, &conn->asks, next)
		if (!ask->handed && !ask->answered)
			return ask->checked && is_whole(ask) ? ask : NULL;
	return NULL;
}

/* Whether the request must wait for the next turn: a large one is always the
 * first of its turn, as two of them would make the turn too long. */
static bool must_wait(const struct conns *all, const struct ask *ask)
{
	return ask && ask->head.json_len > LARGE_JSON && steps_turn_began &&
	       all->handed_in == steps_turn_began;
}

static void hand_over_one(struct conns *all, struct conn *conn)
{
	struct ask *ask = find_ready(conn);
	uint64_t before = steps_spent();

	if (!ask)
		return;
	all->handed_in = steps_turn_began;
	open_request(ask);
	steps_add(STEPS_REQUEST);
	slices_charge(&all->ready, conn->slice.uid, steps_spent() - before);
	if (find_ready(conn))
		slices_add(&all->ready, &conn->slice);
}

/* Hand over requests of all connections, until the steps of this turn's slice
 * are used up. */
static void on_go(evutil_socket_t fd, short what, void *arg)
{
	struct conns *all = arg;
	uint64_t until = steps_spent() + steps_slice();
	struct slice *slice;

	(void)fd;
	(void)what;
	while (steps_spent() < until && (slice = slices_take(&all->ready))) {
		struct conn *conn =
		    (void *)((char *)slice - offsetof(struct conn, slice));

		if (must_wait(all, find_ready(conn))) {
			slices_put_back(&all->ready, slice);
			break;
		}
		hand_over_one(all, conn);
	}
	if (!TAILQ_EMPTY(&all->ready.queue))
		evtimer_add(all->go, &(struct timeval){ 0 });
}

static void hand_over(struct conn *conn)
{
	struct conns *all = conn->all;

	if (!find_ready(conn))
		return;
	if (!all->go)
		all->go = event_new(all->base, -1, 0, on_go, all);
	conn->slice.uid = conn->holder ? conn->holder->uid : (uid_t)-1;
	slices_add(&all->ready, &conn->slice);
	if (!evtimer_pending(all->go, NULL))
		event_active(all->go, EV_TIMEOUT, 0);
}

/* WAIT_NOT: the next part of a frame can be read now; WAIT_PEER: the peer has
 * not sent this part yet; WAIT_US: the daemon does not read it yet, for lack of
 * memory or because too many requests are unanswered. */
enum wait { WAIT_NOT, WAIT_PEER, WAIT_US };

static int check_head(const struct conn *conn, const struct frame_head *head,
                      struct err *err)
{
	if (head->kind != FRAME_REQUEST)
		return err_set(err, EPROTO, "a frame is not a request");
	if (head->seq != conn->seq + 1)
		return err_set(err, EPROTO,
		               "received request %u instead of %u: replayed, "
		               "or one was lost",
		               head->seq, conn->seq + 1);
	if (!head->cred_len &&
	    (size_t)head->json_len + head->raw_len > LIMIT_BARE)
		return err_set(err, EMSGSIZE,
		               "a request without a credential is too long: at "
		               "most %d bytes",
		               LIMIT_BARE);
	return 0;
}

static enum wait take_head(struct conn *conn)
{
	struct evbuffer *in = conn->in;
	struct evbuffer *out = bufferevent_get_output(conn->bev);
	unsigned char bytes[WIRE_HEAD];
	struct frame_head head;
	struct err err;

	if (conn->reading)
		return WAIT_NOT;
	if (conn->all->stopping || !holder_may_ask(conn) ||
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
	conn_set_timer(conn, TIMER_NONE, 0);
	return WAIT_NOT;
}

static void on_decoded(struct cred_work *work, void *arg)
{
	struct ask *ask = arg;
	struct conn *conn = ask->conn;
	struct err err;

	ask->work = NULL;
	if (work->failed) {
		conn->all->auth_failures++;
		conn_fail(conn, ask, &work->err);
		return;
	}
	if (!conn->holder && holder_admit(conn, work->peer, &err) < 0) {
		conn_fail(conn, ask, &err);
		return;
	}
	ask->peer = work->peer;
	work->peer = NULL;
	memcpy(ask->digest, work->digest, WIRE_DIGEST);
	if (ask->body)
		conn->unchecked -= ask_body_len(ask);
	ask->checked = true;
	hand_over(conn);
	receive(conn);
}

/* Set the user of a request of the web program: the one whose session the
 * cookie names, or none if nobody has logged in. */
static void log_in(struct ask *ask, const char *cookie, size_t len)
{
	const struct rpc_calls *calls = &ask->conn->all->calls;

	if (len)
		ask->peer = calls->session(cookie, len, calls->arg);
	ask->checked = true;
}

static enum wait take_cred(struct conn *conn, struct ask *ask)
{
	struct evbuffer *in = conn->in;
	size_t len = ask->head.cred_len;

	if (ask->has_cred)
		return WAIT_NOT;
	if (evbuffer_get_length(in) < len)
		return WAIT_PEER;
	ask->has_cred = true;
	if (conn->web)
		log_in(ask, (const char *)evbuffer_pullup(in, (ssize_t)len),
		       len);
	else if (len)
		ask->work = workers_decode(
		    conn->all->workers,
		    (const char *)evbuffer_pullup(in, (ssize_t)len), len,
		    on_decoded, ask);
	else
		ask->checked = true;
	evbuffer_drain(in, len);
	return WAIT_NOT;
}

/* Allocate memory for the body. Wait if the sender is unknown and the body is
 * large, or if the sender's share of memory is used up. */
static enum wait begin_body(struct conn *conn, struct ask *ask)
{
	struct conns *all = conn->all;
	size_t len = ask_body_len(ask);

	if (ask->body)
		return WAIT_NOT;
	if (!ask->checked && conn->unchecked + len > READ_AHEAD)
		return WAIT_US;
	if (!holder_has_memory(conn, len)) {
		if (!conn->starving)
			TAILQ_INSERT_TAIL(&all->starving, conn, of_starving);
		conn->starving = true;
		return WAIT_US;
	}
	if (!ask->checked)
		conn->unchecked += len;
	holder_charge(ask, len);
	ask->body = xmalloc(len + 1);
	frame_hash_begin(&ask->hash, &ask->head, all->cluster, conn->nonce, 0);
	return WAIT_NOT;
}

/* Read what has arrived of the body, and hash it at once, so that no turn has
 * to hash 64 MiB. */
static enum wait take_body(struct conn *conn, struct ask *ask)
{
	struct evbuffer *in = conn->in;
	int n = evbuffer_remove(in, ask->body + ask->got,
	                        ask_body_len(ask) - ask->got);

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

/* Move the connection to the end of its list, which begins with the one that
 * was idle for the longest time. */
static void was_active(struct conn *conn)
{
	struct conns *all = conn->all;
	struct conn_list *list =
	    conn->holder ? &all->known : &all->strangers[conn->tcp].list;

	TAILQ_REMOVE(list, conn, of_list);
	TAILQ_INSERT_TAIL(list, conn, of_list);
}

/* Stop reading from the socket while much of the input is unprocessed. */
static void set_reading(struct conn *conn)
{
	size_t len = evbuffer_get_length(conn->in);
	bool on = event_pending(conn->readable, EV_READ, NULL);

	if (len < READ_SIZE && !on && !conn->eof)
		event_add(conn->readable, NULL);
	else if (len >= READ_SIZE && on)
		event_del(conn->readable);
}

void receive(struct conn *conn)
{
	struct evbuffer *in = conn->in;
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
			conn_set_timer(conn, TIMER_FRAME, limits->frame_ms);
	} else if (!conn->holder && TAILQ_EMPTY(&conn->asks)) {
		conn_set_timer(conn, TIMER_IDLE, limits->idle_ms);
	} else {
		conn_set_timer(conn, TIMER_NONE, 0);
	}
}
