/* pty.c - a job that is a command on this terminal */
#include "aisub/pty.h"

#include <err.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/client/batch.h"
#include "libcommon/client/exec.h"
#include "libcommon/client/held_job.h"

enum { PATIENCE_S = 30 }; /* how long to wait for a daemon that restarts */

int pty_check(const struct submit *submit, struct err *err)
{
	const struct {
		bool given;
		const char *name;
	} others[] = {
		{ submit->wrap != NULL, "wrap" },
		{ submit->wait, "wait" },
		{ submit->follow, "follow" },
		{ submit->test_only, "test-only" },
		{ submit->cron.schedule != NULL, "cron" },
		{ submit->parsable, "parsable" },
		{ submit->json, "json" },
		{ submit->spec.array != NULL, "array" },
		{ submit->spec.input != NULL, "input" },
		{ submit->spec.output != NULL, "output" },
		{ submit->spec.error != NULL, "error" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i].given)
			return err_set(err, EINVAL,
			               "--%s does not go with --pty",
			               others[i].name);
	return 0;
}

/* --- the request ---------------------------------------------------------- */

static const char *line_of(const struct submit *submit, char **command)
{
	struct buf line = { 0 };
	const char *copy;

	for (; *command; command++)
		buf_printf(&line, "%s%s", line.len ? " " : "", *command);
	copy = arena_strdup(submit->arena, line.data ? line.data : "");
	buf_free(&line);
	return copy;
}

static int complete(struct submit *submit, char **command, struct err *err)
{
	static char *none[] = { NULL };
	const char *slash = strrchr(command[0], '/');
	const struct batch_job job = {
		.name = slash ? slash + 1 : command[0],
		.command = line_of(submit, command),
		.once = true,
		.args = none,
	};
	struct request req;

	submit->spec.allocation = ALLOCATION_HELD;
	submit->spec.requeue = 0;
	submit->spec.output = "/dev/null";
	submit->spec.error = submit->spec.input = submit->spec.array = NULL;
	submit->test_only = false;
	memset(&submit->cron, 0, sizeof(submit->cron));
	if (batch_complete(submit, &job, err) < 0)
		return -1;
	return submit_resolve(submit, &req, err);
}

static void print_warnings(const struct submit *submit, const json_t *answer)
{
	const json_t *text;
	size_t i;

	if (submit->quiet)
		return;
	json_array_foreach(json_object_get(answer, "warnings"), i, text)
		warnx("warning: %s", json_string_value(text));
}

static int submit_job(struct held_job *job, const struct submit *submit,
                      struct err *err)
{
	struct buf script = { 0 };
	json_t *answer = batch_send(&job->retry, submit, &script, err);

	buf_free(&script);
	if (!answer)
		return -1;
	print_warnings(submit, answer);
	job->id = json_integer_value(
	    json_array_get(json_object_get(answer, "job_ids"), 0));
	json_decref(answer);
	return 0;
}

/* --- before the start of the job ------------------------------------------ */

struct waiting {
	const struct held_job *job;
	bool quiet, told;
};

/* Message of the signal handler. It is formatted in advance, because a signal
 * handler must not call snprintf(). */
static char given_up[80];

/* Handle a signal before the job starts: exiting closes the connection to the
 * daemon, which cancels the job. */
static void give_up(int signo)
{
	ssize_t n = write(STDERR_FILENO, given_up, strlen(given_up));

	(void)n; /* an error cannot be reported */
	_exit(128 + signo);
}

static void take_signals(long long id, void (*handler)(int))
{
	static const int taken[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	snprintf(given_up, sizeof(given_up), "\naisub: job %lld is cancelled\n",
	         id);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		signal(taken[i], handler);
}

static int tell_why(const void *data, size_t len, void *arg)
{
	struct waiting *w = arg;
	json_t *line = json_loadb(data, len, 0, NULL);
	const char *why = json_string_value(json_object_get(line, "waits"));

	if (why && !w->quiet && !w->told)
		warnx("job %lld waits (%s); Ctrl-C cancels it", w->job->id,
		      why);
	w->told = true;
	json_decref(line);
	return 0;
}

static int wait_for_start(struct held_job *job, const struct submit *submit,
                          struct err *err)
{
	struct waiting w = { .job = job, .quiet = submit->quiet };

	take_signals(job->id, give_up);
	if (held_job_wait(job, tell_why, &w, err) < 0 ||
	    held_job_hold(job, false, err) < 0)
		return -1;
	if (w.told && !w.quiet)
		warnx("job %lld starts on %s", job->id, job->node);
	take_signals(job->id, SIG_DFL);
	return 0;
}

/* --- the command ---------------------------------------------------------- */

static int run(struct submit *submit, struct held_job *job, char **command,
               struct err *err)
{
	struct exec exec = { .input = STDIN_FILENO, .tty = true };

	if (complete(submit, command, err) < 0 ||
	    submit_job(job, submit, err) < 0 ||
	    wait_for_start(job, submit, err) < 0)
		return -1;
	exec.socket = job->socket;
	return exec_run(&exec, command, err);
}

int pty_run(struct submit *submit, char **command)
{
	const char *shell = getenv("SHELL");
	char *login[] = { arena_strdup(submit->arena,
		                       shell && *shell ? shell : "/bin/sh"),
		          NULL };
	struct held_job job = { .conn = -1,
		                .retry = { .address = submit->socket,
		                           .patience_s = PATIENCE_S } };
	struct err why;
	int status = run(submit, &job, *command ? command : login, &why);

	if (status < 0)
		warnx("%s", why.text);
	status = status < 0 ? EXIT_FAILURE : status;
	held_job_end(&job, status);
	return status;
}
