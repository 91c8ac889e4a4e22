/* shepherd_nursery.c - where shepherds are born */
#include "aischedd/run/shepherd_nursery.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aischedd/run/cgroup.h"

/* Take one request: its directory and descriptors.  0: the daemon is gone. */
static int take(struct birth *ret)
{
	union {
		struct cmsghdr head; /* for its alignment */
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct iovec data = { ret->dir, sizeof(ret->dir) - 1 };
	struct msghdr msg = { .msg_iov = &data,
		              .msg_iovlen = 1,
		              .msg_control = &control,
		              .msg_controllen = sizeof(control) };
	const struct cmsghdr *c;
	ssize_t len;

	do {
		len = recvmsg(STDIN_FILENO, &msg, 0);
	} while (len < 0 && errno == EINTR);
	c = len > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(2 * sizeof(int)))
		return 0;
	memcpy(ret->fd, CMSG_DATA(c), 2 * sizeof(int));
	ret->dir[len] = '\0';
	return 1;
}

/* Become a shepherd in a cgroup that the user manager gives. */
static void enter_scope(const char *self, struct birth *b)
{
	char num[BIRTH_NFDS][12];

	for (int i = 0; i < BIRTH_NFDS; i++)
		snprintf(num[i], sizeof(num[i]), "%d", b->fd[i]);
	execl("/usr/bin/systemd-run", "systemd-run", "--user", "--scope",
	      "--quiet", "--collect", "-p", "Delegate=yes", "--", self, b->dir,
	      num[BIRTH_CONN], num[BIRTH_ORDER], num[BIRTH_LOCK], NULL);
	_exit(EXIT_FAILURE);
}

void nursery_serve(const char *self, const char *where, int lock_fd,
                   struct birth *ret)
{
	bool scopes = !strcmp(where, NURSERY_SCOPES);
	struct cgroup home = { .dir[CG_V2] = where };

	if (*where && !scopes)
		cgroup_join(&home, NULL);
	signal(SIGCHLD, SIG_IGN); /* nobody asks how they ended */
	while (take(ret)) {
		pid_t pid = fork();

		if (pid == 0) {
			signal(SIGCHLD, SIG_DFL);
			setsid();
			ret->fd[BIRTH_LOCK] = lock_fd;
			if (scopes)
				enter_scope(self, ret);
			close(STDIN_FILENO);
			if (open("/dev/null", O_RDWR) != STDIN_FILENO)
				_exit(EXIT_FAILURE);
			return;
		}
		/* A shepherd that was not born has hung up. */
		close(ret->fd[BIRTH_CONN]);
		close(ret->fd[BIRTH_ORDER]);
	}
	_exit(EXIT_SUCCESS);
}
