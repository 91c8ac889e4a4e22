/* command.c - run commands of users in the pods of their jobs */
#include "aischedd/run/kube/exec/command.h"

#include <ctype.h>
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/exec/exec.h"
#include "aischedd/run/kube/exec/signal.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/log_pods.h"
#include "aischedd/run/kube/object/init.h"
#include "libcommon/mem.h"

enum {
	PID_MAX_ = 24, /* bytes of the line with the command's process id */
	/* seconds to wait for the end of a command whose user has left */
	HANG_UP_S = 10,
	BEGIN_S = 60, /* the same, if its process id is not known */
	ENDINGS = 30  /* how often its end is tried if too many signals wait */
};

struct kube_command {
	struct run_exec base;
	TAILQ_ENTRY(kube_command) of_list;
	struct kube *kube;
	struct kube_exec *exec;
	struct event *hang_up;
	struct kube_signal_to to;
	char line[PID_MAX_];
	size_t nline;
	bool open; /* the node takes input */
	/* the first line, with its process id, was read */
	bool known;
	bool left;        /* its user has disconnected */
	bool unsent;      /* too many signals waited to end it */
	unsigned endings; /* how often that was tried */
	bool ended;       /* its input has ended, or it has none */
	int64_t pid;      /* its process and session id; 0: not known */
	/* size of the terminal, still to be sent; 0: none */
	uint16_t rows, columns;
};

/*
 * $1: $TERM, or nothing; $2, $3: rows and columns of the terminal, or nothing;
 * then the command. The shell prints its process id; then exec replaces the
 * shell by the command, which keeps this id. The node may set the size of the
 * terminal only after the command has asked for the size. So the shell sets
 * it first, if the image has stty.
 */
static const char begin_script[] = "echo $$\n"
				   "if [ -r " KUBE_JOB_DIR "/env ]; then\n"
				   "\t. " KUBE_JOB_DIR "/env\n"
				   "\teval \"$" KUBE_OWN_VAR "\"\n"
				   "\tunset " KUBE_OWN_VAR "\n"
				   "fi\n"
				   "[ -z \"$1\" ] || export TERM=\"$1\"\n"
				   "[ -z \"$2\" ] ||\n"
				   "\tstty rows $2 cols $3 2>/dev/null\n"
				   "shift 3\n"
				   "exec \"$@\"\n";

static void command_free(struct kube_command *c)
{
	TAILQ_REMOVE(&c->kube->commands.list, c, of_list);
	if (c->exec)
		kube_exec_close(c->exec);
	event_free(c->hang_up);
	free(c->to.namespace);
	free(c->to.pod);
	free(c->to.container);
	free(c);
}

void kube_command_free_all(struct kube *kube)
{
	while (!TAILQ_EMPTY(&kube->commands.list))
		command_free(TAILQ_FIRST(&kube->commands.list));
}

/* --- output of the command ------------------------------------------------ */

/* Read the first line of output, which is the process id of the command. Any
 * other first line is passed on as output. Returns what follows the line, and
 * sets *len to its length. */
static const char *take_line(struct kube_command *c, const char *at,
                             size_t *len)
{
	const char *end;

	while (*len && !c->known) {
		c->line[c->nline++] = *at++;
		--*len;
		c->known = at[-1] == '\n' || c->nline == sizeof(c->line);
	}
	if (!c->known)
		return at;
	end = memchr(c->line, '\n', c->nline);
	if (end && isdigit((unsigned char)*c->line))
		c->pid = strtol(c->line, NULL, 10);
	else
		c->base.ops->output(1, c->line, c->nline, c->base.arg);
	return at;
}

/* End the command of a user who has left: the cluster itself ends only commands
 * that have a terminal. While the process id is not known, the command
 * cannot be ended, so allow more time for the line with the id to arrive. */
static void end_it(struct kube_command *c)
{
	int64_t ms = c->kube->commands.hang_up_ms;

	ms = ms ? ms : 1000 * (c->known ? HANG_UP_S : BEGIN_S);
	event_add(c->hang_up, &(struct timeval){ .tv_sec = ms / 1000,
	                                         .tv_usec = ms % 1000 * 1000 });
	c->endings++;
	c->unsent =
	    c->pid > 0 && !kube_signal_session(c->kube, &c->to, c->pid, 0);
}

/* Tell the user that input is accepted, but not before the process id of the
 * command is known: without it the command could not be signalled. */
static void tell_room(const struct kube_command *c)
{
	if (c->open && c->known)
		c->base.ops->drained(c->base.arg);
}

static void on_output(int stream, const void *data, size_t len, void *arg)
{
	struct kube_command *c = arg;
	const char *at = data;

	if (stream == 1 && !c->known) {
		at = take_line(c, at, &len);
		tell_room(c);
		if (c->known && c->left)
			end_it(c);
	}
	if (len)
		c->base.ops->output(stream, at, len, c->base.arg);
}

/* Send the size of the terminal if the connection has room. Until then only the
 * last size is kept. */
static void tell_size(struct kube_command *c)
{
	if (!c->open || !c->rows || kube_exec_is_full(c->exec))
		return;
	kube_exec_resize(c->exec, c->rows, c->columns);
	c->rows = 0;
}

static void on_drained(void *arg)
{
	struct kube_command *c = arg;

	c->open = true;
	tell_size(c);
	tell_room(c);
}

static void on_end(int status, const struct err *err, void *arg)
{
	struct kube_command *c = arg;
	const struct run_exec_ops *ops = c->base.ops;
	void *to = c->base.arg;

	c->exec = NULL;
	command_free(c);
	ops->end(status, err, to);
}

/* Give up waiting for the end of a command whose user has left: a node may not
 * report the end while there is input that the command has not read. If too
 * many signals waited, try to end it again. */
static void on_hang_up(evutil_socket_t fd, short what, void *arg)
{
	struct kube_command *c = arg;
	struct err err;

	(void)fd, (void)what;
	if (c->unsent && c->endings < ENDINGS) {
		end_it(c);
		return;
	}
	kube_exec_close(c->exec);
	err_set(&err, ETIMEDOUT, "its end is not known");
	on_end(-1, &err, c);
}

/* --- requests of the user ------------------------------------------------- */

static void begin(struct kube_command *c, const struct run_exec_wish *wish)
{
	static const struct kube_exec_ops ops = { on_output, on_drained,
		                                  on_end };
	char rows[8] = "", columns[8] = "";
	const char *const head[] = {
		"sh", "-c",   begin_script, "sh", wish->term ? wish->term : "",
		rows, columns
	};
	size_t n = 0;
	const char **argv;

	if (c->rows) {
		snprintf(rows, sizeof(rows), "%u", c->rows);
		snprintf(columns, sizeof(columns), "%u", c->columns);
	}
	while (wish->argv[n])
		n++;
	argv = xcalloc(ARRAY_SIZE(head) + n + 1, sizeof(*argv));
	memcpy(argv, head, sizeof(head));
	memcpy(argv + ARRAY_SIZE(head), wish->argv, n * sizeof(*argv));
	c->exec = kube_exec_open(
	    c->kube,
	    &(struct kube_exec_wish){ .namespace = c->to.namespace,
	                              .pod = c->to.pod,
	                              .container = c->to.container,
	                              .argv = argv,
	                              .input = !wish->no_input,
	                              .tty = wish->tty },
	    &ops, c);
	free(argv);
}

static struct run_exec *command_open(struct runner *r,
                                     const struct run_exec_wish *wish,
                                     const struct run_exec_ops *ops, void *arg,
                                     struct err *err)
{
	struct kube *kube = kube_of(r);
	const struct kube_pod *pod = kube_log_pod_of(kube, wish);
	struct kube_command *c;

	if (!pod) {
		err_set(err, ENOENT, "no task %" PRIu32 " of the job runs",
		        wish->task);
		return NULL;
	}
	c = xcalloc(1, sizeof(*c));
	c->kube = kube;
	c->base.ops = ops;
	c->base.arg = arg;
	c->ended = wish->no_input;
	c->hang_up = evtimer_new(kube->base, on_hang_up, c);
	c->to = (struct kube_signal_to){ .job = wish->job,
		                         .attempt = wish->attempt,
		                         .user = wish->user,
		                         .namespace = xstrdup(pod->namespace),
		                         .pod = xstrdup(pod->name),
		                         .container = xstrdup(pod->container) };
	if (wish->tty && wish->columns) {
		c->rows = wish->rows;
		c->columns = wish->columns;
	}
	TAILQ_INSERT_TAIL(&kube->commands.list, c, of_list);
	begin(c, wish);
	return &c->base;
}

static void command_close(struct run_exec *exec)
{
	struct kube_command *c = (void *)exec;

	c->left = true;
	end_it(c);
	kube_exec_pause(c->exec, false);
}

static void command_input(struct run_exec *exec, const void *data, size_t len)
{
	struct kube_command *c = (void *)exec;

	if (!c->ended)
		kube_exec_input(c->exec, data, len);
}

static void command_end_input(struct run_exec *exec)
{
	struct kube_command *c = (void *)exec;

	if (!c->ended)
		kube_exec_end_input(c->exec);
	c->ended = true;
}

static void command_resize(struct run_exec *exec, uint16_t rows,
                           uint16_t columns)
{
	struct kube_command *c = (void *)exec;

	c->rows = rows;
	c->columns = columns;
	tell_size(c);
}

static void command_signal(struct run_exec *exec, int signo)
{
	struct kube_command *c = (void *)exec;

	static const char why[] =
	    "the signal is not sent: too many are on their way\n";

	if (c->pid > 0 && !kube_signal_session(c->kube, &c->to, c->pid, signo))
		c->base.ops->output(2, why, sizeof(why) - 1, c->base.arg);
}

static bool command_is_full(const struct run_exec *exec)
{
	const struct kube_command *c = (const void *)exec;

	return kube_exec_is_full(c->exec);
}

static void command_pause(struct run_exec *exec, bool pause)
{
	struct kube_command *c = (void *)exec;

	kube_exec_pause(c->exec, pause);
}

const struct runner_exec kube_command_calls = {
	.open = command_open,
	.close = command_close,
	.input = command_input,
	.end_input = command_end_input,
	.resize = command_resize,
	.signal = command_signal,
	.is_full = command_is_full,
	.pause = command_pause,
};
