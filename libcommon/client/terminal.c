/* terminal.c - connect our terminal to that of a task */
#include "libcommon/client/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool terminal_init(struct terminal *t)
{
	struct winsize size;

	*t = (struct terminal){ .fd = -1 };
	t->used = ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0;
	if (t->used) {
		t->rows = size.ws_row;
		t->columns = size.ws_col;
	}
	return t->used;
}

void terminal_resize(const struct terminal *t)
{
	struct winsize size;

	if (t->fd >= 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
		ioctl(t->fd, TIOCSWINSZ, &size);
}

void terminal_begin(struct terminal *t, int fd)
{
	struct termios raw;

	t->fd = fd;
	t->input = true;
	/* Writing must not block if the task does not read. */
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	terminal_resize(t);
	if (tcgetattr(STDIN_FILENO, &t->before) < 0)
		return;
	raw = t->before;
	cfmakeraw(&raw);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

static void hang_up(struct terminal *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	t->len = 0;
}

bool terminal_is_raw(const struct terminal *t)
{
	return t->used && t->input;
}

void terminal_end(struct terminal *t)
{
	if (terminal_is_raw(t))
		tcsetattr(STDIN_FILENO, TCSADRAIN, &t->before);
	hang_up(t);
	t->input = false;
}

bool terminal_is_open(const struct terminal *t)
{
	return t->fd >= 0;
}

void terminal_poll(const struct terminal *t, struct pollfd ret[2])
{
	bool reads = t->fd >= 0 && t->input && !t->len;

	ret[0] = (struct pollfd){ .fd = reads ? STDIN_FILENO : -1,
		                  .events = POLLIN };
	ret[1] = (struct pollfd){
		.fd = t->fd, .events = (short)(POLLIN | (t->len ? POLLOUT : 0))
	};
}

static bool is_for_later(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Copy output of the task to stdout. Returns false at its end. */
static bool print(const struct terminal *t)
{
	char text[4096];
	ssize_t n = read(t->fd, text, sizeof(text)), done = 0;

	if (is_for_later(n))
		return true;
	while (done < n) {
		ssize_t m =
		    write(STDOUT_FILENO, text + done, (size_t)(n - done));

		if (m < 0 && !is_for_later(m))
			return false;
		if (m > 0)
			done += m;
	}
	return n > 0;
}

static void pass_on(struct terminal *t)
{
	ssize_t n = write(t->fd, t->typed, t->len);

	if (is_for_later(n))
		return;
	if (n < 0)
		n = (ssize_t)t->len; /* the task has gone: drop the input */
	t->len -= (size_t)n;
	memmove(t->typed, t->typed + n, t->len);
}

/* Read from our terminal. At the end of the input, restore our terminal and
 * send the task the EOF character. */
static void take(struct terminal *t)
{
	ssize_t n = read(STDIN_FILENO, t->typed, sizeof(t->typed));

	if (is_for_later(n))
		return;
	if (n <= 0) {
		t->input = false;
		tcsetattr(STDIN_FILENO, TCSADRAIN, &t->before);
		t->typed[0] = (char)t->before.c_cc[VEOF];
		n = 1;
	}
	t->len = (size_t)n;
}

void terminal_move(struct terminal *t, const struct pollfd p[2])
{
	/* When no process has the task's terminal open any longer, reading from
	 * it fails. */
	if (p[1].revents & (POLLIN | POLLHUP | POLLERR) && !print(t))
		hang_up(t);
	if (p[0].revents && t->fd >= 0)
		take(t);
	if (t->len)
		pass_on(t);
}
