/* test_fdpass.c - pass descriptors over Unix sockets */
#include "libcommon/fdpass.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

/* How many descriptors are sent, how many the receiver takes at most, and how
 * many it then has. */
static const struct {
	int sent, max, got;
} cases[] = {
	{ 0, 1, 0 },
	{ 1, 2, 1 },
	{ 2, 2, 2 },
	{ 3, 3, 3 },
	{ 2, 1, -1 },
	{ FDPASS_MAX, 3, -1 },
	{ FDPASS_MAX, FDPASS_MAX, FDPASS_MAX },
};

/* Returns the number that the next descriptor will have. */
static int next_fd(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

START_TEST(passes)
{
	int pair[2], fd[FDPASS_MAX], got = 99, before;
	char data[4];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	for (int i = 0; i < FDPASS_MAX; i++)
		fd[i] = pair[0];
	ck_assert_int_eq(fdpass_send(pair[0], "hey", 3, fd, cases[_i].sent, 0),
	                 3);
	before = next_fd();
	ck_assert_int_eq(fdpass_recv(pair[1], data, sizeof(data), fd,
	                             cases[_i].max, &got, MSG_DONTWAIT),
	                 3);
	ck_assert_int_eq(got, cases[_i].got);
	for (int i = 0; i < got; i++) {
		ck_assert_int_eq(fcntl(fd[i], F_GETFD), FD_CLOEXEC);
		close(fd[i]);
	}
	ck_assert_int_eq(next_fd(), before);
	ck_assert_int_lt(
	    fdpass_recv(pair[1], data, sizeof(data), fd, 1, &got, MSG_DONTWAIT),
	    0);
	ck_assert_int_eq(got, 0);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

START_TEST(refuses)
{
	int pair[2], sent;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	sent = fdpass_refuse(pair[1]) ? -1 : 3;
	ck_assert_int_eq(fdpass_send(pair[0], "hey", 3, pair, 1, 0), sent);
	ck_assert_int_eq(fdpass_send(pair[0], "hey", 3, NULL, 0, 0), 3);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

/* A byte that comes with a descriptor is never read; bytes before it are. */
START_TEST(old_kernel_reads_none)
{
	int pair[2], flags = _i ? MSG_OOB : 0;
	char data[8];

	fdpass_old_kernel = true;
	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	ck_assert(!fdpass_refuse(pair[1]));
	ck_assert_int_eq(send(pair[0], "abc", 3, 0), 3);
	ck_assert_int_eq(fdpass_read(pair[1], data, 2), 2);
	ck_assert_int_eq(fdpass_send(pair[0], "d", 1, pair, 1, flags), 1);
	ck_assert_int_eq(send(pair[0], "e", 1, 0), 1);
	while (fdpass_read(pair[1], data, 8) > 0)
		ck_assert_int_eq(data[0], 'c');
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(fdpass_read(pair[1], data, 8), -1);
		ck_assert_int_eq(errno, EPERM);
		ck_assert(!fdpass_drain(pair[1]));
	}
	ck_assert_int_eq(send(pair[0], "f", 1, MSG_NOSIGNAL), -1);
	close(pair[0]);
	close(pair[1]);
	fdpass_old_kernel = false;
}
END_TEST

START_TEST(old_kernel_drains)
{
	int pair[2];
	char data[8];

	ck_assert_int_eq(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	ck_assert_int_eq(send(pair[0], "abc", 3, 0), 3);
	ck_assert(fdpass_drain(pair[1]));
	ck_assert_int_eq(fdpass_read(pair[1], data, 8), 0);
	close(pair[0]);
	close(pair[1]);
}
END_TEST

SUITE(fdpass)
{
	tcase_add_loop_test(tc, old_kernel_reads_none, 0, 2);
	tcase_add_test(tc, old_kernel_drains);
	tcase_add_test(tc, refuses);
	tcase_add_loop_test(tc, passes, 0, ARRAY_SIZE(cases));
}
