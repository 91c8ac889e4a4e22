/* test_rpc_fd.c - descriptors that peers send, on kernels that pass them on */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aischedd/rpc/closer.h"
#include "libcommon/fdpass.h"
#include "libcommon/mem.h"
#include "tests/unit/rpc/raw.h"
#include "tests/unit/rpc/rpc_server.h"

static void set_up(void)
{
	fdpass_old_kernel = true;
	server_set_up();
}

static void tear_down(void)
{
	server_tear_down();
	fdpass_old_kernel = closer_forks = false;
}

/* Returns a socket whose last close waits for a peer that reads nothing; *peer
 * is this peer. */
static int lingering(int *peer)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 3600 };
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0),
	    fd = socket(AF_INET, SOCK_STREAM, 0);
	static char zero[65536];

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&addr, len), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	getsockname(listener, (struct sockaddr *)&addr, &len);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, len), 0);
	*peer = accept(listener, NULL, NULL);
	ck_assert_int_ge(*peer, 0);
	close(listener);
	while (send(fd, zero, sizeof(zero), MSG_DONTWAIT) > 0)
		;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return fd;
}

/* Send a lingering() socket over sock so that in the end only the receiver has
 * it. A child process sends it after we have closed ours, and exits; exiting
 * never waits for the peer. Returns the socket's peer. */
static int send_lingering(int sock, int flags)
{
	int peer, fd = lingering(&peer), go[2], status;
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid)
		_exit(read(go[0], &c, 1) != 1 ||
		      fdpass_send(sock, "x", 1, &fd, 1, flags) != 1);
	close(fd);
	ck_assert_int_eq(write(go[1], "", 1), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	close(go[0]);
	close(go[1]);
	return peer;
}

static void send_bytes(int fd, size_t len)
{
	char *zero = xcalloc(1, len);

	raw_send(fd, zero, len);
	free(zero);
}

static void is_closed(int fd)
{
	char c;

	/* A timeout would be EAGAIN. */
	ck_assert(recv(fd, &c, 1, 0) == 0 || errno == ECONNRESET);
}

static const struct way {
	const char *name;
	size_t before; /* bytes sent before the one with the descriptor */
	int flags;
	bool bad; /* the server has found these bytes to be no frame */
} ways[] = {
	{ "first", 0, 0, false },
	{ "in a frame", WIRE_HEAD - 1, 0, false },
	{ "out of band", WIRE_HEAD - 1, MSG_OOB, false },
	{ "out of band, first", 0, MSG_OOB, false },
	{ "after a bad frame", WIRE_HEAD, 0, true },
	{ "after a bad frame, out of band", WIRE_HEAD, MSG_OOB, true },
	{ "with unread bytes", 100000, 0, true },
};

/* The server closes such a connection, and serves others. */
START_TEST(descriptors_do_not_stop_the_server)
{
	const struct way *way = &ways[_i];
	struct raw raw = raw_open();
	int peer;

	if (way->before)
		send_bytes(raw.fd, way->before);
	if (way->bad)
		raw_refused(raw.fd, EPROTO, "not a frame");
	peer = send_lingering(raw.fd, way->flags);
	if (way->flags & MSG_OOB)
		send(raw.fd, "x", 1, MSG_NOSIGNAL);
	is_closed(raw.fd);
	ping_works();
	close(raw.fd);
	close(peer);
}
END_TEST

/* Many closes would wait at once. */
START_TEST(no_close_waits_for_another)
{
	struct raw raw[20];
	int peer[20];

	closer_forks = _i;
	for (int i = 0; i < 20; i++) {
		raw[i] = raw_open();
		peer[i] = send_lingering(raw[i].fd, 0);
	}
	for (int i = 0; i < 20; i++) {
		is_closed(raw[i].fd);
		close(raw[i].fd);
	}
	ping_works();
	for (int i = 0; i < 20; i++)
		close(peer[i]);
}
END_TEST

/* The daemon ends while a connection waits to be accepted. */
START_TEST(unaccepted_descriptors_do_not_stop_the_end)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *path = addr.sun_path;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), peer;
	struct err err;
	struct rpc *rpc;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/x.sock", munged.dir);
	server_stop();
	server.base = event_base_new();
	rpc = listen_at(&path, 1, &err);
	ck_assert_msg(rpc != NULL, "%s", err.text);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)),
	                 0);
	peer = send_lingering(fd, 0);
	rpc_free(rpc);
	event_base_free(server.base);
	is_closed(fd);
	close(fd);
	close(peer);
	server_start(&patient);
}
END_TEST

/* Bytes without descriptors arrive as ever. */
START_TEST(requests_work_without_refusal)
{
	struct raw raw = raw_open();

	raw_ping(&raw);
	send_bytes(raw.fd, 200000);
	raw_refused(raw.fd, EPROTO, "not a frame");
	close(raw.fd);
	ping_works();
}
END_TEST

SUITE(rpc_fd)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, descriptors_do_not_stop_the_server, 0,
	                    ARRAY_SIZE(ways));
	tcase_add_loop_test(tc, no_close_waits_for_another, 0, 2);
	tcase_add_test(tc, unaccepted_descriptors_do_not_stop_the_end);
	tcase_add_test(tc, requests_work_without_refusal);
}
