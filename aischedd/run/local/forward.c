/* forward.c - carry connections of users to ports of jobs */
#include "aischedd/run/local/forward.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "aischedd/run/local/attempt.h"
#include "aischedd/run/local/local.h"
#include "libcommon/fdpass.h"
#include "libcommon/mem.h"
#include "libcommon/step_msg.h"

enum {
	ANSWER_S = 10,      /* longest wait for the shepherd's answer */
	HELD_BYTES = 65536, /* most bytes buffered in each direction */
	MESSAGE_MAX = 4096  /* bytes of an answer of the shepherd */
};

struct local_forward {
	struct run_exec base;
	TAILQ_ENTRY(local_forward) of_list;
	struct local *local;
	int shepherd;             /* socket to it; -1: after its answer */
	struct event *answer;     /* the shepherd answers, or is late */
	struct bufferevent *conn; /* to the job; NULL: not connected yet */
	bool ends;                /* the user sends nothing more */
	bool left;                /* the user has disconnected */
};

static void forward_free(struct local_forward *f)
{
	TAILQ_REMOVE(&f->local->forwards, f, of_list);
	event_free(f->answer);
	if (f->shepherd >= 0)
		close(f->shepherd);
	if (f->conn)
		bufferevent_free(f->conn);
	free(f);
}

void local_forward_free_all(struct local *l)
{
	while (!TAILQ_EMPTY(&l->forwards))
		forward_free(TAILQ_FIRST(&l->forwards));
}

static void end(struct local_forward *f, const struct err *err)
{
	const struct run_exec_ops *ops = f->base.ops;
	void *arg = f->base.arg;

	forward_free(f);
	ops->end(err ? -1 : 0, err, arg);
}

/* --- the connection to the job -------------------------------------------- */

static void on_read(struct bufferevent *conn, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(conn);
	struct local_forward *f = arg;
	size_t len = evbuffer_get_length(in);

	f->base.ops->output(1, evbuffer_pullup(in, (ev_ssize_t)len), len,
	                    f->base.arg);
	evbuffer_drain(in, len);
}

/* All that the user has sent was written to the job. */
static void on_written(struct bufferevent *conn, void *arg)
{
	struct local_forward *f = arg;

	if (f->ends)
		shutdown(bufferevent_getfd(conn), SHUT_WR);
	else
		f->base.ops->drained(f->base.arg);
}

static void on_event(struct bufferevent *conn, short what, void *arg)
{
	struct local_forward *f = arg;
	struct err err;
	int code = EVUTIL_SOCKET_ERROR();

	(void)conn;
	if (!(what & BEV_EVENT_ERROR)) {
		end(f, NULL);
		return;
	}
	err_set(&err, code, "the job has closed the connection: %s",
	        strerror(code));
	end(f, &err);
}

static void carry(struct local_forward *f, int fd)
{
	f->conn =
	    bufferevent_socket_new(f->local->base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(f->conn, on_read, on_written, on_event, f);
	bufferevent_setwatermark(f->conn, EV_READ, 0, HELD_BYTES);
	bufferevent_enable(f->conn, EV_READ | EV_WRITE);
	f->base.ops->drained(f->base.arg);
}

/* --- the shepherd --------------------------------------------------------- */

/* Returns the connection that the shepherd has made, or -1 with *err set. */
static int hear(const struct local_forward *f, struct err *err)
{
	char text[MESSAGE_MAX];
	int fd = -1, nfds;
	ssize_t n = fdpass_recv(f->shepherd, text, sizeof(text), &fd, 1, &nfds,
	                        MSG_DONTWAIT);
	const char *why = NULL;
	json_t *msg;

	if (nfds == 1)
		return fd;
	msg = json_loadb(text, n > 0 ? (size_t)n : 0, 0, NULL);
	json_unpack(msg, "{s:s}", "error", &why);
	err_set(err, ECONNREFUSED, "%s", why ? why : "the job ends");
	json_decref(msg);
	return -1;
}

static void on_answer(evutil_socket_t s, short what, void *arg)
{
	struct local_forward *f = arg;
	struct err err;
	int fd = -1;

	(void)s;
	if (f->left || what & EV_TIMEOUT)
		err_set(&err, ETIMEDOUT, "the job's shepherd does not answer");
	else
		fd = hear(f, &err);
	close(f->shepherd);
	f->shepherd = -1;
	if (fd < 0)
		end(f, &err);
	else
		carry(f, fd);
}

/* Ask the shepherd of the attempt for a connection. Returns the descriptor on
 * which it answers. */
static int ask(struct local *l, const struct run_exec_wish *wish,
               struct err *err)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	char name[48], text[16];
	int fd =
	    socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int len = snprintf(text, sizeof(text), "%c%u", STEP_PORT, wish->port);

	local_name(name, wish->job, wish->attempt);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%s/%s",
	         l->dirfd, name, STEP_SOCKET);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof(addr)) &&
	    send(fd, text, (size_t)len, MSG_NOSIGNAL) == len)
		return fd;
	err_sys(err, "the job's shepherd cannot be reached");
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --- requests of the user ------------------------------------------------- */

static struct run_exec *forward_open(struct runner *r,
                                     const struct run_exec_wish *wish,
                                     const struct run_exec_ops *ops, void *arg,
                                     struct err *err)
{
	struct local *l = local_of(r);
	int fd = ask(l, wish, err);
	struct local_forward *f;

	if (fd < 0)
		return NULL;
	f = xcalloc(1, sizeof(*f));
	f->local = l;
	f->base.ops = ops;
	f->base.arg = arg;
	f->shepherd = fd;
	f->answer = event_new(l->base, fd, EV_READ, on_answer, f);
	event_add(f->answer, &(struct timeval){ .tv_sec = ANSWER_S });
	TAILQ_INSERT_TAIL(&l->forwards, f, of_list);
	return &f->base;
}

static void on_left(struct bufferevent *conn, short what, void *arg)
{
	(void)conn, (void)what;
	end(arg, NULL);
}

/* Let the loop end the connection later, as the caller still uses exec. */
static void forward_close(struct run_exec *exec)
{
	struct local_forward *f = (void *)exec;

	f->left = true;
	if (!f->conn) {
		event_active(f->answer, EV_TIMEOUT, 0);
		return;
	}
	bufferevent_setcb(f->conn, NULL, NULL, on_left, f);
	bufferevent_trigger_event(f->conn, BEV_EVENT_EOF,
	                          BEV_TRIG_DEFER_CALLBACKS);
}

static void forward_input(struct run_exec *exec, const void *data, size_t len)
{
	struct local_forward *f = (void *)exec;

	if (!f->ends)
		bufferevent_write(f->conn, data, len);
}

static void forward_end_input(struct run_exec *exec)
{
	struct local_forward *f = (void *)exec;

	f->ends = true;
	if (!evbuffer_get_length(bufferevent_get_output(f->conn)))
		shutdown(bufferevent_getfd(f->conn), SHUT_WR);
}

static bool forward_is_full(const struct run_exec *exec)
{
	const struct local_forward *f = (const void *)exec;

	return evbuffer_get_length(bufferevent_get_output(f->conn)) >=
	       HELD_BYTES;
}

static void forward_pause(struct run_exec *exec, bool pause)
{
	struct local_forward *f = (void *)exec;

	if (pause)
		bufferevent_disable(f->conn, EV_READ);
	else
		bufferevent_enable(f->conn, EV_READ);
}

const struct runner_exec local_forward_calls = {
	.open = forward_open,
	.close = forward_close,
	.input = forward_input,
	.end_input = forward_end_input,
	.is_full = forward_is_full,
	.pause = forward_pause,
};
