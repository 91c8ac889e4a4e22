/*
 * test_rpc.c - the server with real clients, a real munged and bad ones
 *
 * The server runs in a thread of its own, each test in a process of its own
 * with its own munged.
 */
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aischedd/rpc/rpc.h"
#include "libcommon/auth.h"
#include "libcommon/buf.h"
#include "libcommon/client.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/wire.h"
#include "tests/unit/check.h"
#include "tests/unit/munged.h"

/* --- the server ---------------------------------------------------------- */

static struct munged munged;

static struct server {
	char *path, *tcp; /* addresses */
	struct event_base *base;
	struct rpc *rpc;
	struct event *stop;
	int stop_pipe[2];
	pthread_t thread;
	struct ask *held; /* a `wait` that is not answered */
	int asked, gone;
} server;

/* Pieces of a long listing, each when the last is nearly gone. */
struct listing {
	int64_t left, n;
};

static void list_more(struct ask *ask, void *arg)
{
	struct listing *listing = arg;
	static char piece[100000];
	size_t n = sizeof(piece);

	if (listing->left == 0) {
		rpc_reply(ask, json_pack("{s:I}", "rows", listing->n));
		free(listing);
		return;
	}
	if ((int64_t)n > listing->left)
		n = (size_t)listing->left;
	for (size_t i = 0; i < n; i++)
		piece[i] = (char)(listing->n++ % 251);
	listing->left -= (int64_t)n;
	rpc_part(ask, piece, n);
	rpc_when_drained(ask, list_more, listing);
}

static unsigned sum(const void *data, size_t len)
{
	const unsigned char *p = data;
	unsigned total = 0;

	for (size_t i = 0; i < len; i++)
		total = total * 31 + p[i];
	return total;
}

static void release(struct server *s)
{
	rpc_reply(s->held, json_pack("{s:s}", "was", "held"));
	s->held = NULL;
}

static void handle(struct ask *ask, const struct request_in *in, void *arg)
{
	struct server *s = arg;
	struct listing *listing;
	struct err err;

	s->asked++;
	switch (in->op) {
	case OP_ping:
		if (json_object_get(in->body, "release"))
			release(s);
		rpc_reply(ask, json_pack("{s:b}", "known", in->peer->known));
		break;
	case OP_submit:
		rpc_reply(ask,
		          json_pack("{s:s s:i s:i s:s s:I s:O}", "user",
		                    in->peer->user, "uid", (int)in->peer->uid,
		                    "ngroups", (int)in->peer->ngroups, "group",
		                    in->peer->group_name[0], "sum",
		                    (json_int_t)sum(in->raw, in->raw_len),
		                    "body", in->body));
		break;
	case OP_jobs:
		listing = xcalloc(1, sizeof(*listing));
		listing->left =
		    json_integer_value(json_object_get(in->body, "bytes"));
		list_more(ask, listing);
		break;
	case OP_wait:
		s->held = ask;
		break;
	case OP_status:
		rpc_reply(ask, json_pack("{s:i s:i s:i s:i}", "asked", s->asked,
		                         "gone", s->gone, "held",
		                         s->held != NULL, "connections",
		                         (int)rpc_connections(s->rpc)));
		break;
	default:
		err_set(&err, EPERM, "'%s' is not for you\n", op_name(in->op));
		rpc_refuse(ask, &err);
	}
}

static void forget(struct ask *ask, void *arg)
{
	struct server *s = arg;

	ck_assert_ptr_eq(ask, s->held);
	s->held = NULL;
	s->gone++;
}

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

static void *serve(void *arg)
{
	event_base_dispatch(arg);
	return NULL;
}

/* A port that was free a moment ago */
static char *free_port(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, len), 0);
	getsockname(fd, (struct sockaddr *)&addr, &len);
	close(fd);
	return xasprintf("tcp://127.0.0.1:%d", ntohs(addr.sin_port));
}

static struct rpc *listen_at(const char *const *address, size_t n,
                             struct err *err)
{
	struct conf conf = {
		.cluster = "demo",
		.listen = { n, address },
		.munge_socket = munged.socket,
	};

	return rpc_new(server.base, &conf, handle, forget, &server, err);
}

static const struct rpc_deadlines patient = {
	.auth = 20000,
	.idle = 20000,
	.frame = 20000,
	.linger = 20000,
};

static void server_start(const struct rpc_deadlines *deadlines)
{
	const char *address[2];
	struct err err;

	server.path = xasprintf("%s/run/aischedd.sock", munged.dir);
	server.tcp = free_port();
	address[0] = server.path;
	address[1] = server.tcp;
	server.base = event_base_new();
	server.rpc = listen_at(address, 2, &err);
	ck_assert_msg(server.rpc != NULL, "%s", err.text);
	rpc_set_deadlines(server.rpc, deadlines);
	ck_assert_int_eq(pipe2(server.stop_pipe, O_CLOEXEC), 0);
	server.stop = event_new(server.base, server.stop_pipe[0], EV_READ,
	                        on_stop, server.base);
	event_add(server.stop, NULL);
	pthread_create(&server.thread, NULL, serve, server.base);
}

static void server_stop(void)
{
	ck_assert_int_eq(write(server.stop_pipe[1], "", 1), 1);
	pthread_join(server.thread, NULL);
	rpc_free(server.rpc);
	event_free(server.stop);
	event_base_free(server.base);
	ck_assert_int_eq(access(server.path, F_OK), -1);
	free(server.path);
	free(server.tcp);
}

static void set_up(void)
{
	munged_start(&munged);
	server_start(&patient);
}

static void tear_down(void)
{
	server_stop();
	munged_stop(&munged);
}

/* Start again with less patience. */
static void hurry(const struct rpc_deadlines *deadlines)
{
	server_stop();
	server_start(deadlines);
}

/* --- good clients -------------------------------------------------------- */

static struct client *open_client(const char *address)
{
	struct err err;
	struct client *client = client_open(address, &err);

	ck_assert_msg(client != NULL, "%s", err.text);
	return client;
}

/* The answer must be good. */
static json_t *ask(struct client *client, const char *op)
{
	json_t *req = json_pack("{s:s}", "op", op), *answer;
	struct err err;

	answer = client_call(client, req, NULL, 0, NULL, NULL, &err);
	json_decref(req);
	ck_assert_msg(answer != NULL, "%s", err.text);
	return answer;
}

/* The answer must be a refusal. */
static struct err refused(struct client *client, const char *op)
{
	json_t *req = json_pack("{s:s}", "op", op), *answer;
	struct err err = { 0 };

	answer = client_call(client, req, NULL, 0, NULL, NULL, &err);
	json_decref(req);
	ck_assert_ptr_null(answer);
	return err;
}

static int64_t number(json_t *answer, const char *key)
{
	int64_t n = json_integer_value(json_object_get(answer, key));

	json_decref(answer);
	return n;
}

static int64_t status(const char *key)
{
	struct client *client = open_client(server.path);
	int64_t n = number(ask(client, "status"), key);

	client_close(client);
	return n;
}

static void ping_works(void)
{
	struct client *client = open_client(server.path);
	json_t *answer = ask(client, "ping");

	ck_assert(json_is_false(json_object_get(answer, "known")));
	json_decref(answer);
	client_close(client);
}

static void release_held(void)
{
	struct client *client = open_client(server.path);
	json_t *req = json_pack("{s:s, s:b}", "op", "ping", "release", 1);
	struct err err;

	json_decref(client_call(client, req, NULL, 0, NULL, NULL, &err));
	json_decref(req);
	client_close(client);
}

static const char *address_of(int i)
{
	return i ? server.tcp : server.path;
}

START_TEST(handler_knows_who_asks)
{
	struct client *client = open_client(address_of(_i));
	json_t *answer = ask(client, "submit");
	int uid, ngroups;
	const char *user, *group;

	ck_assert_int_eq(json_unpack(answer, "{s:s s:i s:i s:s}", "user", &user,
	                             "uid", &uid, "ngroups", &ngroups, "group",
	                             &group),
	                 0);
	ck_assert_uint_eq((uid_t)uid, geteuid());
	ck_assert_int_ge(ngroups, 1);
	if (uid == 0)
		ck_assert_str_eq(user, "root");
	ck_assert_str_ne(group, "");
	json_decref(answer);
	client_close(client);
}
END_TEST

START_TEST(raw_bytes_arrive_whole)
{
	static const size_t sizes[] = { 0, 1, 65536, 65537, 40 << 20 };
	struct client *client = open_client(address_of(_i));
	json_t *req = json_pack("{s:s}", "op", "submit"), *answer;
	char *raw = xmalloc(40 << 20);
	struct err err;

	for (size_t i = 0; i < 40 << 20; i++)
		raw[i] = (char)(i * 7 >> 3);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		answer =
		    client_call(client, req, raw, sizes[i], NULL, NULL, &err);
		ck_assert_msg(answer != NULL, "%s", err.text);
		ck_assert_int_eq(number(answer, "sum"), sum(raw, sizes[i]));
	}
	free(raw);
	json_decref(req);
	client_close(client);
}
END_TEST

static int check_part(const void *data, size_t len, void *arg)
{
	const char *p = data;
	int64_t *at = arg;
	bool same = true;

	for (size_t i = 0; i < len; i++)
		same &= p[i] == (char)((*at)++ % 251);
	ck_assert(same);
	return 0;
}

START_TEST(parts_arrive_in_order)
{
	struct client *client = open_client(address_of(_i));
	json_t *req = json_pack("{s:s, s:i}", "op", "jobs", "bytes", 5000001);
	int64_t at = 0;
	struct err err;
	json_t *answer =
	    client_call(client, req, NULL, 0, check_part, &at, &err);

	ck_assert_msg(answer != NULL, "%s", err.text);
	ck_assert_int_eq(number(answer, "rows"), 5000001);
	ck_assert_int_eq(at, 5000001);
	json_decref(req);
	client_close(client);
}
END_TEST

START_TEST(refusal_has_its_code_and_text)
{
	struct client *client = open_client(address_of(_i));
	struct err err = refused(client, "shutdown");

	ck_assert_int_eq(err.code, EPERM);
	ck_assert_str_eq(err.text, "'shutdown' is not for you?");
	err = refused(client, "nonsense");
	ck_assert_int_eq(err.code, ENOSYS);
	ck_assert_str_eq(err.text, "no such request: 'nonsense'");
	json_decref(ask(client, "submit"));
	client_close(client);
}
END_TEST

/* More in flight than the server takes in, and more than buffers hold */
START_TEST(answers_come_in_order_of_requests)
{
	enum { N = 300 };
	struct client *client = open_client(address_of(_i));
	char *raw = xcalloc(1, 50000);
	struct err err;
	json_t *answer;

	for (int i = 0; i < N; i++) {
		json_t *req = json_pack("{s:s, s:i}", "op", "submit", "i", i);

		ck_assert_int_eq(client_send(client, req, raw, 50000, &err), 0);
		json_decref(req);
	}
	for (int i = 0; i < N; i++) {
		answer = client_recv(client, NULL, NULL, &err);
		ck_assert_msg(answer != NULL, "%s", err.text);
		ck_assert_int_eq(json_integer_value(json_object_get(
				     json_object_get(answer, "body"), "i")),
		                 i);
		json_decref(answer);
	}
	free(raw);
	client_close(client);
}
END_TEST

START_TEST(quick_answer_waits_for_the_slow_one)
{
	struct client *client = open_client(address_of(_i));
	json_t *wait = json_pack("{s:s}", "op", "wait"), *answer;
	json_t *list = json_pack("{s:s, s:i}", "op", "jobs", "bytes", 900000);
	int64_t at = 0;
	struct err err;

	ck_assert_int_eq(client_send(client, wait, NULL, 0, &err), 0);
	ck_assert_int_eq(client_send(client, list, NULL, 0, &err), 0);
	while (!status("held"))
		;
	release_held();
	answer = client_recv(client, NULL, NULL, &err);
	ck_assert_ptr_nonnull(json_object_get(answer, "was"));
	json_decref(answer);
	answer = client_recv(client, check_part, &at, &err);
	ck_assert_int_eq(number(answer, "rows"), 900000);
	json_decref(wait);
	json_decref(list);
	client_close(client);
}
END_TEST

START_TEST(handler_is_told_who_left)
{
	struct client *client = open_client(address_of(_i));
	json_t *req = json_pack("{s:s}", "op", "wait");
	struct err err;

	ck_assert_int_eq(client_send(client, req, NULL, 0, &err), 0);
	json_decref(req);
	while (!status("held"))
		;
	client_close(client);
	while (status("gone") != 1)
		;
}
END_TEST

/* --- without munged ------------------------------------------------------ */

START_TEST(ping_needs_no_munged)
{
	struct client *client = open_client(address_of(_i));
	struct err err;

	kill(munged.pid, SIGKILL);
	waitpid(munged.pid, NULL, 0);
	unlink(munged.socket);
	json_decref(ask(client, "ping"));
	err = refused(client, "submit");
	ck_assert_int_eq(err.code, EAGAIN);
	ck_assert_ptr_nonnull(strstr(err.text, "munged cannot be reached"));
	ck_assert_ptr_nonnull(strstr(err.text, munged.socket));
	json_decref(ask(client, "ping"));
	client_close(client);
}
END_TEST

/* --- bad clients: frames made by hand ------------------------------------ */

struct raw {
	int fd;
	char nonce[WIRE_NONCE + 1];
};

static void read_all(int fd, void *data, size_t len)
{
	ck_assert_int_eq(recv(fd, data, len, MSG_WAITALL), len);
}

static void write_all(int fd, const struct buf *data)
{
	ck_assert_int_eq(send(fd, data->data, data->len, MSG_NOSIGNAL),
	                 data->len);
}

/* The JSON of the next frame */
static json_t *raw_read(int fd, struct frame_head *ret)
{
	unsigned char bytes[WIRE_HEAD];
	struct err err;
	char *body;
	json_t *json;

	read_all(fd, bytes, sizeof(bytes));
	ck_assert_msg(frame_head_get(ret, bytes, &err) == 0, "%s", err.text);
	body = xmalloc(ret->cred_len + ret->json_len + 1);
	read_all(fd, body, ret->cred_len + ret->json_len);
	json = json_loadb(body + ret->cred_len, ret->json_len, 0, NULL);
	ck_assert_ptr_nonnull(json);
	free(body);
	return json;
}

static int raw_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval limit = { .tv_sec = 30 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", server.path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
	                 0);
	return fd;
}

static struct raw raw_open(void)
{
	struct raw raw = { .fd = raw_connect() };
	struct frame_head head;
	json_t *hello = raw_read(raw.fd, &head);
	const char *nonce, *cluster, *version;

	ck_assert_int_eq(json_unpack(hello, "{s:s s:s s:s}", "nonce", &nonce,
	                             "cluster", &cluster, "version", &version),
	                 0);
	ck_assert_str_eq(cluster, "demo");
	ck_assert_uint_eq(strlen(nonce), WIRE_NONCE);
	memcpy(raw.nonce, nonce, sizeof(raw.nonce));
	json_decref(hello);
	return raw;
}

/* The last frame is a refusal, and then the server closes. */
static void raw_refused(int fd, int code, const char *text)
{
	struct frame_head head;
	json_t *body = raw_read(fd, &head);
	const char *got_text;
	int got_code;

	ck_assert_int_eq(head.kind, FRAME_REPLY);
	ck_assert_int_eq(json_unpack(body, "{s:{s:i s:s}}", "error", "code",
	                             &got_code, "text", &got_text),
	                 0);
	ck_assert_msg(got_code == code && strstr(got_text, text), "%d %s",
	              got_code, got_text);
	json_decref(body);
}

static void raw_closed(int fd)
{
	char c;

	ck_assert_int_le(recv(fd, &c, 1, 0), 0);
}

static void put_frame(struct buf *out, uint32_t seq, const char *cred,
                      const char *json)
{
	struct frame_head head = {
		.kind = FRAME_REQUEST,
		.seq = seq,
		.cred_len = (uint32_t)strlen(cred),
		.json_len = (uint32_t)strlen(json),
	};

	frame_head_put((unsigned char *)buf_room(out, WIRE_HEAD), &head);
	buf_grew(out, WIRE_HEAD);
	buf_puts(out, cred);
	buf_puts(out, json);
}

static char *make_cred(enum frame_kind kind, const char *cluster,
                       const char *nonce, uint32_t seq, const char *json)
{
	unsigned char digest[WIRE_DIGEST];
	struct err err;
	char *cred;

	frame_digest(digest, kind, cluster, nonce, seq, 0, json, strlen(json),
	             NULL, 0);
	cred = auth_encode(NULL, digest, &err);
	ck_assert_msg(cred != NULL, "%s", err.text);
	return cred;
}

static const char request[] = "{\"op\":\"submit\"}";
static const char other_request[] = "{\"op\":\"submit\",\"evil\":1}";

/* What the credential is made over, and what is sent with it */
static const struct forgery {
	const char *name;
	enum frame_kind kind;
	const char *cluster, *nonce; /* NULL: the connection's */
	uint32_t seq;
	const char *json;
} forgeries[] = {
	{ "another body", FRAME_REQUEST, "demo", NULL, 1, other_request },
	{ "another connection", FRAME_REQUEST, "demo",
	  "0123456789abcdef0123456789abcdef", 1, request },
	{ "another cluster", FRAME_REQUEST, "prod", NULL, 1, request },
	{ "another request of the connection", FRAME_REQUEST, "demo", NULL, 2,
	  request },
	{ "an answer turned round", FRAME_REPLY, "demo", NULL, 1, request },
};

START_TEST(credential_fits_one_request)
{
	const struct forgery *f = &forgeries[_i];
	struct raw raw = raw_open();
	struct buf out = { 0 };
	char *cred =
	    make_cred(f->kind, f->cluster, f->nonce ? f->nonce : raw.nonce,
	              f->seq, f->json);

	put_frame(&out, 1, cred, request);
	write_all(raw.fd, &out);
	raw_refused(raw.fd, EACCES, "does not belong to this request");
	raw_closed(raw.fd);
	ck_assert_int_eq(status("asked"), 1);
	buf_free(&out);
	free(cred);
	close(raw.fd);
}
END_TEST

START_TEST(good_frame_made_by_hand_is_taken)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };
	char *cred = make_cred(FRAME_REQUEST, "demo", raw.nonce, 1, request);
	struct frame_head head;
	json_t *answer;

	put_frame(&out, 1, cred, request);
	for (size_t i = 0; i < out.len; i++) /* byte by byte */
		ck_assert_int_eq(send(raw.fd, out.data + i, 1, 0), 1);
	answer = raw_read(raw.fd, &head);
	ck_assert_ptr_nonnull(json_object_get(answer, "user"));
	ck_assert_uint_eq(head.seq, 1);
	ck_assert_uint_eq(head.cred_len, 0);
	json_decref(answer);
	buf_free(&out);
	free(cred);
	close(raw.fd);
}
END_TEST

START_TEST(frame_sent_twice_is_taken_once)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };
	char *cred = make_cred(FRAME_REQUEST, "demo", raw.nonce, 1, request);
	struct frame_head head;

	put_frame(&out, 1, cred, request);
	write_all(raw.fd, &out);
	write_all(raw.fd, &out);
	json_decref(raw_read(raw.fd, &head));
	raw_refused(raw.fd, EPROTO, "request 1 came where 2 was due");
	raw_closed(raw.fd);
	ck_assert_int_eq(status("asked"), 2);
	buf_free(&out);
	free(cred);
	close(raw.fd);
}
END_TEST

START_TEST(credential_is_taken_once)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };
	char *cred = make_cred(FRAME_REQUEST, "demo", raw.nonce, 1, request);
	struct frame_head head;

	put_frame(&out, 1, cred, request);
	write_all(raw.fd, &out);
	json_decref(raw_read(raw.fd, &head));
	buf_clear(&out);
	put_frame(&out, 2, cred, request);
	write_all(raw.fd, &out);
	raw_refused(raw.fd, EACCES, "Replayed");
	raw_closed(raw.fd);
	ck_assert_int_eq(status("asked"), 2);
	buf_free(&out);
	free(cred);
	close(raw.fd);
}
END_TEST

/* Bytes without any credential that is worth something */
#define HEAD(version, kind, cred, seq, json, raw) \
	"AISC" version kind cred seq json raw
#define N0 "\0\0\0\0"
#define N1 "\0\0\0\1"
static const struct {
	const char *name, *bytes;
	size_t len;
	int code;
	const char *text;
} bad[] = {
#define CASE(name, bytes, code, text)                      \
	{                                                  \
		name, bytes, sizeof(bytes) - 1, code, text \
	}
	CASE("not ours", "GET /metrics HTTP/1.1\r\n", EPROTO, "not a frame"),
	CASE("version", HEAD("\7", "\2", "\0\0", N1, N1, N0), EPROTONOSUPPORT,
	     "version 7 of the protocol, this one version 1"),
	CASE("kind", HEAD("\1", "\4", "\0\0", N1, N1, N0), EPROTO,
	     "no request"),
	CASE("sequence", HEAD("\1", "\2", "\0\0", N0, N1, N0), EPROTO,
	     "request 0 came where 1 was due"),
	CASE("long credential", HEAD("\1", "\2", "\xff\0", N1, N1, N0),
	     EMSGSIZE, "credential is too long: 65280 bytes"),
	CASE("long JSON", HEAD("\1", "\2", "\0\1", N1, "\x7f\0\0\0", N0),
	     EMSGSIZE, "JSON is too long"),
	CASE("long raw", HEAD("\1", "\2", "\0\1", N1, N1, "\x7f\0\0\0"),
	     EMSGSIZE, "raw part is too long"),
	CASE("long for a stranger",
	     HEAD("\1", "\2", "\0\0", N1, "\0\1\0\1", N0), EMSGSIZE,
	     "without a credential is too long"),
	CASE("forged", HEAD("\1", "\2", "\0\6", N1, N1, N0) "MUNGE:x", EACCES,
	     "munged: "),
	CASE("not JSON", HEAD("\1", "\2", "\0\0", N1, N1, N0) "{", EPROTO,
	     "not JSON"),
	CASE("no JSON", HEAD("\1", "\2", "\0\0", N1, N0, N0), EPROTO,
	     "not JSON"),
	CASE("key twice",
	     HEAD("\1", "\2", "\0\0", N1, "\0\0\0\x19",
	          N0) "{\"op\":\"ping\",\"op\":\"ping\"}",
	     EPROTO, "not JSON: duplicate object key"),
	CASE("no object", HEAD("\1", "\2", "\0\0", N1, "\0\0\0\2", N0) "[]",
	     EPROTO, "does not say what"),
#undef CASE
};

START_TEST(bad_frame_gets_one_answer)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };

	buf_add(&out, bad[_i].bytes, bad[_i].len);
	write_all(raw.fd, &out);
	raw_refused(raw.fd, bad[_i].code, bad[_i].text);
	raw_closed(raw.fd);
	close(raw.fd);
	ck_assert_int_eq(status("asked"), 1);
	buf_free(&out);
}
END_TEST

START_TEST(cut_frame_is_told_so)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };

	put_frame(&out, 1, "", "{\"op\":\"ping\"}");
	out.len -= (size_t)_i;
	write_all(raw.fd, &out);
	shutdown(raw.fd, SHUT_WR);
	raw_refused(raw.fd, EPROTO, "cut short");
	raw_closed(raw.fd);
	close(raw.fd);
	buf_free(&out);
	ck_assert_int_eq(status("asked"), 1);
}
END_TEST

START_TEST(stranger_may_only_ping)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };
	struct frame_head head;

	put_frame(&out, 1, "", request);
	put_frame(&out, 2, "", "{\"op\":\"ping\"}");
	write_all(raw.fd, &out);
	raw_refused(raw.fd, EACCES, "'submit' came without a credential");
	json_decref(raw_read(raw.fd, &head));
	ck_assert_uint_eq(head.seq, 2);
	ck_assert_int_eq(status("asked"), 2);
	buf_free(&out);
	close(raw.fd);
}
END_TEST

START_TEST(only_submit_takes_raw_bytes)
{
	struct client *client = open_client(server.path);
	json_t *req = json_pack("{s:s}", "op", "jobs"), *answer;
	struct err err;

	answer = client_call(client, req, "x", 1, NULL, NULL, &err);
	ck_assert_ptr_null(answer);
	ck_assert_str_eq(err.text, "request 'jobs' takes no raw bytes");
	json_decref(req);
	client_close(client);
}
END_TEST

/* --- patience ------------------------------------------------------------ */

START_TEST(hung_munged_delays_no_ping)
{
	enum { N = 8 }; /* more than there are threads */
	struct raw raw[N];
	char *cred[N];

	hurry(&(struct rpc_deadlines){ 200, 20000, 20000, 20000 });
	for (int i = 0; i < N; i++) {
		raw[i] = raw_open();
		cred[i] =
		    make_cred(FRAME_REQUEST, "demo", raw[i].nonce, 1, request);
	}
	kill(munged.pid, SIGSTOP);
	for (int i = 0; i < N; i++) {
		struct buf out = { 0 };

		put_frame(&out, 1, cred[i], request);
		write_all(raw[i].fd, &out);
		buf_free(&out);
		free(cred[i]);
		ping_works();
	}
	for (int i = 0; i < N; i++) {
		raw_refused(raw[i].fd, EAGAIN,
		            "munged did not answer within 0.2 s; is it "
		            "running? try again");
		raw_closed(raw[i].fd);
		close(raw[i].fd);
	}
	ping_works();
	kill(munged.pid, SIGCONT);
	ck_assert_int_eq(status("asked"), N + 2);
}
END_TEST

START_TEST(answer_that_cannot_be_proven_is_lost)
{
	struct client *client;
	json_t *req = json_pack("{s:s}", "op", "wait");
	struct err err;

	hurry(&(struct rpc_deadlines){ 200, 20000, 20000, 20000 });
	client = open_client(server.tcp);
	ck_assert_int_eq(client_send(client, req, NULL, 0, &err), 0);
	while (!status("held"))
		;
	kill(munged.pid, SIGSTOP);
	release_held();
	ck_assert_ptr_null(client_recv(client, NULL, NULL, &err));
	ck_assert_int_eq(err.code, ECONNRESET);
	kill(munged.pid, SIGCONT);
	json_decref(req);
	client_close(client);
}
END_TEST

START_TEST(idle_stranger_is_closed)
{
	struct raw raw;
	struct client *client;

	hurry(&(struct rpc_deadlines){ 20000, 100, 20000, 20000 });
	client = open_client(server.path);
	json_decref(ask(client, "submit"));
	raw = raw_open();
	raw_closed(raw.fd);
	close(raw.fd);
	json_decref(ask(client, "submit"));
	client_close(client);
}
END_TEST

START_TEST(dribbled_frame_is_closed)
{
	struct raw raw;

	hurry(&(struct rpc_deadlines){ 20000, 20000, 100, 20000 });
	raw = raw_open();
	ck_assert_int_eq(send(raw.fd, "A", 1, 0), 1);
	raw_closed(raw.fd);
	close(raw.fd);
}
END_TEST

START_TEST(peer_that_never_closes_is_closed)
{
	struct raw raw;

	hurry(&(struct rpc_deadlines){ 20000, 20000, 20000, 100 });
	raw = raw_open();
	ck_assert_int_eq(send(raw.fd, bad[0].bytes, bad[0].len, 0), bad[0].len);
	raw_refused(raw.fd, bad[0].code, bad[0].text);
	raw_closed(raw.fd); /* shut down for writing; the rest after 0.1 s */
	while (status("connections") != 1)
		;
	close(raw.fd);
}
END_TEST

START_TEST(stranger_makes_room_for_newcomer)
{
	enum { N = 1100 };
	struct rlimit most;
	struct client *client, *last;
	static int fd[N];

	getrlimit(RLIMIT_NOFILE, &most);
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
	client = open_client(server.path);
	json_decref(ask(client, "submit"));
	for (int i = 0; i < N; i++) {
		struct raw raw = raw_open();

		fd[i] = raw.fd;
	}
	last = open_client(server.path);
	ck_assert_int_eq(number(ask(last, "status"), "connections"),
	                 LIMIT_CONNS);
	raw_closed(fd[0]); /* the longest idle one */
	json_decref(ask(client, "submit"));
	for (int i = 0; i < N; i++)
		close(fd[i]);
	client_close(client);
	client_close(last);
}
END_TEST

/* --- the client ---------------------------------------------------------- */

START_TEST(client_says_what_to_do_without_daemon)
{
	struct err err;
	char *want = xasprintf("cannot reach aischedd at '%s/none': No such "
	                       "file or directory; is it running? `aischedd` "
	                       "starts it, $AISCHED_SOCKET or --socket names "
	                       "another",
	                       munged.dir);
	char *none = xasprintf("%s/none", munged.dir), *port = free_port();

	ck_assert_ptr_null(client_open(none, &err));
	ck_assert_int_eq(err.code, ENOENT);
	ck_assert_str_eq(err.text, want);
	setenv("AISCHED_SOCKET", none, 1);
	ck_assert_ptr_null(client_open(NULL, &err));
	ck_assert_str_eq(err.text, want);
	ck_assert_ptr_null(client_open(port, &err));
	ck_assert_int_eq(err.code, ECONNREFUSED);
	free(want);
	free(none);
	free(port);
}
END_TEST

/* A daemon made by hand, on TCP, for one request: it says hello, reads the
 * request, and answers. */
struct impostor {
	int listen_fd;
	char *address;
	const char *hello; /* bytes; NULL: as it should be */
	enum { NO_PROOF, OTHER_BODY, OTHER_PART, STRANGER, PROOF } proof;
	pthread_t thread;
};

static const char nonce[] = "00112233445566778899aabbccddeeff";

static void send_frame(int fd, const struct frame_head *head, const char *cred,
                       const char *json)
{
	struct buf out = { 0 };

	frame_head_put((unsigned char *)buf_room(&out, WIRE_HEAD), head);
	buf_grew(&out, WIRE_HEAD);
	buf_puts(&out, cred);
	buf_puts(&out, json);
	write_all(fd, &out);
	buf_free(&out);
}

/* A credential by user nobody, when we may become nobody */
static char *strangers_cred(const unsigned char *digest)
{
	static char cred[LIMIT_CRED];
	int fd[2];
	char *made;
	ssize_t n;

	ck_assert_int_eq(pipe(fd), 0);
	if (fork() == 0) {
		if (setuid(65534) < 0)
			_exit(1);
		made = auth_encode(NULL, digest, NULL);
		_exit(!made || write(fd[1], made, strlen(made)) < 0);
	}
	close(fd[1]);
	n = read(fd[0], cred, sizeof(cred) - 1);
	ck_assert_int_gt(n, 0);
	close(fd[0]);
	return xstrdup(cred);
}

static void *impostor_run(void *arg)
{
	static const char good[] = "{\"ok\":1}";
	struct impostor *imp = arg;
	int fd = accept(imp->listen_fd, NULL, NULL);
	char *hello =
	    xasprintf("{\"cluster\":\"demo\",\"nonce\":\"%s\"}", nonce);
	struct frame_head head = { .kind = FRAME_HELLO,
		                   .json_len = (uint32_t)strlen(hello) };
	unsigned char digest[WIRE_DIGEST];
	char *cred = NULL;

	if (imp->hello) {
		send(fd, imp->hello, strlen(imp->hello) + 1, MSG_NOSIGNAL);
		goto out;
	}
	send_frame(fd, &head, "", hello);
	json_decref(raw_read(fd, &head));
	head = (struct frame_head){ .kind = FRAME_REPLY,
		                    .seq = 1,
		                    .json_len = sizeof(good) - 1 };
	frame_digest(digest, FRAME_REPLY, "demo", nonce, 1,
	             imp->proof == OTHER_PART ? 2 : 1, good,
	             imp->proof == OTHER_BODY ? 2 : head.json_len, NULL, 0);
	if (imp->proof == STRANGER)
		cred = strangers_cred(digest);
	else if (imp->proof != NO_PROOF)
		cred = auth_encode(NULL, digest, NULL);
	head.cred_len = cred ? (uint32_t)strlen(cred) : 0;
	send_frame(fd, &head, cred ? cred : "", good);
out:
	free(cred);
	free(hello);
	close(fd);
	return NULL;
}

static void impostor_start(struct impostor *imp)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	imp->listen_fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(imp->listen_fd, (struct sockaddr *)&addr, len),
	                 0);
	ck_assert_int_eq(listen(imp->listen_fd, 1), 0);
	getsockname(imp->listen_fd, (struct sockaddr *)&addr, &len);
	imp->address = xasprintf("127.0.0.1:%d", ntohs(addr.sin_port));
	pthread_create(&imp->thread, NULL, impostor_run, imp);
}

static void impostor_stop(struct impostor *imp)
{
	pthread_join(imp->thread, NULL);
	close(imp->listen_fd);
	free(imp->address);
}

static const struct {
	const char *text; /* NULL: the answer is good */
	int proof;
} impostors[] = {
	{ "carries no credential", NO_PROOF },
	{ "its credential belongs to another", OTHER_BODY },
	{ "its credential belongs to another", OTHER_PART },
	{ "by uid 65534, neither root nor you", STRANGER },
	{ NULL, PROOF },
};

START_TEST(client_knows_the_daemon_over_tcp)
{
	struct impostor imp = { .proof = impostors[_i].proof };
	json_t *req = json_pack("{s:s}", "op", "status"), *answer;
	struct client *client;
	struct err err = { 0 };

	if (imp.proof == STRANGER && geteuid() != 0)
		return;
	impostor_start(&imp);
	client = open_client(imp.address);
	answer = client_call(client, req, NULL, 0, NULL, NULL, &err);
	if (!impostors[_i].text) {
		ck_assert_msg(answer != NULL, "%s", err.text);
	} else {
		ck_assert_ptr_null(answer);
		ck_assert_int_eq(err.code, EACCES);
		ck_assert_msg(strstr(err.text, impostors[_i].text) != NULL,
		              "%s", err.text);
	}
	json_decref(answer);
	json_decref(req);
	client_close(client);
	impostor_stop(&imp);
}
END_TEST

static const struct {
	const char *hello;
	int code;
	const char *text;
} hellos[] = {
	{ "", ECONNRESET, "was lost: closed by the daemon" },
	{ "220 mail.example.org ESMTP", EPROTO, "not a frame of aisched" },
	{ "AISC\2 a newer daemon says", EPROTONOSUPPORT,
	  "speaks version 2 of the protocol, this one version 1" },
};

START_TEST(client_does_not_take_any_hello)
{
	struct impostor imp = { .hello = hellos[_i].hello };
	struct err err;

	impostor_start(&imp);
	ck_assert_ptr_null(client_open(imp.address, &err));
	ck_assert_int_eq(err.code, hellos[_i].code);
	ck_assert_msg(strstr(err.text, hellos[_i].text) != NULL, "%s",
	              err.text);
	impostor_stop(&imp);
}
END_TEST

/* --- listening ----------------------------------------------------------- */

START_TEST(socket_is_for_everybody)
{
	struct stat st;

	ck_assert_int_eq(stat(server.path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0666);
}
END_TEST

static void listen_fails(const char *address, int code, const char *text)
{
	struct err err;

	ck_assert_ptr_null(listen_at(&address, 1, &err));
	ck_assert_msg(err.code == code && strstr(err.text, text), "%d %s",
	              err.code, err.text);
}

START_TEST(second_daemon_is_refused)
{
	char *file = xasprintf("%s/key", munged.dir);

	listen_fails(server.path, EADDRINUSE, "another aischedd answers at");
	listen_fails(server.tcp, EADDRINUSE, "cannot listen at 'tcp://127");
	listen_fails(file, EADDRINUSE, "is no socket");
	listen_fails("/nonexistent/folder/socket", ENOENT, "cannot listen at");
	listen_fails("tcp://nowhere.invalid:1", EINVAL, "cannot listen at");
	listen_fails("tcp://7117", EINVAL, "want tcp://host:port");
	ping_works();
	free(file);
}
END_TEST

START_TEST(socket_of_the_dead_is_replaced)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char *path = xasprintf("%s/dead", munged.dir);
	const char *address = path;
	struct rpc *rpc;
	struct err err;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	server_stop();
	server.base = event_base_new();
	rpc = listen_at(&address, 1, &err);
	ck_assert_msg(rpc != NULL, "%s", err.text);
	rpc_free(rpc);
	event_base_free(server.base);
	free(path);
	server_start(&patient);
}
END_TEST

SUITE(rpc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, handler_knows_who_asks, 0, 2);
	tcase_add_loop_test(tc, raw_bytes_arrive_whole, 0, 2);
	tcase_add_loop_test(tc, parts_arrive_in_order, 0, 2);
	tcase_add_loop_test(tc, refusal_has_its_code_and_text, 0, 2);
	tcase_add_loop_test(tc, answers_come_in_order_of_requests, 0, 2);
	tcase_add_loop_test(tc, quick_answer_waits_for_the_slow_one, 0, 2);
	tcase_add_loop_test(tc, handler_is_told_who_left, 0, 2);
	tcase_add_loop_test(tc, ping_needs_no_munged, 0, 2);
	tcase_add_loop_test(tc, credential_fits_one_request, 0,
	                    ARRAY_SIZE(forgeries));
	tcase_add_test(tc, good_frame_made_by_hand_is_taken);
	tcase_add_test(tc, frame_sent_twice_is_taken_once);
	tcase_add_test(tc, credential_is_taken_once);
	tcase_add_loop_test(tc, bad_frame_gets_one_answer, 0, ARRAY_SIZE(bad));
	tcase_add_loop_test(tc, cut_frame_is_told_so, 1, 33);
	tcase_add_test(tc, stranger_may_only_ping);
	tcase_add_test(tc, only_submit_takes_raw_bytes);
	tcase_add_test(tc, hung_munged_delays_no_ping);
	tcase_add_test(tc, answer_that_cannot_be_proven_is_lost);
	tcase_add_test(tc, idle_stranger_is_closed);
	tcase_add_test(tc, dribbled_frame_is_closed);
	tcase_add_test(tc, peer_that_never_closes_is_closed);
	tcase_add_test(tc, stranger_makes_room_for_newcomer);
	tcase_add_test(tc, client_says_what_to_do_without_daemon);
	tcase_add_loop_test(tc, client_knows_the_daemon_over_tcp, 0,
	                    ARRAY_SIZE(impostors));
	tcase_add_loop_test(tc, client_does_not_take_any_hello, 0,
	                    ARRAY_SIZE(hellos));
	tcase_add_test(tc, socket_is_for_everybody);
	tcase_add_test(tc, second_daemon_is_refused);
	tcase_add_test(tc, socket_of_the_dead_is_replaced);
}
