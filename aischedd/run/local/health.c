/* health.c - run the admin's program that checks this machine */
#include "aischedd/run/local/health.h"

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
	/* most reads of output in one turn of the loop, as some programs print
	 * for ever */
	READS = 64
};

/* One run of the program. */
struct health_run {
	/* NULL: the run was abandoned, its result is not wanted */
	struct health *health;
	pid_t pid;
	int pidfd, out;
	struct event *ended, *readable, *late;
	struct buf text;
	bool was_late;
};

struct health {
	struct event_base *base;
	health_fn *fn;
	void *arg;
	char *program; /* path of the program; "": none is configured */
	int64_t interval_s, timeout_s;
	struct health_run *run; /* the run in progress, or NULL */
	struct event *next;
};

static void arm(struct event *timer, int64_t s)
{
	const struct timeval after = { .tv_sec = s };

	event_add(timer, &after);
}

static void run_free(struct health_run *run)
{
	event_free(run->ended);
	event_free(run->readable);
	event_free(run->late);
	close(run->pidfd);
	close(run->out);
	buf_free(&run->text);
	free(run);
}

/* --- output of the program ------------------------------------------------ */

static void read_output(struct health_run *run)
{
	char part[1024];
	ssize_t n = 1;

	for (int i = 0; i < READS && n > 0; i++) {
		n = read(run->out, part, sizeof(part));
		if (n > 0 && run->text.len < MAX_OUTPUT)
			buf_add(&run->text, part, (size_t)n);
	}
	if (n == 0)
		/* at the end of output, the pipe would remain readable
		 * for ever */
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

static char *result_of(const struct health_run *run, int status)
{
	const char *program = run->health->program;
	char *line;

	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return NULL;
	line = first_line(&run->text);
	if (line)
		return line;
	return WIFSIGNALED(status)
	           ? xasprintf("health_check '%s' was killed by signal %d",
	                       program, WTERMSIG(status))
	           : xasprintf("health_check '%s' ended with status %d",
	                       program, WEXITSTATUS(status));
}

/* --- one run of the program ----------------------------------------------- */

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	read_output(arg);
}

static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct health_run *run = arg;
	struct health *h = run->health;
	int status;

	(void)fd;
	(void)what;
	/* Kill the rest of the program's process group before the program is
	 * reaped, while no other group can have its number. */
	kill(-run->pid, SIGKILL);
	waitpid(run->pid, &status, 0);
	if (h) {
		char *why = NULL;

		read_output(run);
		if (!run->was_late) {
			why = result_of(run, status);
			h->fn(why, h->arg);
		}
		free(why);
		h->run = NULL;
		arm(h->next, h->interval_s);
	}
	run_free(run);
}

/* The program has exceeded its time: kill it and report the failure now. A
 * program that hangs on a broken device does not die at once; the next run
 * waits until it has ended. */
static void on_late(evutil_socket_t fd, short what, void *arg)
{
	struct health_run *run = arg;
	struct health *h = run->health;
	char *why;

	(void)fd;
	(void)what;
	run->was_late = true;
	kill(-run->pid, SIGKILL);
	why = xasprintf("health_check '%s' did not end within %lld s",
	                h->program, (long long)h->timeout_s);
	h->fn(why, h->arg);
	free(why);
}

/* Start the program. Returns NULL with errno if it cannot be started
 * or watched. */
static struct health_run *run_new(struct health *h)
{
	struct health_run *run;
	int pipe[2], code, pidfd = -1;
	pid_t pid;

	if (pipe2(pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return NULL;
	/* Make only our end of the pipe non-blocking, as programs do not expect
	 * a non-blocking stdout. */
	fcntl(pipe[1], F_SETFL, 0);
	code = spawn_program((const char *[]){ h->program, NULL }, -1, pipe[1],
	                     &pid);
	close(pipe[1]);
	if (!code && (pidfd = pidfd_open(pid, 0)) < 0) {
		code = errno;
		kill(-pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (code) {
		close(pipe[0]);
		errno = code;
		return NULL;
	}
	run = xcalloc(1, sizeof(*run));
	*run = (struct health_run){ .health = h, .pid = pid };
	run->pidfd = pidfd;
	run->out = pipe[0];
	run->ended = event_new(h->base, pidfd, EV_READ, on_ended, run);
	run->readable = event_new(h->base, run->out, EV_READ | EV_PERSIST,
	                          on_readable, run);
	run->late = evtimer_new(h->base, on_late, run);
	return run;
}

static void start(struct health *h)
{
	char *why;

	h->run = run_new(h);
	if (h->run) {
		event_add(h->run->ended, NULL);
		event_add(h->run->readable, NULL);
		arm(h->run->late, h->timeout_s);
		return;
	}
	why = xasprintf("health_check '%s' cannot be started: %s", h->program,
	                strerror(errno));
	h->fn(why, h->arg);
	free(why);
	arm(h->next, h->interval_s);
}

static void on_next(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	start(arg);
}

/* --- checks at intervals -------------------------------------------------- */

struct health *health_new(struct event_base *base, health_fn *fn, void *arg)
{
	struct health *h = xcalloc(1, sizeof(*h));

	h->base = base;
	h->fn = fn;
	h->arg = arg;
	h->program = xstrdup("");
	h->next = evtimer_new(base, on_next, h);
	return h;
}

/* Kill the run in progress, whose result is no longer wanted. on_ended() frees
 * it once the program has ended, which may take long. */
static void abandon(struct health *h)
{
	if (!h->run)
		return;
	kill(-h->run->pid, SIGKILL);
	evtimer_del(h->run->late);
	h->run->health = NULL;
	h->run = NULL;
}

bool health_conf(struct health *h, const struct conf_health *conf)
{
	h->interval_s = conf->interval;
	h->timeout_s = conf->timeout;
	if (!strcmp(h->program, conf->program)) {
		if (*h->program && !h->run)
			arm(h->next, h->interval_s);
		return false;
	}
	abandon(h);
	text_set(&h->program, conf->program);
	evtimer_del(h->next);
	if (*h->program)
		arm(h->next, 0);
	return *h->program;
}

void health_free(struct health *h)
{
	if (!h)
		return;
	if (h->run) {
		kill(-h->run->pid, SIGKILL);
		run_free(h->run);
	}
	event_free(h->next);
	free(h->program);
	free(h);
}
