/* nursery.c - fork shepherds */
#include "aischedd/run/shepherd/nursery.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aischedd/run/shepherd/cgroup_find.h"
#include "libcommon/fdpass.h"
#include "libcommon/mem.h"

/* Receive a request: the attempt's directory, with two descriptors. Returns 0
 * if the daemon has ended. */
static int take(struct birth *ret)
{
	int fd[2], n;
	ssize_t len = fdpass_recv(STDIN_FILENO, ret->dir, sizeof(ret->dir) - 1,
	                          fd, ARRAY_SIZE(fd), &n, 0);

	if (len <= 0 || n != ARRAY_SIZE(fd))
		return 0;
	ret->conn = fd[0];
	ret->order_fd = fd[1];
	ret->dir[len] = '\0';
	return 1;
}

static void find_home(struct birth *b, const char *where)
{
	struct cgroup home = { .dir[CG_V2] = where };

	b->in_scope = !strcmp(where, NURSERY_SCOPE);
	if (!b->in_scope) {
		if (*where)
			cgroup_join(&home, NULL);
		return;
	}
	cgroup_find_scope(&b->ways, arena_new());
	if (send(STDIN_FILENO, b->ways.v2, sizeof(b->ways.v2), MSG_NOSIGNAL) <
	    0)
		_exit(EXIT_FAILURE);
}

static void be_born(void)
{
	signal(SIGCHLD, SIG_DFL);
	setsid();
	close(STDIN_FILENO);
	if (open("/dev/null", O_RDWR) != STDIN_FILENO)
		_exit(EXIT_FAILURE);
}

void nursery_serve(const char *where, int lock_fd, struct birth *ret)
{
	*ret = (struct birth){ .lock_fd = lock_fd };
	find_home(ret, where);
	signal(SIGCHLD, SIG_IGN); /* the kernel reaps our children */
	while (take(ret)) {
		if (fork() == 0) {
			be_born();
			return;
		}
		/* If the fork failed, the daemon notices that this connection
		 * is closed. */
		close(ret->conn);
		close(ret->order_fd);
	}
	_exit(EXIT_SUCCESS);
}
