/* test_port.c - connections to ports at which this process listens */
#include "aischedd/run/port.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aischedd/run/port_seek.h"
#include "libcommon/mem.h"
#include "tests/unit/check.h"

#define OTHER_USER 65534
#define OTHERS     900 /* listeners of another user */

static void each(port_fn *fn, void *fn_arg, void *arg)
{
	(void)arg;
	fn(getpid(), fn_arg);
}

/* Listen at the address; *port 0 becomes one that is free. Returns -1 on
 * failure. set() may set options of the socket. */
static int listen_at(in_addr_t address, uint16_t *port, void (*set)(int fd))
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		                  .sin_port = htons(*port) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(address);
	if (set)
		set(fd);
	if (bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 8) < 0) {
		close(fd);
		return -1;
	}
	getsockname(fd, (struct sockaddr *)&at, &len);
	*port = ntohs(at.sin_port);
	return fd;
}

static int connect_to(uint16_t port, struct err *err)
{
	return port_connect(port, geteuid(), each, NULL, err);
}

START_TEST(own_listener_is_reached)
{
	uint16_t port = 0;
	int fd = listen_at(INADDR_LOOPBACK, &port, NULL), conn;
	struct err err;

	ck_assert_int_ge(fd, 0);
	conn = connect_to(port, &err);
	ck_assert_msg(conn >= 0, "%s", err.text);
	close(conn);
	close(fd);
	ck_assert_int_lt(connect_to(port, &err), 0);
	ck_assert(
	    glob_match("no process of the job listens at port *", err.text));
}
END_TEST

/* Say that the search has begun, then do not go on. */
static void hang(port_fn *fn, void *fn_arg, void *arg)
{
	const int *began = arg;

	(void)fn, (void)fn_arg;
	alarm(600);
	ck_assert_int_eq(write(*began, "", 1), 1);
	while (pause())
		continue;
}

START_TEST(a_search_ends_with_its_parent)
{
	uint16_t port = 0;
	int fd = listen_at(INADDR_LOOPBACK, &port, NULL), began[2];
	struct err err;
	char c;
	pid_t pid;

	ck_assert_int_eq(pipe(began), 0);
	pid = fork();
	if (!pid) {
		port_seek(fd, port, geteuid(), hang, &began[1], &err);
		while (pause())
			continue;
	}
	close(began[1]);
	ck_assert_int_eq(read(began[0], &c, 1), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(read(began[0], &c, 1), 0);
	close(began[0]);
	close(fd);
}
END_TEST

static void set_freebind(int fd)
{
	int yes = 1;

	ck_assert_int_eq(
	    setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &yes, sizeof(yes)), 0);
}

START_TEST(addresses_of_other_machines_are_refused)
{
	uint16_t port = 0;
	/* 192.0.2.1 is for documentation, so no machine has it. */
	int fd = listen_at(0xc0000201, &port, set_freebind);
	struct err err;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_lt(connect_to(port, &err), 0);
	ck_assert(glob_match("the job listens at port *, but its address is "
	                     "not one of this machine",
	                     err.text));
	close(fd);
}
END_TEST

static const char *device;

static void set_device(int fd)
{
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device,
	               (socklen_t)strlen(device)) < 0)
		device = NULL;
}

/* Whether the kernel lets us examine sockets of processes: since Linux 5.6, if
 * no filter of a container forbids it. */
static bool can_examine(void)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int fd = (int)syscall(SYS_pidfd_getfd, pidfd, pidfd, 0);

	if (pidfd >= 0)
		close(pidfd);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

START_TEST(listeners_of_one_device_are_refused)
{
	struct if_nameindex *all = if_nameindex(), *i = all;
	uint16_t port = 0;
	struct err err;
	int fd;

	while (i && i->if_index && !strcmp(i->if_name, "lo"))
		i++;
	device = i && i->if_index && can_examine() ? i->if_name : NULL;
	if (device) {
		fd = listen_at(INADDR_ANY, &port, set_device);
		ck_assert_int_ge(fd, 0);
		/* device is NULL if this kernel allows it to root only. */
		if (device) {
			ck_assert_int_lt(connect_to(port, &err), 0);
			ck_assert(glob_match("*, but its socket is bound to a "
			                     "device",
			                     err.text));
		}
		close(fd);
	}
	if_freenameindex(all);
}
END_TEST

/* Listen as another user at many addresses, until the test ends. */
static void crowd(uint16_t port, int ready)
{
	ck_assert_int_eq(setuid(OTHER_USER), 0);
	for (in_addr_t i = 0; i < OTHERS; i++)
		if (listen_at(INADDR_LOOPBACK + 1 + i, &port, NULL) < 0)
			_exit(EXIT_FAILURE);
	ck_assert_int_eq(write(ready, "x", 1), 1);
	pause();
}

START_TEST(listeners_of_others_do_not_hide_one)
{
	uint16_t port = 0;
	int fd, conn, ready[2];
	struct err err;
	pid_t pid;
	char c;

	if (geteuid() != 0)
		return;
	fd = listen_at(INADDR_LOOPBACK, &port, NULL);
	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (pid == 0)
		crowd(port, ready[1]);
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	conn = connect_to(port, &err);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_msg(conn >= 0, "%s", err.text);
	close(conn);
	close(fd);
	close(ready[0]);
}
END_TEST

SUITE(port)
{
	tcase_add_test(tc, own_listener_is_reached);
	tcase_add_test(tc, a_search_ends_with_its_parent);
	tcase_add_test(tc, addresses_of_other_machines_are_refused);
	tcase_add_test(tc, listeners_of_one_device_are_refused);
	tcase_add_test(tc, listeners_of_others_do_not_hide_one);
}
