/* step_call.c - a client's connection to the shepherd of a job */
#include "libcommon/client/step_call.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libcommon/fdpass.h"
#include "libcommon/mem.h"

/* Connect through /proc/self/fd, because the path may be too long for
 * a sockaddr_un. */
int step_call_connect(const char *path, struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	int dirfd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%s",
	         dirfd, strrchr(path, '/') + 1);
	if (dirfd < 0 || fd < 0 ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0) {
		err_sys(err, "the job's shepherd at '%s' cannot be reached",
		        path);
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	if (dirfd >= 0)
		close(dirfd);
	free(dir);
	return fd;
}

static int seal(const struct buf *text, struct err *err)
{
	int fd = memfd_create("step", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t at = 0;

	if (text->len > STEP_REQUEST_MAX) {
		if (fd >= 0)
			close(fd);
		return err_set(err, E2BIG,
		               "arguments and environment are too large");
	}
	while (fd >= 0 && at < text->len) {
		ssize_t n = write(fd, text->data + at, text->len - at);

		if (n < 0) {
			err_sys(err, "cannot write the request");
			close(fd);
			return -1;
		}
		at += (size_t)n;
	}
	if (fd < 0 || fcntl(fd, F_ADD_SEALS,
	                    F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return err_sys(err, "cannot make a memory file");
	return fd;
}

static int send_fds(int conn, int request, const int *stream, struct err *err)
{
	int fds[STEP_FDS] = { request, stream[0], stream[1], stream[2] };
	char hello = STEP_HELLO;

	return fdpass_send(conn, &hello, 1, fds, STEP_FDS, 0) < 0
	           ? err_sys(err, "cannot send the request")
	           : 0;
}

int step_call_send(int conn, const struct buf *request, const int *stream,
                   struct err *err)
{
	int fd = seal(request, err), rc = -1;

	if (fd >= 0) {
		rc = send_fds(conn, fd, stream, err);
		close(fd);
	}
	return rc;
}

void step_call_tell(int conn, json_t *msg)
{
	char *text = json_dumps(msg, JSON_COMPACT);

	if (send(conn, text, strlen(text), MSG_NOSIGNAL) < 0)
		errno = 0;
	free(text);
	json_decref(msg);
}

int step_call_hear(int conn, json_t **ret, int fd[STEP_FDS], int *ret_nfds)
{
	char text[4096];
	ssize_t n = fdpass_recv(conn, text, sizeof(text), fd, STEP_FDS,
	                        ret_nfds, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		return -1;
	*ret = json_loadb(text, (size_t)n, 0, NULL);
	return 1;
}

int step_call_signals(sigset_t *ret_before)
{
	static const int taken[] = { SIGINT,  SIGTERM,  SIGHUP,
		                     SIGUSR1, SIGUSR2,  SIGQUIT,
		                     SIGALRM, SIGWINCH, SIGCONT };
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, ret_before);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
