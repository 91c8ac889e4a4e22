/* relay.c - run a command in a job of a cluster, or connect to a port of a job,
 * through the daemon */
#include "libcommon/client/relay.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/client/client.h"
#include "libcommon/mem.h"
#include "libcommon/relay_msg.h"

/* The senders. Each is a process of its own, so that signals are sent while the
 * other sender waits for input. */
enum { SENDS_INPUT, SENDS_SIGNALS, SENDERS };

struct relaying {
	const struct relay_wish *wish;
	bool no_input;
	bool raw;              /* our terminal is in raw mode */
	struct termios before; /* the terminal's mode before that */
	pid_t sender[SENDERS]; /* 0: the command has not begun */
	int signals;           /* pipe from which SENDS_SIGNALS reads signals */
	json_int_t number;
	bool lost;      /* our output cannot be written */
	struct err why; /* why the senders could not begin; code 0: they did */
};

/* --- the terminal --------------------------------------------------------- */

static void restore(struct relaying *r)
{
	if (r->raw)
		tcsetattr(r->wish->input, TCSANOW, &r->before);
	r->raw = false;
}

static void make_raw(struct relaying *r)
{
	struct termios raw = r->before;

	cfmakeraw(&raw);
	r->raw = tcsetattr(r->wish->input, TCSANOW, &raw) == 0;
}

/* --- signals -------------------------------------------------------------- */

/*
 * Users send signals to the process that they started. It reads the daemon's
 * answer, so it passes these signals on to SENDS_SIGNALS. Signals from the
 * terminal reach all three processes; the senders ignore them.
 */
static const int passed_on[] = { SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH };
static const int deadly[] = { SIGTERM, SIGHUP };

static struct relaying *heard; /* for the signal handlers */
static int to_sender = -1;

static void on_passed(int signo)
{
	const char byte = (char)signo;
	int code = errno;
	ssize_t n = write(to_sender, &byte, 1);

	(void)n; /* a full pipe holds thousands of signals: drop this one */
	errno = code;
}

static void on_deadly(int signo)
{
	restore(heard);
	signal(signo, SIG_DFL);
	raise(signo);
}

static void handle(const int *list, size_t n, void (*fn)(int))
{
	struct sigaction how = { .sa_handler = fn, .sa_flags = SA_RESTART };

	sigemptyset(&how.sa_mask);
	for (size_t i = 0; i < n; i++)
		sigaction(list[i], &how, NULL);
}

static int take_signals(struct relaying *r)
{
	int end[2];

	if (pipe2(end, O_CLOEXEC) < 0)
		return -1;
	fcntl(end[1], F_SETFL, O_NONBLOCK); /* a handler must not wait */
	r->signals = end[0];
	to_sender = end[1];
	heard = r;
	handle(passed_on, ARRAY_SIZE(passed_on), on_passed);
	handle(deadly, ARRAY_SIZE(deadly), on_deadly);
	return 0;
}

static void leave_signals(struct relaying *r)
{
	if (to_sender < 0)
		return;
	handle(passed_on, ARRAY_SIZE(passed_on), SIG_DFL);
	handle(deadly, ARRAY_SIZE(deadly), SIG_DFL);
	close(to_sender);
	close(r->signals);
	to_sender = -1;
}

/* --- senders -------------------------------------------------------------- */

struct sender {
	const struct relaying *r;
	struct client *client;
};

/* Send a request, and once more if the daemon has closed an idle connection.
 * Returns false if the command has ended or cannot be reached. */
static bool tell(struct sender *s, json_t *req, const void *raw, size_t len)
{
	json_t *answer = NULL;
	struct err err;

	json_object_set_new(req, "op", json_string("relay_input"));
	json_object_set_new(req, "relay", json_integer(s->r->number));
	for (int i = 0; i < 2 && !answer; i++) {
		if (!s->client)
			s->client = client_open(s->r->wish->address, &err);
		if (!s->client)
			break;
		answer =
		    client_call(s->client, req, raw, len, NULL, NULL, &err);
		if (answer)
			break;
		client_close(s->client);
		s->client = NULL;
		if (err.code != ECONNRESET && err.code != EPIPE)
			break;
	}
	json_decref(req);
	json_decref(answer);
	return answer != NULL;
}

static void add_size(const struct relay_wish *wish, json_t *req)
{
	struct winsize size;

	if (!wish->tty || ioctl(wish->input, TIOCGWINSZ, &size) < 0 ||
	    !size.ws_row || !size.ws_col)
		return;
	json_object_set_new(req, "rows", json_integer(size.ws_row));
	json_object_set_new(req, "columns", json_integer(size.ws_col));
}

static bool tell_size(struct sender *s)
{
	json_t *req = json_object();

	add_size(s->r->wish, req);
	return tell(s, req, NULL, 0);
}

static void send_signals(struct sender *s)
{
	bool goes_on = tell_size(s); /* may have changed since the request */
	char signo;

	while (goes_on && read(s->r->signals, &signo, 1) == 1) {
		if (signo == SIGWINCH)
			goes_on = tell_size(s);
		else
			goes_on = tell(s, json_pack("{s:i}", "signal", signo),
			               NULL, 0);
	}
}

/* Send the end of input: for a terminal its VEOF character. */
static void send_end(struct sender *s)
{
	char end = (char)s->r->before.c_cc[VEOF];

	if (s->r->wish->tty)
		tell(s, json_object(), &end, 1);
	else
		tell(s, json_pack("{s:b}", "end", 1), NULL, 0);
}

static void send_input(struct sender *s)
{
	static char piece[RELAY_PIECE];
	struct pollfd input = { .fd = s->r->wish->input, .events = POLLIN };
	ssize_t n;

	for (;;) {
		n = read(input.fd, piece, sizeof(piece));
		if (n < 0 && errno == EAGAIN)
			poll(&input, 1, -1);
		else if (n <= 0)
			break;
		else if (!tell(s, json_object(), piece, (size_t)n))
			return;
	}
	send_end(s);
}

static int begin_sender(struct relaying *r, int which)
{
	struct sender s = { .r = r };
	pid_t parent = getpid();
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	r->sender[which] = fork();
	if (r->sender[which]) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		return r->sender[which] < 0 ? -1 : 0;
	}
	handle(passed_on, ARRAY_SIZE(passed_on), SIG_IGN);
	handle(deadly, ARRAY_SIZE(deadly), SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	if (to_sender >= 0)
		close(to_sender);
	if (which == SENDS_INPUT)
		send_input(&s);
	else
		send_signals(&s);
	client_close(s.client);
	_exit(EXIT_SUCCESS);
}

static void end_senders(struct relaying *r)
{
	for (int i = 0; i < SENDERS; i++) {
		if (r->sender[i] <= 0)
			continue;
		kill(r->sender[i], SIGKILL);
		waitpid(r->sender[i], NULL, 0);
	}
}

/* --- the answer ----------------------------------------------------------- */

static void write_all(struct relaying *r, int fd, const char *data, size_t len)
{
	ssize_t n;

	for (size_t at = 0; at < len && !r->lost; at += (size_t)n) {
		n = write(fd, data + at, len - at);
		if (n >= 0)
			continue;
		if (errno != EINTR && errno != EAGAIN)
			r->lost = true;
		if (errno == EAGAIN)
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1,
			     -1);
		n = 0;
	}
}

static int begin(struct relaying *r, const char *text, size_t len)
{
	int senders = r->wish->port ? SENDS_INPUT + 1 : SENDERS;
	char number[24] = "";

	if (len >= sizeof(number) || r->sender[senders - 1])
		return err_set(&r->why, EPROTO,
		               "the daemon's answer makes no sense");
	memcpy(number, text, len);
	r->number = strtoll(number, NULL, 10);
	if (!r->wish->port && take_signals(r) < 0)
		return err_sys(&r->why, "cannot make a pipe");
	if (r->wish->tty)
		make_raw(r);
	for (int i = r->no_input ? SENDS_INPUT + 1 : 0; i < senders; i++)
		if (begin_sender(r, i) < 0)
			return err_sys(&r->why, "cannot fork");
	return 0;
}

static int on_part(const void *data, size_t len, void *arg)
{
	struct relaying *r = arg;
	const char *text = data;

	if (!len)
		return 0;
	switch (*text) {
	case RELAY_BEGINS:
		return begin(r, text + 1, len - 1);
	case RELAY_OUT:
		write_all(r, STDOUT_FILENO, text + 1, len - 1);
		break;
	case RELAY_ERR:
		write_all(r, STDERR_FILENO, text + 1, len - 1);
		break;
	default:
		break;
	}
	return r->lost ? -1 : 0;
}

/*
 * Whether the command gets no input, not even the end of it. If that end comes
 * when the command has ended, a kubelet drops the output on its way to a slow
 * reader.
 */
static bool has_no_input(const struct relay_wish *wish)
{
	struct stat st;

	/* /dev/null */
	return !wish->port && !wish->tty && fstat(wish->input, &st) == 0 &&
	       S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

static json_t *request_of(const struct relaying *r)
{
	const struct relay_wish *wish = r->wish;
	const char *term = getenv("TERM");
	json_t *req = json_pack("{s:s, s:s, s:I}", "op", "relay", "id",
	                        wish->job, "task", (json_int_t)wish->task);

	if (req && wish->port) {
		json_object_set_new(req, "port", json_integer(wish->port));
	} else if (req) {
		json_object_set_new(req, "tty", json_boolean(wish->tty));
		if (r->no_input)
			json_object_set_new(req, "input", json_false());
		if (wish->tty && term)
			json_object_set_new(req, "term", json_string(term));
		add_size(wish, req);
	}
	return req;
}

static int ask(struct relaying *r, char *const *argv, struct err *err)
{
	json_t *req = request_of(r);
	struct buf words = { 0 };
	json_t *answer;
	int status = -1;

	if (!req)
		return err_set(err, EINVAL, "'%s' is not UTF-8", r->wish->job);
	for (char *const *word = argv; word && *word; word++)
		buf_add(&words, *word, strlen(*word) + 1);
	answer = client_call(r->wish->client, req, words.data, words.len,
	                     on_part, r, err);
	if (answer)
		status =
		    (int)json_integer_value(json_object_get(answer, "status"));
	else if (r->why.code)
		*err = r->why;
	else if (r->lost)
		status = 128 + SIGPIPE;
	json_decref(answer);
	json_decref(req);
	buf_free(&words);
	return status;
}

int relay_run(const struct relay_wish *wish, char *const *argv, struct err *err)
{
	struct relay_wish own = *wish;
	struct relaying r = { .wish = &own };
	int status;

	if (own.tty && tcgetattr(own.input, &r.before) < 0) {
		warnx("standard input is no terminal: going on without one");
		own.tty = false;
	}
	r.no_input = has_no_input(&own);
	signal(SIGPIPE, SIG_IGN);
	status = ask(&r, argv, err);
	restore(&r);
	end_senders(&r);
	leave_signals(&r);
	signal(SIGPIPE, SIG_DFL);
	return status;
}
