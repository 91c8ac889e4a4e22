/* test_rpc_bad.c - the server with clients that misbehave */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/auth.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/unit/rpc/rpc_server.h"

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

/* Send a handmade request, up to its raw bytes, which are zero. */
static void send_request(const struct raw *raw, const char *json,
                         size_t raw_len)
{
	struct frame_head head = {
		.kind = FRAME_REQUEST,
		.seq = 1,
		.json_len = (uint32_t)strlen(json),
		.raw_len = (uint32_t)raw_len,
	};
	unsigned char digest[WIRE_DIGEST], bytes[WIRE_HEAD];
	char *zero = xcalloc(1, raw_len + 1), *cred;
	struct err err;

	frame_digest(digest, FRAME_REQUEST, "demo", raw->nonce, 1, 0, json,
	             head.json_len, zero, raw_len);
	cred = auth_encode(NULL, digest, &err);
	ck_assert_msg(cred != NULL, "%s", err.text);
	head.cred_len = (uint32_t)strlen(cred);
	frame_head_put(bytes, &head);
	raw_send(raw->fd, bytes, sizeof(bytes));
	raw_send(raw->fd, cred, head.cred_len);
	raw_send(raw->fd, json, head.json_len);
	free(cred);
	free(zero);
}

static const char request[] = "{\"op\":\"submit\"}";
static const char other_request[] = "{\"op\":\"submit\",\"evil\":1}";

/* The values in the credential, and those sent with it. */
static const struct forgery {
	const char *name;
	enum frame_kind kind;
	const char *cluster, *nonce; /* NULL: those of the connection */
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
	raw_send(raw.fd, out.data, out.len);
	raw_refused(raw.fd, EACCES, "does not belong to this request");
	raw_closed(raw.fd);
	ck_assert_int_eq(server.asked, 0);
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
	raw_send(raw.fd, out.data, out.len);
	raw_send(raw.fd, out.data, out.len);
	json_decref(raw_read(raw.fd, &head));
	raw_refused(raw.fd, EPROTO, "received request 1 instead of 2");
	raw_closed(raw.fd);
	ck_assert_int_eq(server.asked, 1);
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
	raw_send(raw.fd, out.data, out.len);
	json_decref(raw_read(raw.fd, &head));
	buf_clear(&out);
	put_frame(&out, 2, cred, request);
	raw_send(raw.fd, out.data, out.len);
	raw_refused(raw.fd, EACCES, "Replayed");
	raw_closed(raw.fd);
	ck_assert_int_eq(server.asked, 1);
	buf_free(&out);
	free(cred);
	close(raw.fd);
}
END_TEST

/* Frames without a valid credential. */
static const struct bad {
	const char *name;
	unsigned char version; /* 0: only the body is sent */
	struct frame_head head;
	const char *body;
	int code;
	const char *text;
} bad[] = {
	/* clang-format off */
	{ "not ours", 0, { 0 }, "GET /metrics HTTP/1.1\r\n",
	  EPROTO, "not a frame" },
	{ "version", 7, { FRAME_REQUEST, 1, 0, 1, 0 }, "",
	  EPROTONOSUPPORT, "version 7 of the protocol, this one version 1" },
	{ "kind", 1, { FRAME_REPLY, 1, 0, 1, 0 }, "",
	  EPROTO, "a frame is not a request" },
	{ "sequence", 1, { FRAME_REQUEST, 0, 0, 1, 0 }, "",
	  EPROTO, "received request 0 instead of 1" },
	{ "long credential", 1, { FRAME_REQUEST, 1, LIMIT_CRED + 1, 1, 0 }, "",
	  EMSGSIZE, "credential is too long: 4097 bytes, at most 4096" },
	{ "long JSON", 1, { FRAME_REQUEST, 1, 1, LIMIT_JSON + 1, 0 }, "",
	  EMSGSIZE, "JSON is too long" },
	{ "long raw", 1, { FRAME_REQUEST, 1, 1, 1, LIMIT_RAW + 1 }, "",
	  EMSGSIZE, "raw part is too long" },
	{ "long for a stranger", 1, { FRAME_REQUEST, 1, 0, LIMIT_BARE, 1 }, "",
	  EMSGSIZE, "without a credential is too long" },
	{ "forged", 1, { FRAME_REQUEST, 1, 7, 65536, 0 }, "MUNGE:x",
	  EACCES, "munged: " },
	{ "not JSON", 1, { FRAME_REQUEST, 1, 0, 1, 0 }, "{",
	  EPROTO, "not JSON" },
	{ "no JSON", 1, { FRAME_REQUEST, 1, 0, 0, 0 }, "",
	  EPROTO, "not JSON" },
	{ "no object", 1, { FRAME_REQUEST, 1, 0, 2, 0 }, "[]",
	  EPROTO, "the request has no \"op\"" },
	{ "key twice", 1, { FRAME_REQUEST, 1, 0, 25, 0 },
	  "{\"op\":\"ping\",\"op\":\"ping\"}",
	  EPROTO, "not JSON: duplicate object key" },
	/* clang-format on */
};

static void send_bad(int fd, const struct bad *b)
{
	unsigned char head[WIRE_HEAD];

	frame_head_put(head, &b->head);
	head[4] = b->version;
	if (b->version)
		raw_send(fd, head, sizeof(head));
	raw_send(fd, b->body, strlen(b->body));
}

START_TEST(bad_frame_gets_one_answer)
{
	struct raw raw = raw_open();

	send_bad(raw.fd, &bad[_i]);
	raw_refused(raw.fd, bad[_i].code, bad[_i].text);
	raw_closed(raw.fd);
	close(raw.fd);
	ck_assert_int_eq(server.asked, 0);
	ping_works();
}
END_TEST

START_TEST(cut_frame_is_told_so)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };

	put_frame(&out, 1, "", "{\"op\":\"ping\"}");
	out.len -= (size_t)_i;
	raw_send(raw.fd, out.data, out.len);
	shutdown(raw.fd, SHUT_WR);
	raw_refused(raw.fd, EPROTO, "cut short");
	raw_closed(raw.fd);
	close(raw.fd);
	buf_free(&out);
	ck_assert_int_eq(server.asked, 0);
}
END_TEST

START_TEST(stranger_may_only_ping)
{
	struct raw raw = raw_open();
	struct buf out = { 0 };
	struct frame_head head;

	put_frame(&out, 1, "", request);
	put_frame(&out, 2, "", "{\"op\":\"ping\"}");
	raw_send(raw.fd, out.data, out.len);
	raw_refused(raw.fd, EACCES, "'submit' came without a credential");
	json_decref(raw_read(raw.fd, &head));
	ck_assert_uint_eq(head.seq, 2);
	ck_assert_int_eq(server.asked, 1);
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

/* --- patience and memory
 * --------------------------------------------------- */

START_TEST(hung_munged_delays_no_ping)
{
	struct rpc_limits limits = patient;
	enum { N = 8 }; /* more than there are threads */
	struct raw raw[N];
	char *cred[N];

	limits.auth_ms = 200;
	server_restart(&limits);
	for (int i = 0; i < N; i++) {
		raw[i] = raw_open();
		cred[i] =
		    make_cred(FRAME_REQUEST, "demo", raw[i].nonce, 1, request);
	}
	kill(munged.pid, SIGSTOP);
	for (int i = 0; i < N; i++) {
		struct buf out = { 0 };

		put_frame(&out, 1, cred[i], request);
		raw_send(raw[i].fd, out.data, out.len);
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
	ck_assert_int_eq(server.asked, N + 1); /* the pings */
}
END_TEST

START_TEST(answer_that_cannot_be_proven_is_lost)
{
	struct rpc_limits limits = patient;
	struct client *client;
	json_t *req = json_pack("{s:s}", "op", "wait");
	struct err err;

	limits.auth_ms = 2000;
	server_restart(&limits);
	client = open_client(server.tcp);
	ck_assert_int_eq(client_send(client, req, NULL, 0, &err), 0);
	wait_until(&server.waiting, 1);
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
	struct rpc_limits limits = patient;
	struct raw raw;
	struct client *client;

	limits.idle_ms = 1000;
	server_restart(&limits);
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
	struct rpc_limits limits = patient;
	struct raw raw;

	limits.frame_ms = 100;
	server_restart(&limits);
	raw = raw_open();
	ck_assert_int_eq(send(raw.fd, "A", 1, 0), 1);
	raw_closed(raw.fd);
	close(raw.fd);
}
END_TEST

START_TEST(peer_that_never_closes_is_closed)
{
	struct rpc_limits limits = patient;
	struct raw raw;

	limits.linger_ms = 100;
	server_restart(&limits);
	raw = raw_open();
	send_bad(raw.fd, &bad[0]);
	raw_refused(raw.fd, bad[0].code, bad[0].text);
	raw_closed(raw.fd); /* by the server; our end is still open */
	while (send(raw.fd, "", 1, MSG_NOSIGNAL) == 1)
		;
	/* ECONNRESET first, if the server closed with bytes of ours unread. */
	ck_assert(errno == EPIPE || errno == ECONNRESET);
	close(raw.fd);
}
END_TEST

START_TEST(stranger_makes_room_for_newcomer)
{
	enum { N = LIMIT_STRANGERS + 20 };
	struct client *client, *last;
	static int fd[N];

	allow_files(2 * N + 100);
	client = open_client(server.path);
	json_decref(ask(client, "submit"));
	for (int i = 0; i < N; i++)
		fd[i] = raw_open().fd;
	last = open_client(server.path);
	ck_assert_int_eq(number(ask(last, "status"), "connections"),
	                 LIMIT_STRANGERS + 1);
	raw_closed(fd[0]); /* the longest idle one */
	json_decref(ask(client, "submit"));
	for (int i = 0; i < N; i++)
		close(fd[i]);
	client_close(client);
	client_close(last);
}
END_TEST

/* Strangers over TCP and those of other users have their own connections. */
START_TEST(strangers_push_out_their_own_kind)
{
	enum { N = LIMIT_STRANGERS + 20 };
	struct raw first = raw_open(), other;
	static int fd[2 * N];

	allow_files(4 * N + 100);
	as_uid(1);
	other = raw_open();
	as_uid(0);
	for (int i = 0; i < N; i++)
		fd[i] = raw_open_tcp().fd;
	raw_ping(&first);
	for (int i = N; i < 2 * N; i++)
		fd[i] = raw_open().fd;
	raw_closed(first.fd);
	if (geteuid() == 0)
		raw_ping(&other);
	for (int i = 0; i < 2 * N; i++)
		close(fd[i]);
	close(first.fd);
	close(other.fd);
}
END_TEST

static void let_wait(struct client *client)
{
	json_t *req = json_pack("{s:s}", "op", "wait");
	int waiting = server.waiting;
	struct err err;

	ck_assert_int_eq(client_send(client, req, NULL, 0, &err), 0);
	json_decref(req);
	wait_until(&server.waiting, waiting + 1);
}

/* All connections have authenticated: the longest idle one is closed; if none
 * is idle, the new one is refused. */
START_TEST(user_has_so_many_connections)
{
	static struct client *client[LIMIT_CONNS_USER];
	struct client *last;
	struct err err;

	allow_files(2 * LIMIT_CONNS_USER + 100);
	for (int i = 0; i < LIMIT_CONNS_USER; i++) {
		client[i] = open_client(server.path);
		json_decref(ask(client[i], "submit"));
	}
	json_decref(ask(client[0], "submit"));
	last = open_client(server.path);
	json_decref(ask(last, "submit"));
	err = refused(client[1], "submit");
	ck_assert_int_eq(err.code, ECONNRESET);
	client_close(client[1]);
	client[1] = last;

	for (int i = 0; i < LIMIT_CONNS_USER; i++)
		let_wait(client[i]);
	last = open_client(server.path);
	err = refused(last, "submit");
	ck_assert_int_eq(err.code, EBUSY);
	ck_assert_ptr_nonnull(strstr(err.text, "has 256 connections"));
	client_close(last);

	server.admins = true;
	last = open_client(server.path);
	json_decref(ask(last, "submit"));
	client_close(last);
	for (int i = 0; i < LIMIT_CONNS_USER; i++)
		client_close(client[i]);
	wait_until(&server.gone, LIMIT_CONNS_USER);
}
END_TEST

/* When users hold all connections for users, an admin is still served, and a
 * user who has few replaces one who has many. */
START_TEST(greedy_user_makes_room)
{
	enum { USERS = 4, N = LIMIT_CONNS - LIMIT_CONNS_KEPT };
	static struct client *client[N];
	struct client *last;

	if (geteuid() != 0)
		return; /* takes root, to be others */
	allow_files(2 * N + 200);
	for (int i = 0; i < N; i++) {
		as_uid((uid_t)(1 + i % USERS));
		client[i] = open_client(server.path);
		let_wait(client[i]);
	}
	as_uid(0);
	server.admins = true;
	last = open_client(server.path);
	json_decref(ask(last, "submit"));
	ck_assert_int_eq(server.gone, 0);
	client_close(last);

	server.admins = false;
	as_uid(USERS + 1);
	last = open_client(server.path);
	json_decref(ask(last, "submit"));
	as_uid(0);
	ck_assert_int_eq(server.gone, 1);
	client_close(last);
	for (int i = 0; i < N; i++)
		client_close(client[i]);
	wait_until(&server.gone, N);
}
END_TEST

START_TEST(request_has_so_many_values)
{
	struct client *client = open_client(server.path);
	json_t *ids = json_array(), *req, *answer;
	struct err err;

	for (int i = 0; i < LIMIT_VALUES; i++)
		json_array_append_new(ids, json_integer(0));
	req = json_pack("{s:s, s:o}", "op", "submit", "ids", ids);
	answer = client_call(client, req, "x", 1, NULL, NULL, &err);
	ck_assert_msg(answer != NULL, "%s", err.text);
	json_decref(answer);
	ck_assert_ptr_null(client_call(client, req, NULL, 0, NULL, NULL, &err));
	ck_assert_int_eq(err.code, EMSGSIZE);
	ck_assert_ptr_nonnull(strstr(err.text, "more than 65536 values"));
	json_decref(req);
	client_close(client);
}
END_TEST

/* Send the head of the longest request, with an invalid credential. */
static void put_stranger(int fd)
{
	const struct bad longest = {
		.version = WIRE_VERSION,
		.head = { FRAME_REQUEST, 1, 7, 0, LIMIT_RAW },
		.body = "MUNGE:x",
	};

	send_bad(fd, &longest);
}

/* Send zeros until the server stops reading for 0.2 s; returns how many it
 * took. */
static size_t send_zeros(int fd, size_t len)
{
	static const char zero[65536];
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	size_t sent = 0;

	while (sent < len && poll(&pfd, 1, 200) == 1) {
		size_t left = len - sent;
		ssize_t n =
		    send(fd, zero, left < sizeof(zero) ? left : sizeof(zero),
		         MSG_NOSIGNAL | MSG_DONTWAIT);

		ck_assert(n > 0 || errno == EAGAIN);
		sent += n > 0 ? (size_t)n : 0;
	}
	return sent;
}

/* While the longest JSON is held, the longest raw does not fit. */
START_TEST(large_request_waits_for_memory)
{
	struct raw first = raw_open(), second = raw_open();
	char *json = xmalloc(LIMIT_JSON + 1);
	struct frame_head head;
	clock_t began;
	size_t sent;

	memset(json, ' ', LIMIT_JSON);
	memcpy(json, "{\"op\":\"wait\"", 12);
	json[LIMIT_JSON - 1] = '}';
	json[LIMIT_JSON] = '\0';
	send_request(&first, json, 0);
	wait_until(&server.waiting, 1);

	send_request(&second, request, LIMIT_RAW);
	began = clock();
	sent = send_zeros(second.fd, LIMIT_RAW);
	ck_assert_uint_lt(sent, 1 << 20);
	/* Nor may the server busy-loop meanwhile. */
	ck_assert_int_lt(clock() - began, CLOCKS_PER_SEC / 10);
	release_held();
	while (sent < LIMIT_RAW)
		sent += send_zeros(second.fd, LIMIT_RAW - sent);
	json_decref(raw_read(second.fd, &head));
	free(json);
	close(first.fd);
	close(second.fd);
}
END_TEST

/* Requests of one user that are stuck delay no other user. */
START_TEST(stalled_request_delays_its_user_alone)
{
	struct rpc_limits limits = patient;
	struct raw stalled, second, other;
	struct frame_head head;
	size_t sent = 0;

	if (geteuid() != 0)
		return; /* takes root, to be others */
	limits.body_bytes *= 2;
	server_restart(&limits);
	as_uid(1);
	stalled = raw_open();
	send_request(&stalled, request, LIMIT_RAW);
	send_zeros(stalled.fd, 1 << 20);
	second = raw_open();
	send_request(&second, request, LIMIT_RAW);
	ck_assert_uint_lt(send_zeros(second.fd, LIMIT_RAW), 1 << 20);
	as_uid(0);
	other = raw_open();
	send_request(&other, request, LIMIT_RAW);
	while (sent < LIMIT_RAW)
		sent += send_zeros(other.fd, LIMIT_RAW - sent);
	json_decref(raw_read(other.fd, &head));
	close(stalled.fd);
	close(second.fd);
	close(other.fd);
}
END_TEST

/* After a refusal the rest is read and dropped: the peer may send all of it
 * before it reads. */
START_TEST(large_request_of_a_stranger_is_not_kept)
{
	struct raw raw = raw_open();
	size_t sent;

	kill(munged.pid, SIGSTOP);
	put_stranger(raw.fd);
	sent = send_zeros(raw.fd, LIMIT_RAW);
	ck_assert_uint_lt(sent, 1 << 20);
	kill(munged.pid, SIGCONT);
	while (sent < LIMIT_RAW)
		sent += send_zeros(raw.fd, LIMIT_RAW - sent);
	raw_refused(raw.fd, EACCES, "munged: ");
	raw_closed(raw.fd);
	close(raw.fd);
}
END_TEST

SUITE(rpc_bad)
{
	tcase_add_checked_fixture(tc, server_set_up, server_tear_down);
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
	tcase_add_test(tc, strangers_push_out_their_own_kind);
	tcase_add_test(tc, user_has_so_many_connections);
	tcase_add_test(tc, greedy_user_makes_room);
	tcase_add_test(tc, request_has_so_many_values);
	tcase_add_test(tc, stalled_request_delays_its_user_alone);
	tcase_add_test(tc, large_request_waits_for_memory);
	tcase_add_test(tc, large_request_of_a_stranger_is_not_kept);
}
