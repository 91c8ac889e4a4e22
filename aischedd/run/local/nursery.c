/*
 * nursery.c - send attempts to the nursery, the process that forks shepherds
 *
 * If systemd runs a user manager for our user, the nursery and all its children
 * are put into a scope that the manager delegates. The scope's cgroup has
 * controllers, and it outlives the login session and the daemon.
 */
#include "aischedd/run/local/nursery.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aischedd/run/local/attempt.h"
#include "aischedd/run/local/local.h"
#include "aischedd/run/shepherd/cgroup_find.h"
#include "aischedd/run/shepherd/nursery.h"
#include "libcommon/fdpass.h"
#include "libcommon/spawn.h"

#define SCOPE_PATIENCE_MS 5000

/* The command that starts the nursery in a scope of the user manager. The
 * nursery makes the cgroups of attempts in that scope. */
static const char *const scope_command[] = {
	"/usr/bin/systemd-run",
	"--user",
	"--scope",
	"--quiet",
	"--collect",
	"-p",
	"Delegate=yes",
	"--",
};

/* Start the nursery, which is a shepherd program that waits for orders;
 * see aischedd/run/shepherd/nursery.h. */
static int spawn_nursery(struct local *l, int fd)
{
	const char *args[ARRAY_SIZE(scope_command) + 4];
	size_t n = 0;
	char lock[12];
	const struct spawn s = { .argv = args,
		                 .fd = (int[]){ fd, l->null_fd, l->null_fd },
		                 .nfd = 3,
		                 .keep = l->lock_fd,
		                 .group = POSIX_SPAWN_SETSID };

	for (; l->scope && n < ARRAY_SIZE(scope_command); n++)
		args[n] = scope_command[n];
	snprintf(lock, sizeof(lock), "%d", l->lock_fd);
	args[n++] = l->shepherd;
	args[n++] = lock;
	args[n++] = l->scope            ? NURSERY_SCOPE
	            : l->ways.shepherds ? l->ways.shepherds
	                                : "";
	args[n] = NULL;
	return spawn(&s, &l->nursery_pid);
}

void nursery_close(struct local *l)
{
	if (l->nursery_fd < 0)
		return;
	close(l->nursery_fd);
	l->nursery_fd = -1;
}

static int connect_nursery(struct local *l, struct err *err)
{
	int pair[2], code;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "cannot make a socket");
	code = spawn_nursery(l, pair[1]);
	close(pair[1]);
	if (code) {
		close(pair[0]);
		return err_set(err, code, "cannot start '%s': %s", l->shepherd,
		               strerror(code));
	}
	l->nursery_fd = pair[0];
	/* Limit open files before the first attempt is sent. */
	if (l->files.rlim_max)
		prlimit(l->nursery_pid, RLIMIT_NOFILE, &l->files, NULL);
	return 0;
}

/* Wait until the nursery reports which controllers its scope has. Returns false
 * if the nursery ends or is silent for too long: it got no scope. */
static bool scope_works(struct local *l)
{
	struct pollfd p = { .fd = l->nursery_fd, .events = POLLIN };
	struct cgroup_ways ways = { 0 };

	if (poll(&p, 1, SCOPE_PATIENCE_MS) != 1 ||
	    recv(l->nursery_fd, ways.v2, sizeof(ways.v2), 0) !=
	        (ssize_t)sizeof(ways.v2))
		return false;
	l->ways = ways;
	return true;
}

/* Whether a user manager runs that can give us a scope. */
static bool has_user_manager(void)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	char *path;
	bool has;

	if (geteuid() == 0 || !dir)
		return false;
	path = xasprintf("%s/systemd/private", dir);
	has = !access(path, R_OK | W_OK) && !access(scope_command[0], X_OK);
	free(path);
	return has;
}

int nursery_open(struct local *l, struct err *err)
{
	l->scope = has_user_manager();
	if (!l->scope)
		cgroup_find(&l->ways, l->arena);
	if (connect_nursery(l, err) < 0)
		return -1;
	if (!l->scope || scope_works(l))
		return 0;
	kill(l->nursery_pid, SIGKILL);
	nursery_close(l);
	waitpid(l->nursery_pid, NULL, 0);
	l->scope = false;
	cgroup_find(&l->ways, l->arena);
	return connect_nursery(l, err);
}

/* Send the attempt to the nursery, which starts its shepherd. Fails with EAGAIN
 * or ETOOMANYREFS if the nursery's socket is full; any other error means that
 * the nursery has died. */
static int send_birth(struct local *l, const struct attempt *a)
{
	int fd[] = { a->child_fd, a->order_fd };
	char dir[PATH_MAX], name[48];
	int len;

	local_name(name, a->job, a->attempt);
	len = snprintf(dir, sizeof(dir), "%s/%s", l->dir, name);
	return fdpass_send(l->nursery_fd, dir, (size_t)len, fd, ARRAY_SIZE(fd),
	                   MSG_DONTWAIT) < 0
	           ? -1
	           : 0;
}

int nursery_send(struct local *l, const struct attempt *a, struct err *err)
{
	if (l->nursery_fd < 0 && nursery_open(l, err) < 0)
		return -1;
	if (send_birth(l, a) == 0)
		return 1;
	if (errno == EAGAIN || errno == ETOOMANYREFS)
		return 0;
	/* The nursery was killed: start another one. */
	nursery_close(l);
	waitpid(l->nursery_pid, NULL, 0);
	if (nursery_open(l, err) < 0)
		return -1;
	return send_birth(l, a) < 0 ? err_sys(err, "cannot start a shepherd")
	                            : 1;
}
