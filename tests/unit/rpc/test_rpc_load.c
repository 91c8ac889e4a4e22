/* test_rpc_load.c - the server with peers that are slow, silent or too many */
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "tests/unit/rpc/raw.h"
#include "tests/unit/rpc/rpc_server.h"

static const char request[] = "{\"op\":\"submit\"}";

START_TEST(hung_munged_delays_no_ping)
{
	struct rpc_limits limits = patient;
	enum { N = 8 }; /* more than the server has threads for credentials */
	struct raw raw[N];
	char *cred[N];

	limits.auth_ms = 200;
	server_restart(&limits);
	for (int i = 0; i < N; i++) {
		raw[i] = raw_open();
		cred[i] =
		    raw_cred(FRAME_REQUEST, "demo", raw[i].nonce, 1, request);
	}
	kill(munged.pid, SIGSTOP);
	for (int i = 0; i < N; i++) {
		struct buf out = { 0 };

		raw_frame(&out, 1, cred[i], request);
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
	static const char http[] = "GET /metrics HTTP/1.1\r\n";
	struct rpc_limits limits = patient;
	struct raw raw;

	limits.linger_ms = 100;
	server_restart(&limits);
	raw = raw_open();
	raw_send(raw.fd, http, sizeof(http) - 1);
	raw_refused(raw.fd, EPROTO, "not a frame");
	raw_closed(raw.fd); /* by the server; our end is still open */
	while (send(raw.fd, "", 1, MSG_NOSIGNAL) == 1)
		;
	/* The first send() after the server has closed gives ECONNRESET if the
	 * server had not read all our bytes. */
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
	raw_closed(fd[0]); /* the connection that was idle longest */
	json_decref(ask(client, "submit"));
	for (int i = 0; i < N; i++)
		close(fd[i]);
	client_close(client);
	client_close(last);
}
END_TEST

/* Unauthenticated connections over TCP and those of other users over the Unix
 * socket have separate limits. */
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

/* If a user reaches the limit of authenticated connections, the one that was
 * idle for longest is closed; if none is idle, the new one is refused. */
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

/* When users hold all connections that users may have, an admin can still
 * connect. A new connection of a user with few connections replaces a
 * connection of a user with many. */
START_TEST(greedy_user_makes_room)
{
	enum { USERS = 4, N = LIMIT_CONNS - LIMIT_CONNS_KEPT };
	static struct client *client[N];
	struct client *last;

	if (geteuid() != 0)
		return; /* only root can act as several users */
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

/* Send the head of the longest possible request, with an invalid credential. */
static void put_stranger(int fd)
{
	static const struct frame_head longest = { FRAME_REQUEST, 1, 7, 0,
		                                   LIMIT_RAW };

	raw_bare(fd, WIRE_VERSION, &longest, "MUNGE:x");
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

/* While the server holds the longest JSON, it has no memory for the longest raw
 * bytes, so it stops reading. */
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
	raw_request(&first, json, 0);
	wait_until(&server.waiting, 1);

	raw_request(&second, request, LIMIT_RAW);
	began = clock();
	sent = send_zeros(second.fd, LIMIT_RAW);
	ck_assert_uint_lt(sent, 1 << 20);
	/* The server must not have used CPU in the meantime. */
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

/* Requests of one user that are stuck do not delay other users. */
START_TEST(stalled_request_delays_its_user_alone)
{
	struct rpc_limits limits = patient;
	struct raw stalled, second, other;
	struct frame_head head;
	size_t sent = 0;

	if (geteuid() != 0)
		return; /* only root can act as several users */
	limits.body_bytes *= 2;
	server_restart(&limits);
	as_uid(1);
	stalled = raw_open();
	raw_request(&stalled, request, LIMIT_RAW);
	send_zeros(stalled.fd, 1 << 20);
	second = raw_open();
	raw_request(&second, request, LIMIT_RAW);
	ck_assert_uint_lt(send_zeros(second.fd, LIMIT_RAW), 1 << 20);
	as_uid(0);
	other = raw_open();
	raw_request(&other, request, LIMIT_RAW);
	while (sent < LIMIT_RAW)
		sent += send_zeros(other.fd, LIMIT_RAW - sent);
	json_decref(raw_read(other.fd, &head));
	close(stalled.fd);
	close(second.fd);
	close(other.fd);
}
END_TEST

/* Wait until the server has read all that was sent to this socket. */
static void wait_until_read(int fd)
{
	int left;

	for (int tries = 0;; tries++) {
		ck_assert_int_eq(ioctl(fd, SIOCOUTQ, &left), 0);
		if (!left)
			return;
		ck_assert_int_lt(tries, 60000);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

START_TEST(large_request_is_the_first_of_its_turn)
{
	enum { N = 3 }; /* the first is a small one */
	struct client *client = open_client(server.path);
	char *large = xasprintf("{\"op\":\"submit\",\"pad\":\"%0100000d\"}", 0);
	json_t *pause = json_pack("{s:s}", "op", "queues");
	struct raw raw[N];
	int64_t turn[N];
	struct err err;

	for (int i = 0; i < N; i++) {
		const char *json = i ? large : request;
		struct buf out = { 0 };
		char *cred;

		raw[i] = raw_open();
		cred = raw_cred(FRAME_REQUEST, "demo", raw[i].nonce, 1, json);
		raw_frame(&out, 1, cred, json);
		raw_send(raw[i].fd, out.data, out.len - 1);
		wait_until_read(raw[i].fd);
		buf_free(&out);
		free(cred);
	}
	/* The server stops while all of them become complete. */
	pthread_mutex_lock(&server.pause);
	ck_assert_int_eq(client_send(client, pause, NULL, 0, &err), 0);
	wait_until(&server.asked, 1);
	for (int i = 0; i < N; i++)
		raw_send(raw[i].fd, "}", 1);
	pthread_mutex_unlock(&server.pause);
	for (int i = 0; i < N; i++) {
		struct frame_head head;

		turn[i] = number(raw_read(raw[i].fd, &head), "turn");
		close(raw[i].fd);
	}
	ck_assert_int_lt(turn[0], turn[1]);
	ck_assert_int_lt(turn[1], turn[2]);
	json_decref(pause);
	free(large);
	client_close(client);
}
END_TEST

/* After the server has refused a request, it reads and drops the rest of the
 * request, because the peer may read the answer only after sending
 * everything. */
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

SUITE(rpc_load)
{
	tcase_add_checked_fixture(tc, server_set_up, server_tear_down);
	tcase_add_test(tc, hung_munged_delays_no_ping);
	tcase_add_test(tc, answer_that_cannot_be_proven_is_lost);
	tcase_add_test(tc, idle_stranger_is_closed);
	tcase_add_test(tc, dribbled_frame_is_closed);
	tcase_add_test(tc, peer_that_never_closes_is_closed);
	tcase_add_test(tc, stranger_makes_room_for_newcomer);
	tcase_add_test(tc, strangers_push_out_their_own_kind);
	tcase_add_test(tc, user_has_so_many_connections);
	tcase_add_test(tc, greedy_user_makes_room);
	tcase_add_test(tc, stalled_request_delays_its_user_alone);
	tcase_add_test(tc, large_request_waits_for_memory);
	tcase_add_test(tc, large_request_is_the_first_of_its_turn);
	tcase_add_test(tc, large_request_of_a_stranger_is_not_kept);
}
