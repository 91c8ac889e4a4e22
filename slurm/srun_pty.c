/* srun_pty.c - the terminal of srun for a task that has one */
#include "slurm/srun_pty.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "slurm/command.h"

void srun_pty_init(struct srun_pty *pty, bool wanted)
{
	struct winsize size;

	*pty = (struct srun_pty){ .fd = -1 };
	if (!wanted)
		return;
	pty->used = ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0;
	if (pty->used)
		return;
	command_error("ioctl(TIOCGWINSZ): %s", strerror(errno));
	command_error("Not using a pseudo-terminal, disregarding --pty option");
}

void srun_pty_resize(struct srun_pty *pty)
{
	struct winsize size;

	if (pty->fd >= 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
		ioctl(pty->fd, TIOCSWINSZ, &size);
}

void srun_pty_begin(struct srun_pty *pty, int fd)
{
	struct termios raw;

	pty->fd = fd;
	pty->input = true;
	srun_pty_resize(pty);
	if (tcgetattr(STDIN_FILENO, &pty->before) < 0)
		return;
	raw = pty->before;
	cfmakeraw(&raw);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

void srun_pty_end(struct srun_pty *pty)
{
	if (pty->used && pty->input)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &pty->before);
	if (pty->fd >= 0)
		close(pty->fd);
	pty->fd = -1;
	pty->input = false;
}

bool srun_pty_is_open(const struct srun_pty *pty)
{
	return pty->fd >= 0;
}

void srun_pty_poll(const struct srun_pty *pty, struct pollfd ret[2])
{
	bool reads = pty->fd >= 0 && pty->input;

	ret[0] = (struct pollfd){ .fd = reads ? STDIN_FILENO : -1,
		                  .events = POLLIN };
	ret[1] = (struct pollfd){ .fd = pty->fd, .events = POLLIN };
}

/* Returns false at the end. */
static bool copy(int from, int to)
{
	char text[4096];
	ssize_t n = read(from, text, sizeof(text)), done = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	while (done < n) {
		ssize_t m = write(to, text + done, (size_t)(n - done));

		if (m < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (m > 0)
			done += m;
	}
	return n > 0;
}

void srun_pty_move(struct srun_pty *pty, const struct pollfd p[2])
{
	/* A terminal that nobody has open any longer is at its end. */
	if (p[1].revents && !copy(pty->fd, STDOUT_FILENO)) {
		close(pty->fd);
		pty->fd = -1;
	}
	if (p[0].revents && pty->fd >= 0 && !copy(STDIN_FILENO, pty->fd)) {
		char eof = pty->before.c_cc[VEOF];

		pty->input = write(pty->fd, &eof, 1) < 0;
		tcsetattr(STDIN_FILENO, TCSADRAIN, &pty->before);
	}
}
