/* screen.c - the whole terminal, drawn line by line */
#include "aiq/screen.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"

/* Switch to the alternate screen, without cursor and line wrapping;
 * and back. */
#define SCREEN_ENTER "\033[?1049h\033[?25l\033[?7l"
#define SCREEN_LEAVE "\033[?7h\033[?25h\033[?1049l"

/* Saved for signal handlers, which restore the terminal. */
static struct termios term_before;

/* The picture on the terminal, and the changes to be written. */
static struct {
	int rows, cols, at;
	char **line; /* lines as they were last written; NULL: unknown */
	struct buf out;
} screen;

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

static void enter(void)
{
	struct termios raw = term_before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_iflag &= ~(tcflag_t)ICRNL;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	screen_write(SCREEN_ENTER, strlen(SCREEN_ENTER));
}

void screen_close(void)
{
	screen_write(SCREEN_LEAVE, strlen(SCREEN_LEAVE));
	tcsetattr(STDIN_FILENO, TCSANOW, &term_before);
}

/* Restore the terminal and exit, only with async-signal-safe calls: the program
 * may be anywhere, for example waiting for a slow daemon. */
static void on_end(int signo)
{
	(void)signo;
	screen_close();
	_exit(EXIT_SUCCESS);
}

/* Set if the terminal may no longer show the last picture. */
static volatile sig_atomic_t lost;

/* On Ctrl-Z, restore the terminal and stop; when continued, take the
 * terminal again. */
static void on_stop(int signo)
{
	(void)signo;
	screen_close();
	raise(SIGSTOP);
	enter();
	lost = 1;
}

static void on_resize(int signo)
{
	(void)signo; /* the signal also interrupts ppoll(), so that the caller
	                draws again */
	lost = 1;
}

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

int screen_open(sigset_t *ret_unblocked, struct err *err)
{
	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &term_before) < 0)
		return err_set(err, ENOTTY, "--watch needs a terminal");
	/* For wcwidth(): texts of the daemon are UTF-8 in any locale. */
	setlocale(LC_CTYPE, "C.UTF-8");
	catch_signals(ret_unblocked);
	enter();
	return 0;
}

static void forget(int rows)
{
	for (int i = 0; screen.line && i < screen.rows; i++)
		free(screen.line[i]);
	free(screen.line);
	screen.line = xcalloc((size_t)rows, sizeof(*screen.line));
	screen.rows = rows;
	buf_puts(&screen.out, "\033[H\033[J");
}

void screen_begin(int *ret_rows, int *ret_cols)
{
	struct winsize size = { 0 };

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	if (!size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	buf_clear(&screen.out);
	if (lost || size.ws_row != screen.rows || size.ws_col != screen.cols) {
		lost = 0;
		forget(size.ws_row);
	}
	screen.cols = size.ws_col;
	screen.at = 0;
	*ret_rows = screen.rows;
	*ret_cols = screen.cols;
}

/* Returns the number of bytes of the character at s, and gets its width
 * in columns. */
static size_t character(const char *s, int *ret_width)
{
	mbstate_t state = { 0 };
	wchar_t c;
	size_t len = mbrtowc(&c, s, MB_LEN_MAX, &state);
	int width;

	*ret_width = 1;
	if (len == 0 || len > MB_LEN_MAX)
		return 1;
	width = wcwidth(c);
	if (width >= 0)
		*ret_width = width;
	return len;
}

/* Append the part of text from column skip on that fits on the screen, without
 * colours if plain is true. */
static void add_visible(struct buf *out, const char *text, int skip, bool plain)
{
	int at = 0, width;
	size_t len;

	for (const char *s = text; *s && *s != '\n'; s += len) {
		if (*s == '\033') { /* a colour that we added ourselves */
			len = strcspn(s, "m") + 1;
			if (!plain)
				buf_add(out, s, len);
			continue;
		}
		len = character(s, &width);
		if (at >= skip && at + width <= skip + screen.cols)
			buf_add(out, s, len);
		at += width;
	}
}

void screen_line(const char *text, int skip, enum screen_style style)
{
	static const char *const begin[] = { "", "\033[1m", "\033[7m",
		                             "\033[2m" };
	struct buf line = { 0 };
	char **shown;

	if (screen.at >= screen.rows)
		return;
	buf_puts(&line, begin[style]);
	add_visible(&line, text, skip, style != STYLE_PLAIN);
	buf_puts(&line, "\033[0m");
	shown = &screen.line[screen.at++];
	if (*shown && !strcmp(*shown, line.data)) {
		buf_free(&line);
		return;
	}
	buf_printf(&screen.out, "\033[%d;1H%s\033[K", screen.at, line.data);
	free(*shown);
	*shown = buf_take(&line);
}

void screen_end(void)
{
	while (screen.at < screen.rows)
		screen_line("", 0, STYLE_PLAIN);
	if (screen.out.len)
		screen_write(screen.out.data, screen.out.len);
}
