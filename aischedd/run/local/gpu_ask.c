/* gpu_ask.c - ask the GPU driver, which may hang */
#include "aischedd/run/local/gpu_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/paths.h"
#include "libcommon/spawn.h"

enum { ANSWER_MAX = 1 << 20, NO_LIBRARY = 3, PAUSE_MS = 2 };

/* Start the program; its output and its errors are written to out. */
static int begin(const char *program, int out, pid_t *ret, struct err *err)
{
	const struct spawn s = {
		.argv = (const char *[]){ program, "list", NULL },
		.fd = (int[]){ -1, out, out },
		.nfd = 3,
	};

	errno = spawn(&s, ret);
	return errno ? err_sys(err, "cannot start '%s'", program) : 0;
}

/* Read all output. Returns false if it has not ended by the time `end`. */
static bool read_all(int fd, int64_t end, struct buf *ret)
{
	int64_t left;

	while ((left = end - clock_ms()) > 0 && ret->len < ANSWER_MAX) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (poll(&ready, 1, (int)left) <= 0)
			continue;
		n = read(fd, buf_room(ret, 4096), 4096);
		if (n <= 0)
			return n == 0;
		buf_grew(ret, (size_t)n);
	}
	return false;
}

/* Fail with the first line of the answer, without the program's name
 * before it. */
static int refuse(struct buf *answer, int status, struct err *err)
{
	char *text = answer->data, *colon;

	text[strcspn(text, "\n")] = '\0';
	colon = strstr(text, ": ");
	return err_set(err, status == NO_LIBRARY ? ENOENT : EIO, "%s",
	               colon ? colon + 2 : "aisched-gpu fails");
}

/* Wait for the process until the time `end`, as it may still hang in the driver
 * after it has closed its output. Returns whether it has ended. */
static bool has_ended(pid_t pid, int64_t end, int *ret)
{
	pid_t is;

	while ((is = waitpid(pid, ret, WNOHANG)) == 0 && clock_ms() < end)
		poll(NULL, 0, PAUSE_MS);
	return is == pid;
}

/* Returns the answer of the process, or NULL with *err set. If the process
 * does not answer in time, it is killed but not waited for, as it may hang in
 * the driver. */
static json_t *hear(pid_t pid, int fd, int ms, struct err *err)
{
	int64_t end = clock_ms() + ms;
	struct buf answer = { 0 };
	json_t *all = NULL;
	int status;

	buf_puts(&answer, "");
	if (!read_all(fd, end, &answer) || !has_ended(pid, end, &status)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, WNOHANG);
		err_set(err, ETIMEDOUT, "the driver does not answer");
	} else if (!WIFEXITED(status)) {
		err_set(err, EIO, "aisched-gpu was killed");
	} else if (WEXITSTATUS(status)) {
		refuse(&answer, WEXITSTATUS(status), err);
	} else {
		all = json_loadb(answer.data, answer.len, 0, NULL);
		if (!all)
			err_set(err, EIO, "aisched-gpu prints no JSON");
	}
	buf_free(&answer);
	return all;
}

json_t *gpu_ask(int ms, struct err *err)
{
	char *program = program_path("gpu", "aisched-gpu", err);
	json_t *all = NULL;
	int fd[2];
	pid_t pid;

	if (!program)
		return NULL;
	if (pipe2(fd, O_CLOEXEC) < 0) {
		err_sys(err, "cannot make a pipe");
	} else {
		int failed = begin(program, fd[1], &pid, err);

		close(fd[1]);
		if (!failed)
			all = hear(pid, fd[0], ms, err);
		close(fd[0]);
	}
	free(program);
	return all;
}
