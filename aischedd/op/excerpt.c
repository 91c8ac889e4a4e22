/*
 * excerpt.c - a window of a job's output, for the page
 *
 * Outputs are files of their users, which the web program cannot read. A thread
 * of the daemon opens an output with the rights of the user who asks for it, as
 * `aiq --log` does in the user's own process. Therefore a link shows a file
 * only to users who can read this file. If a file system hangs, only this
 * thread waits.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aischedd/op/log.h"
#include "aischedd/op/op.h"
#include "aischedd/session.h"
#include "aischedd/thread.h"
#include "libcommon/mem.h"

enum { EXCERPT_MAX = 65536 };

struct excerpt {
	struct thread_task task;
	struct daemon *d;
	struct kept_ask ask;
	struct peer *peer;
	char *path;
	const char *state;
	int64_t from, len, size;
	char *data;
	ssize_t n;
	struct err err;
};

static void excerpt_free(struct excerpt *e)
{
	free(e->peer);
	free(e->path);
	free(e->data);
	free(e);
}

/* Give this thread, and only it, the peer's rights to files; setgroups() of
 * libc would change the whole process. Returns whether the thread has these
 * rights. A daemon that does not run as root can only act for its own user. */
static bool take_rights(const struct peer *peer)
{
	if (geteuid() != 0)
		return peer->uid == geteuid();
	if (syscall(SYS_setgroups, peer->ngroups, peer->group) < 0)
		return false;
	setfsgid(peer->gid);
	setfsuid(peer->uid);
	/* Check that the ids were set: with -1 these calls change nothing, and
	 * return the present id. */
	return (gid_t)setfsgid((gid_t)-1) == peer->gid &&
	       (uid_t)setfsuid((uid_t)-1) == peer->uid;
}

static void give_rights_back(size_t n, const gid_t *groups)
{
	if (geteuid() != 0)
		return;
	setfsuid(0);
	setfsgid(getegid());
	syscall(SYS_setgroups, n, groups);
}

/* Open the output file. Fails if it is not a regular file: output that went to
 * a terminal or a pipe cannot be read again. */
static int open_plain(const struct excerpt *e, struct err *err)
{
	int fd = open(e->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return err_sys(err, "cannot read '%s'", e->path);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return err_set(err, EINVAL, "'%s' is no plain file", e->path);
}

static void read_window(struct excerpt *e, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		e->n = err_sys(&e->err, "'%s'", e->path);
		return;
	}
	e->size = st.st_size;
	if (e->from < 0 || e->from > e->size)
		e->from = e->size > e->len ? e->size - e->len : 0;
	e->data = xmalloc((size_t)e->len);
	e->n = pread(fd, e->data, (size_t)e->len, e->from);
	if (e->n < 0)
		err_sys(&e->err, "cannot read '%s'", e->path);
}

/* Open the output with the rights of the peer. */
static int open_as_peer(const struct excerpt *e, struct err *err)
{
	gid_t mine[256];
	int nmine = getgroups(ARRAY_SIZE(mine), mine), fd = -1;

	if (take_rights(e->peer))
		fd = open_plain(e, err);
	else
		err_set(err, EPERM,
		        "'%s' is not read here: the daemon cannot do so with "
		        "the rights of '%s'; use `aiq --log`",
		        e->path, e->peer->user);
	give_rights_back(nmine > 0 ? (size_t)nmine : 0, mine);
	/* Report EACCES as EPERM: the peer knows the file's name, so the error
	 * need not hide that the file exists. */
	if (fd < 0 && err->code == EACCES)
		err->code = EPERM;
	return fd;
}

/* Read the window of the output, on the thread. */
static void work(struct thread_task *task)
{
	struct excerpt *e = (struct excerpt *)(void *)task;
	int fd = open_as_peer(e, &e->err);

	e->n = -1;
	if (fd < 0)
		return;
	read_window(e, fd);
	close(fd);
}

static void done(struct thread_task *task)
{
	struct excerpt *e = (struct excerpt *)(void *)task;
	struct ask *ask = e->ask.ask;

	if (!daemon_is_open(e->d, &e->ask)) {
		excerpt_free(e);
		return;
	}
	if (e->n < 0) {
		daemon_refuse(e->d, ask, &e->err);
	} else {
		if (e->n)
			rpc_part(ask, e->data, (size_t)e->n);
		daemon_say(e->d, ask,
		           json_pack("{s:s, s:I, s:I, s:s}", "path", e->path,
		                     "size", (json_int_t)e->size, "from",
		                     (json_int_t)e->from, "state", e->state));
	}
	excerpt_free(e);
}

static int begin(struct daemon *d, struct ask *ask, const struct request_in *in,
                 const struct found_log *f, struct err *err)
{
	struct excerpt *e;
	int64_t len = found_log_number(in, "len", EXCERPT_MAX);

	if (len < 1 || len > EXCERPT_MAX)
		return err_set(err, EINVAL, "excerpt: len must be 1 to %d",
		               EXCERPT_MAX);
	if (!d->excerpts && !(d->excerpts = thread_new(d->base, err)))
		return -1;
	e = xcalloc(1, sizeof(*e));
	e->task = (struct thread_task){ .work = work, .done = done };
	e->d = d;
	e->ask = daemon_keep(d, ask);
	e->peer = session_copy(in->peer);
	e->path = xstrdup(f->path.data);
	e->state = f->state;
	e->from = found_log_number(in, "from", -1);
	e->len = len;
	thread_do(d->excerpts, &e->task);
	return 0;
}

int op_excerpt(struct daemon *d, struct ask *ask, const struct request_in *in,
               struct err *err)
{
	struct found_log f = { 0 };
	int result = -1;

	if (!in->from_web)
		return err_set(err, EPERM,
		               "excerpt is a request of the web program");
	if (found_log_find(&f, d, in, err) == 0) {
		result = 0;
		if (f.streamed || f.where.data)
			daemon_say(
			    d, ask,
			    json_pack("{s:s, s:s, s:s}", "path",
			              f.path.data ? f.path.data : "", "state",
			              f.state, "where",
			              f.where.data ? f.where.data : "kept"));
		else
			result = begin(d, ask, in, &f, err);
	}
	found_log_free(&f);
	return result;
}
