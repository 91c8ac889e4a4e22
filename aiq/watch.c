/* watch.c - show a listing on the whole terminal, again and again */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "aiq/aiq.h"
#include "aiq/list.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum { PERIOD_S = 2 };

/* Switch to the other screen, without cursor and wrapping; and back. */
#define SCREEN_ENTER "\033[?1049h\033[?25l\033[?7l"
#define SCREEN_LEAVE "\033[?7h\033[?25h\033[?1049l"

/* Saved for signal handlers, which restore the terminal. */
static struct termios term_before;

static void screen_write(const char *s, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, s, len);

		if (n < 0)
			return; /* the terminal is gone, and SIGHUP follows */
		s += n;
		len -= (size_t)n;
	}
}

static void screen_enter(void)
{
	struct termios raw = term_before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	screen_write(SCREEN_ENTER, strlen(SCREEN_ENTER));
}

static void screen_leave(void)
{
	screen_write(SCREEN_LEAVE, strlen(SCREEN_LEAVE));
	tcsetattr(STDIN_FILENO, TCSANOW, &term_before);
}

/* Only async-signal-safe calls: Ctrl-C must also end a listing that waits for a
 * slow daemon. */
static void on_end(int signo)
{
	(void)signo;
	screen_leave();
	_exit(EXIT_SUCCESS);
}

/* Ctrl-Z: restore the terminal until somebody continues us. */
static void on_stop(int signo)
{
	(void)signo;
	screen_leave();
	raise(SIGSTOP);
	screen_enter();
}

static void on_resize(int signo)
{
	(void)signo; /* it ends the wait, so that we draw at once */
}

/* Signals that only disturb drawing are blocked except while waiting:
 * *ret_unblocked. */
static void catch_signals(sigset_t *ret_unblocked)
{
	static const struct {
		int signo;
		void (*handler)(int);
		bool while_waiting;
	} caught[] = {
		{ SIGINT, on_end, false },  { SIGTERM, on_end, false },
		{ SIGHUP, on_end, false },  { SIGQUIT, on_end, false },
		{ SIGTSTP, on_stop, true }, { SIGWINCH, on_resize, true },
	};
	sigset_t block;

	sigemptyset(&block);
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++) {
		struct sigaction act = { .sa_handler = caught[i].handler };

		if (caught[i].while_waiting)
			sigaddset(&block, caught[i].signo);
		sigaction(caught[i].signo, &act, NULL);
	}
	sigprocmask(SIG_BLOCK, &block, ret_unblocked);
}

/* Wait for the next drawing; returns false when it is time to end. */
static bool wait_more(const sigset_t *unblocked)
{
	const struct timespec period = { .tv_sec = PERIOD_S };
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	char key = 0;

	if (ppoll(&fd, 1, &period, unblocked) <= 0)
		return true;
	return read(STDIN_FILENO, &key, 1) == 1 && key != 'q';
}

static char *make_listing(const struct aiq *aiq, const struct format *format,
                          struct client **client, int width, struct err *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out;
	int rc = -1;

	if (!*client)
		*client = client_open(aiq->socket, err);
	if (!*client)
		return NULL;
	out = open_memstream(&text, &len);
	if (out) {
		rc = list_print(aiq, *client, format, out, width, err);
		fclose(out);
	}
	if (!rc)
		return text;
	free(text);
	client_close(*client);
	*client = NULL;
	return NULL;
}

/* Draw the title, as many lines as fit, and how many more there are. */
static void draw(const struct aiq *aiq, const char *text, int rows)
{
	struct buf screen = { 0 };
	int left = rows - 1, more = 0;

	buf_puts(&screen, "\033[H\033[1m");
	buf_printf(&screen, "aiq: %s  ", aiq->view->op);
	format_time(&screen, time(NULL));
	buf_puts(&screen, "  q quits\033[0m\033[K");
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (left > 1 || (left == 1 && !text[len + 1])) {
			buf_puts(&screen, "\r\n");
			buf_add(&screen, text, len);
			buf_puts(&screen, "\033[K");
			left--;
		} else {
			more++;
		}
		text += len + (text[len] == '\n');
	}
	if (more)
		buf_printf(&screen, "\r\n... %d more\033[K", more);
	buf_puts(&screen, "\033[J");
	screen_write(screen.data, screen.len);
	buf_free(&screen);
}

static void draw_once(const struct aiq *aiq, const struct format *format,
                      struct client **client)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	struct err why;
	char *text;

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	text = make_listing(aiq, format, client, size.ws_col, &why);
	draw(aiq, text ? text : why.text, size.ws_row);
	free(text);
}

int watch_run(const struct aiq *aiq, const struct format *format,
              struct err *err)
{
	struct client *client = NULL;
	sigset_t unblocked;

	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &term_before) < 0)
		return err_set(err, ENOTTY, "--watch needs a terminal");
	catch_signals(&unblocked);
	screen_enter();
	do
		draw_once(aiq, format, &client);
	while (wait_more(&unblocked));
	screen_leave();
	client_close(client);
	return 0;
}
