/* test_tcp_peer.c - whose connection it is */
#include "libcommon/client/tcp_peer.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

#define OTHER_USER 65534

static const struct {
	int listens, calls; /* families */
} ways[] = {
	{ AF_INET, AF_INET },
	{ AF_INET6, AF_INET6 },
	{ AF_INET, AF_INET6 }, /* by an IPv4 address that is mapped */
};

/* Listen at the loopback address. *ret becomes the address for a socket of the
 * other family. Returns -1 if this machine does not have it. */
static int listen_at(int way, struct sockaddr_storage *ret, socklen_t *ret_len)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		                   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	bool is_4 = ways[way].listens == AF_INET;
	struct sockaddr *at = is_4 ? (void *)&v4 : (void *)&v6;
	socklen_t len = is_4 ? sizeof(v4) : sizeof(v6);
	int fd = socket(ways[way].listens, SOCK_STREAM, 0);

	v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, at, len) < 0 ||
	    (ways[way].calls == AF_INET6 && access("/proc/net/tcp6", R_OK) < 0))
		return -1;
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, at, &len), 0);
	if (is_4 && ways[way].calls == AF_INET6) {
		v6.sin6_port = v4.sin_port;
		v6.sin6_addr = (struct in6_addr){ 0 };
		v6.sin6_addr.s6_addr32[2] = htonl(0xffff);
		v6.sin6_addr.s6_addr32[3] = v4.sin_addr.s_addr;
		is_4 = false;
	}
	*ret_len = is_4 ? sizeof(v4) : sizeof(v6);
	if (is_4)
		memcpy(ret, &v4, sizeof(v4));
	else
		memcpy(ret, &v6, sizeof(v6));
	return fd;
}

/* Connect as this user, and hold the connection until `until` is closed. */
static void call(int way, const struct sockaddr_storage *to, socklen_t len,
                 uid_t user, const int until[2])
{
	int fd;
	char c;

	close(until[1]);
	if (user != geteuid() && setuid(user) < 0)
		_exit(EXIT_FAILURE);
	fd = socket(ways[way].calls, SOCK_STREAM, 0);
	if (connect(fd, (const struct sockaddr *)to, len) < 0)
		_exit(EXIT_FAILURE);
	if (read(until[0], &c, 1) < 0)
		_exit(EXIT_FAILURE);
	close(fd);
	_exit(EXIT_SUCCESS);
}

static void user_is_found(int way, uid_t user)
{
	struct sockaddr_storage to;
	socklen_t len;
	int fd = listen_at(way, &to, &len), conn, until[2], status;
	uid_t got = (uid_t)-1;
	struct err err;
	pid_t pid;

	if (fd < 0)
		return;
	ck_assert_int_eq(pipe(until), 0);
	pid = fork();
	if (pid == 0)
		call(way, &to, len, user, until);
	close(until[0]);
	conn = accept(fd, NULL, NULL);
	ck_assert_int_eq(tcp_peer_user(conn, &got, &err), 0);
	ck_assert_uint_eq(got, user);
	close(until[1]);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	/* The user of a socket that is closed is not known. */
	ck_assert_int_lt(tcp_peer_user(conn, &got, &err), 0);
	close(conn);
	close(fd);
}

START_TEST(own_connections_are_told_apart)
{
	user_is_found(_i, geteuid());
}
END_TEST

START_TEST(connections_of_others_are_told_apart)
{
	if (geteuid() == 0)
		user_is_found(_i, OTHER_USER);
}
END_TEST

SUITE(tcp_peer)
{
	tcase_add_loop_test(tc, own_connections_are_told_apart, 0,
	                    ARRAY_SIZE(ways));
	tcase_add_loop_test(tc, connections_of_others_are_told_apart, 0,
	                    ARRAY_SIZE(ways));
}
