/* exec.c - run a command in a running job on this machine */
#include "libcommon/client/exec.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/client/step_call.h"
#include "libcommon/client/terminal.h"
#include "libcommon/mem.h"

enum { STOP_S = 2 };

enum { OUTPUTS = 2 }; /* stdout and stderr */

struct running {
	int conn, signals;
	struct terminal terminal;
	bool copies[OUTPUTS]; /* the command's output comes through a pipe, and
	                         is copied to ours */
	int from[OUTPUTS];    /* read end of that pipe; -1: not received yet, or
	                         closed */
	bool began, ended, exited, failed;
	int status;
	struct err *err; /* why it failed */
};

/* --- messages of the shepherd --------------------------------------------- */

static void fail(struct running *r, int code, const char *text)
{
	err_set(r->err, code, "%s", text);
	r->failed = r->ended = true;
}

static void take_one(struct running *r, int fd)
{
	if (r->terminal.used && !terminal_is_open(&r->terminal)) {
		terminal_begin(&r->terminal, fd);
		return;
	}
	for (int k = 0; k < OUTPUTS; k++) {
		if (r->copies[k] && r->from[k] < 0) {
			r->from[k] = fd;
			return;
		}
	}
	close(fd);
}

static void obey(struct running *r, json_t *msg)
{
	const char *text;
	json_int_t n;
	int status;

	if (!json_unpack(msg, "{s:I s:i}", "task", &n, "status", &status)) {
		r->exited = true;
		r->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
		                                : WEXITSTATUS(status);
	} else if (!json_unpack(msg, "{s:I}", "step", &n)) {
		r->began = true;
	} else if (!json_unpack(msg, "{s:s}", "error", &text)) {
		fail(r, EINVAL, text);
	} else if (!json_unpack(msg, "{s:I}", "end", &n)) {
		r->ended = true;
	}
}

/* Handle one message of the shepherd. Returns false if there was none, or the
 * command has ended. */
static bool hear(struct running *r)
{
	int fd[STEP_FDS], nfds;
	json_t *msg;
	int got = step_call_hear(r->conn, &msg, fd, &nfds);

	if (got < 0) {
		if (!r->exited)
			fail(r, ECONNRESET,
			     "the job has ended, and the command with it");
		r->ended = true;
	}
	if (got <= 0)
		return false;
	for (int i = 0; i < nfds; i++)
		take_one(r, fd[i]);
	obey(r, msg);
	json_decref(msg);
	return !r->ended;
}

/* --- signals -------------------------------------------------------------- */

/* Handle a signal of ours: SIGTERM and SIGHUP end the command, SIGWINCH resizes
 * its terminal, all others are sent to it. */
static void take_signal(struct running *r)
{
	struct signalfd_siginfo info;
	int signo;

	if (read(r->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	signo = (int)info.ssi_signo;
	if (signo == SIGWINCH) {
		terminal_resize(&r->terminal);
	} else if (!r->began) {
		fail(r, EINTR, "interrupted before the command began");
	} else if (signo == SIGTERM || signo == SIGHUP) {
		step_call_tell(r->conn, json_pack("{s:i}", "stop", STOP_S));
	} else {
		step_call_tell(r->conn, json_pack("{s:i}", "signal", signo));
	}
}

/* --- outputs -------------------------------------------------------------- */

static void copy(int *from, int to)
{
	char chunk[65536];
	ssize_t n = read(*from, chunk, sizeof(chunk)), done;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	for (ssize_t at = 0; at < n; at += done) {
		done = write(to, chunk + at, (size_t)(n - at));
		if (done < 0 && errno != EINTR)
			n = 0;
		done = done < 0 ? 0 : done;
	}
	if (n <= 0) {
		close(*from);
		*from = -1;
	}
}

static bool is_open(const struct running *r)
{
	return terminal_is_open(&r->terminal) || r->from[0] >= 0 ||
	       r->from[1] >= 0;
}

/* --- the loop ------------------------------------------------------------- */

enum { OWN_FDS = 2, TERMINAL_FDS = 2, ALL_FDS = 6 };

static int turn(struct running *r, int wait_ms)
{
	struct pollfd p[ALL_FDS] = {
		{ .fd = r->ended ? -1 : r->conn, .events = POLLIN },
		{ .fd = r->ended ? -1 : r->signals, .events = POLLIN },
	};
	struct pollfd *outputs = p + OWN_FDS + TERMINAL_FDS;
	int ready;

	terminal_poll(&r->terminal, p + OWN_FDS);
	for (int k = 0; k < OUTPUTS; k++)
		outputs[k] = (struct pollfd){ r->from[k], POLLIN, 0 };
	ready = poll(p, ALL_FDS, wait_ms);
	if (ready <= 0)
		return ready;
	terminal_move(&r->terminal, p + OWN_FDS);
	for (int k = 0; k < OUTPUTS; k++)
		if (outputs[k].revents)
			copy(&r->from[k], STDOUT_FILENO + k);
	while (p[0].revents && hear(r))
		;
	if (p[1].revents && !r->ended)
		take_signal(r);
	return ready;
}

static void live(struct running *r)
{
	while (!r->ended)
		turn(r, -1);
	/* Print output that is still in the pipes. Do not wait for their end: a
	 * process that has left the step may keep them open. */
	while (is_open(r) && turn(r, 0) > 0)
		;
	terminal_end(&r->terminal);
	for (int k = 0; k < OUTPUTS; k++)
		if (r->from[k] >= 0)
			close(r->from[k]);
}

/* --- the request ---------------------------------------------------------- */

static int ask(const struct running *r, const struct exec *e, char *const *argv,
               struct err *err)
{
	const char *slash = strrchr(argv[0], '/'), *term = getenv("TERM");
	const int stream[] = { e->input, STDOUT_FILENO, STDERR_FILENO };
	struct step_request req = {
		.tasks = 1,
		.flags = STEP_OVERLAP | STEP_OVERCOMMIT | STEP_AS_TASK |
		         (r->terminal.used ? STEP_PTY : 0) |
		         (r->copies[0] ? STEP_PIPE_OUT : 0) |
		         (r->copies[1] ? STEP_PIPE_ERR : 0),
		.gpus = -1,
		.rank = e->rank,
		.rows = r->terminal.rows,
		.columns = r->terminal.columns,
		.name = slash ? slash + 1 : argv[0],
	};
	char *var = xasprintf("TERM=%s", term ? term : "dumb");
	char *env[] = { r->terminal.used ? var : NULL, NULL };
	struct buf text = { 0 };
	int rc;

	step_request_pack(&req, argv, env, &text);
	rc = step_call_send(r->conn, &text, stream, err);
	buf_free(&text);
	free(var);
	return rc;
}

static int run(struct running *r, const struct exec *e, char *const *argv,
               struct err *err)
{
	sigset_t before;
	int rc;

	r->conn = step_call_connect(e->socket, err);
	if (r->conn < 0)
		return -1;
	r->signals = step_call_signals(&before);
	rc = ask(r, e, argv, err);
	if (rc == 0)
		live(r);
	close(r->signals);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc < 0 || r->failed ? -1 : r->status;
}

/* Run a command without our terminal: processes of another user that have it
 * open could read and write it even after the command has ended. */
static int run_foreign(struct running *r, const struct exec *e,
                       char *const *argv, struct err *err)
{
	struct exec other = *e;
	int none = -1, status;

	for (int k = 0; k < OUTPUTS; k++)
		r->copies[k] = isatty(STDOUT_FILENO + k);
	if (isatty(e->input)) {
		none = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (none < 0)
			return err_sys(err, "cannot open /dev/null");
		other.input = none;
	}
	status = run(r, &other, argv, err);
	if (none >= 0)
		close(none);
	return status;
}

int exec_run(const struct exec *e, char *const *argv, struct err *err)
{
	struct running r = { .conn = -1, .from = { -1, -1 }, .err = err };
	int status;

	if (e->tty && !terminal_init(&r.terminal))
		warnx("standard input is no terminal: going on without one");
	else if (!e->tty)
		r.terminal.fd = -1;
	status = e->foreign && !r.terminal.used ? run_foreign(&r, e, argv, err)
	                                        : run(&r, e, argv, err);
	if (r.conn >= 0)
		close(r.conn);
	return status;
}
