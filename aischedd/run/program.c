/* program.c - run a program of the admin, with a bound on its time and output
 */
#include "aischedd/run/program.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/clean.h"
#include "libcommon/mem.h"
#include "libcommon/spawn.h"

enum {
	/* bytes of output that are kept; the rest is read and dropped */
	MAX_OUTPUT = 4096,
	MAX_REASON = 200, /* bytes of the line that is given as the reason */
	/* most reads in one turn of the loop: a program may print for ever */
	READS = 64
};

struct program {
	const struct program_calls *calls; /* NULL: it was abandoned */
	void *arg;
	const char *what;
	char *path;
	int64_t timeout_s;
	pid_t pid;
	int pidfd, out;
	struct event *ended, *readable, *late;
	struct buf text;
	bool was_late;
};

void program_free(struct program *run)
{
	if (!run)
		return;
	if (run->pid)
		kill(-run->pid, SIGKILL);
	event_free(run->ended);
	event_free(run->readable);
	event_free(run->late);
	close(run->pidfd);
	close(run->out);
	buf_free(&run->text);
	free(run->path);
	free(run);
}

/* --- output of the program ------------------------------------------------ */

static void read_output(struct program *run)
{
	char part[1024];
	ssize_t n = 1;

	for (int i = 0; i < READS && n > 0; i++) {
		n = read(run->out, part, sizeof(part));
		if (n > 0 && run->text.len < MAX_OUTPUT)
			buf_add(&run->text, part, (size_t)n);
	}
	if (n == 0)
		/* A pipe at its end stays readable, so stop waiting for
		 * output. */
		event_del(run->readable);
}

/* Returns the first line that is not blank, cut to MAX_REASON bytes, or NULL.
 * The caller frees it. */
static char *first_line(const struct buf *text)
{
	const char *s = text->len ? text->data : "";
	char *line;
	size_t len;

	s += strspn(s, " \t\r\n");
	len = strcspn(s, "\r\n");
	if (len > MAX_REASON)
		len = MAX_REASON;
	line = xstrndup(s, len);
	line[text_clean(line, len)] = '\0';
	if (*line)
		return line;
	free(line);
	return NULL;
}

static char *result_of(const struct program *run, int status)
{
	char *line;

	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return NULL;
	line = first_line(&run->text);
	if (line)
		return line;
	return WIFSIGNALED(status)
	           ? xasprintf("%s '%s' was killed by signal %d", run->what,
	                       run->path, WTERMSIG(status))
	           : xasprintf("%s '%s' ended with status %d", run->what,
	                       run->path, WEXITSTATUS(status));
}

/* --- one run -------------------------------------------------------------- */

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_output(arg);
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct program *run = arg;
	int status;

	(void)fd;
	(void)what;
	/* Kill the rest of the program's process group before the program is
	 * reaped, while no other group can have its number. */
	kill(-run->pid, SIGKILL);
	waitpid(run->pid, &status, 0);
	run->pid = 0;
	if (run->calls && !run->was_late) {
		char *why;

		read_output(run);
		why = result_of(run, status);
		run->calls->result(why, run->arg);
		free(why);
	}
	if (run->calls)
		run->calls->ended(run->arg);
	program_free(run);
}

/* The program has exceeded its time: kill it and report the failure now. A
 * program that hangs on a broken device does not die at once. */
static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct program *run = arg;
	char *why;

	(void)fd;
	(void)what;
	run->was_late = true;
	kill(-run->pid, SIGKILL);
	why = xasprintf("%s '%s' did not end within %lld s", run->what,
	                run->path, (long long)run->timeout_s);
	run->calls->result(why, run->arg);
	free(why);
}

/* Start the program with its output into a pipe. Returns the read end of the
 * pipe, or -1 with errno. */
static int start_piped(const char *const *argv, pid_t *pid, int *pidfd)
{
	int pipe[2], code;

	if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	/* Make only our end of the pipe non-blocking, as programs do not expect
	 * a non-blocking stdout. */
	fcntl(pipe[1], F_SETFL, 0);
	code = spawn_program(argv, -1, pipe[1], pid);
	close(pipe[1]);
	if (!code && (*pidfd = pidfd_open(*pid, 0)) < 0) {
		code = errno;
		kill(-*pid, SIGKILL);
		waitpid(*pid, NULL, 0);
	}
	if (!code)
		return pipe[0];
	close(pipe[0]);
	errno = code;
	return -1;
}

struct program *program_start(struct event_base *base, const char *what,
                              const char *const *argv, int64_t timeout_s,
                              const struct program_calls *calls, void *arg)
{
	const struct timeval after = { .tv_sec = timeout_s };
	struct program *run;
	pid_t pid;
	int pidfd, out = start_piped(argv, &pid, &pidfd);

	if (out < 0)
		return NULL;
	run = xcalloc(1, sizeof(*run));
	*run = (struct program){ .calls = calls,
		                 .arg = arg,
		                 .what = what,
		                 .path = xstrdup(argv[0]),
		                 .timeout_s = timeout_s,
		                 .pid = pid,
		                 .pidfd = pidfd,
		                 .out = out };
	run->ended = event_new(base, pidfd, EV_READ, on_ended, run);
	run->readable =
	    event_new(base, out, EV_READ | EV_PERSIST, on_readable, run);
	run->late = evtimer_new(base, on_late, run);
	event_add(run->ended, NULL);
	event_add(run->readable, NULL);
	event_add(run->late, &after);
	return run;
}

void program_abandon(struct program *run)
{
	kill(-run->pid, SIGKILL);
	evtimer_del(run->late);
	run->calls = NULL;
}
