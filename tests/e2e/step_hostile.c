/*
 * step_hostile.c - attack the shepherd of a job, for slurm_steps.t
 *
 *	step_hostile SOCKET HOW [N]
 *
 * HOW is one of:
 *
 *	silent	connect N times, and send nothing until the shepherd hangs up
 *	part	send half a greeting
 *	loose	send the request in a descriptor that is not a sealed file
 *	fifo	send the request in a descriptor whose reading would block
 *	garbage	send a sealed file with nonsense
 *	huge	send a sealed file that is too large
 *	own	claim an allocation that is already held
 *	many	connect N times, one after the other
 *
 * Prints how many connections got anything but a refusal or a hangup; it should
 * be 0.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "libcommon/step_msg.h"

static int call(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		err(EXIT_FAILURE, "%s", path);
	return fd;
}

static void greet(int conn, int request, int nfds)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(STEP_FDS * sizeof(int))];
	} control = { .space = { 0 } };
	int fds[STEP_FDS] = { request, 0, 1, 2 };
	char hello = STEP_HELLO;
	struct iovec data = { &hello, 1 };
	size_t size = (size_t)nfds * sizeof(int);
	struct msghdr m = { .msg_iov = &data,
		            .msg_iovlen = 1,
		            .msg_control = &control,
		            .msg_controllen = CMSG_SPACE(size) };

	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(&control.head), fds, size);
	if (sendmsg(conn, &m, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		err(EXIT_FAILURE, "sendmsg");
}

static int file(off_t size, bool sealed)
{
	int fd = memfd_create("request", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, size) < 0 ||
	    pwrite(fd, "{\"tasks\":", 9, 0) != 9 ||
	    (sealed && fcntl(fd, F_ADD_SEALS,
	                     F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) < 0))
		err(EXIT_FAILURE, "memfd");
	return fd;
}

static int fifo(void)
{
	int fd[2];

	if (pipe(fd) < 0)
		err(EXIT_FAILURE, "pipe");
	return fd[0];
}

static void claim(int conn)
{
	char hello = STEP_OWN;

	if (send(conn, &hello, 1, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		err(EXIT_FAILURE, "send");
}

/* Wait for the answer. Returns 1 if it is neither a refusal nor the end of the
 * connection. */
static int answer(int conn)
{
	char text[4096];
	ssize_t n;

	while ((n = recv(conn, text, sizeof(text) - 1, 0)) > 0) {
		text[n] = '\0';
		if (!strstr(text, "\"error\""))
			return 1;
	}
	return 0;
}

static int try(const char *path, const char *how)
{
	int conn = call(path), bad;

	if (!strcmp(how, "part"))
		greet(conn, file(9, true), 2);
	else if (!strcmp(how, "loose"))
		greet(conn, file(9, false), STEP_FDS);
	else if (!strcmp(how, "fifo"))
		greet(conn, fifo(), STEP_FDS);
	else if (!strcmp(how, "garbage"))
		greet(conn, file(9, true), STEP_FDS);
	else if (!strcmp(how, "huge"))
		greet(conn, file((off_t)STEP_REQUEST_MAX + 1, true), STEP_FDS);
	else if (!strcmp(how, "own"))
		claim(conn);
	else if (strcmp(how, "silent") != 0)
		errx(EXIT_FAILURE, "bad HOW '%s'", how);
	/* The shepherd keeps a refused connection until its peer closes it. */
	if (strcmp(how, "silent") != 0)
		shutdown(conn, SHUT_WR);
	bad = answer(conn);
	close(conn);
	return bad;
}

static int hold(const char *path, int n)
{
	int bad = 0, *conn = calloc((size_t)n, sizeof(*conn));

	for (int i = 0; conn && i < n; i++)
		conn[i] = call(path);
	puts("held");
	fflush(stdout);
	for (int i = 0; conn && i < n; i++)
		bad += answer(conn[i]);
	free(conn);
	return bad;
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 1, bad = 0;

	if (argc < 3)
		errx(EXIT_FAILURE, "step_hostile SOCKET HOW [N]");
	if (!strcmp(argv[2], "silent"))
		bad = hold(argv[1], n);
	else if (!strcmp(argv[2], "many"))
		for (int i = 0; i < n; i++)
			close(call(argv[1]));
	else
		for (int i = 0; i < n; i++)
			bad += try(argv[1], argv[2]);
	printf("%d\n", bad);
	return EXIT_SUCCESS;
}
