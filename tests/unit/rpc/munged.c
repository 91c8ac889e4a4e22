/* munged.c - a private munged for a test */
#include "tests/unit/rpc/munged.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/mem.h"
#include "tests/unit/check.h"

static void make_key(const char *dir)
{
	char *path = xasprintf("%s/key", dir), key[64];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(getrandom(key, sizeof(key), 0), sizeof(key));
	ck_assert_int_eq(write(fd, key, sizeof(key)), sizeof(key));
	close(fd);
	free(path);
}

static void run(const struct munged *m)
{
	const char *path = getenv("PATH");
	int null = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	setenv("PATH", xasprintf("%s:/usr/sbin:/sbin", path ? path : ""), 1);
	execlp("munged", "munged", "--force", "--foreground", "--key-file",
	       xasprintf("%s/key", m->dir), "--socket", m->socket, "--pid-file",
	       xasprintf("%s/pid", m->dir), "--seed-file",
	       xasprintf("%s/seed", m->dir), NULL);
	_exit(127);
}

static bool answers(const struct munged *m)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", m->socket);
	rc = connect(fd, (struct sockaddr *)&addr, sizeof(addr));
	close(fd);
	return rc == 0;
}

void munged_start(struct munged *m)
{
	char dir[] = "/tmp/test-munged.XXXXXX";
	int tries = 0;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chmod(dir, 0755), 0);
	m->dir = xstrdup(dir);
	m->socket = xasprintf("%s/socket", dir);
	make_key(dir);
	m->pid = fork();
	ck_assert_int_ge(m->pid, 0);
	if (m->pid == 0)
		run(m);
	while (!answers(m)) {
		ck_assert_msg(waitpid(m->pid, NULL, WNOHANG) == 0,
		              "munged does not start");
		ck_assert_msg(++tries < 60000, "munged does not answer");
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	setenv("AISCHED_MUNGE_SOCKET", m->socket, 1);
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

void munged_stop(struct munged *m)
{
	kill(m->pid, SIGKILL);
	waitpid(m->pid, NULL, 0);
	nftw(m->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(m->dir);
	free(m->socket);
}
