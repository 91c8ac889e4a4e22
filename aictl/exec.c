/* exec.c - run a command in a running job */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aictl/command.h"
#include "libcommon/client/exec.h"
#include "libcommon/client/relay.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

const struct opt exec_opts[] = { { 't', "tty", NULL, "on a terminal of its own",
	                           opt_set_true,
	                           .offset = offsetof(struct ctl, tty) },
	                         OPT_END };

int take_rank(char *id, int64_t *ret_rank, struct err *err)
{
	char *dot = strrchr(id, '.');

	if (!dot)
		return 0;
	*dot = '\0';
	return parse_int(dot + 1, 0, INT32_MAX, ret_rank, err);
}

/* Returns the descriptor for the command's stdin: our own or, if aictl reads a
 * script from there, /dev/null. */
static int open_input(const struct ctl *ctl)
{
	return ctl->line ? open("/dev/null", O_RDONLY | O_CLOEXEC)
	                 : STDIN_FILENO;
}

static int run_relay(struct ctl *ctl, const char *job, int64_t rank,
                     char **command, struct err *err)
{
	struct relay_wish wish = { .client = ctl->client,
		                   .address = ctl->socket,
		                   .job = job,
		                   .task = rank,
		                   .input = open_input(ctl),
		                   .tty = ctl->tty && !ctl->line };
	int status = relay_run(&wish, command, err);

	if (wish.input != STDIN_FILENO && wish.input >= 0)
		close(wish.input);
	return status;
}

static int run(struct ctl *ctl, const json_t *answer, int64_t rank,
               char **command, struct err *err)
{
	const char *node = json_string_value(json_object_get(answer, "node"));
	const char *path = json_string_value(json_object_get(answer, "socket"));
	const json_t *uid = json_object_get(answer, "uid");
	struct exec exec = { .socket = path ? path : "/",
		             .rank = rank,
		             .input = open_input(ctl),
		             .tty = ctl->tty && !ctl->line,
		             .foreign = json_integer_value(uid) !=
		                        (json_int_t)geteuid() };
	int status = exec_run(&exec, command, err);

	if (status < 0 && err->code == ENOENT)
		err_wrap(err,
		         "the job has just ended, or node '%s' is another "
		         "machine: run aictl there",
		         node ? node : "?");
	if (exec.input != STDIN_FILENO && exec.input >= 0)
		close(exec.input);
	return status;
}

int run_exec(struct ctl *ctl, int argc, char **argv)
{
	char *id = xstrdup(argv[1]);
	json_t *req = NULL, *answer = NULL;
	int status = -1;
	int64_t rank = 0;
	struct err why;

	argv[argc] = NULL; /* argv got shorter when options were removed */
	if (take_rank(id, &rank, &why) == 0) {
		req = json_pack("{s:s, s:s}", "op", "exec", "id", id);
		if (!req)
			err_set(&why, EINVAL, "'%s' is not UTF-8", id);
	}
	if (req)
		answer = ctl_call(ctl, req, NULL, NULL, &why);
	if (answer && json_is_true(json_object_get(answer, "relay"))) {
		status = run_relay(ctl, id, rank, argv + 2, &why);
		json_decref(answer);
		answer = NULL;
	}
	/* The daemon closes idle connections, and the command may run
	 * for long. */
	ctl_disconnect(ctl);
	if (answer)
		status = run(ctl, answer, rank, argv + 2, &why);
	if (status < 0)
		ctl_warn(ctl, "%s", why.text);
	json_decref(req);
	json_decref(answer);
	free(id);
	return status < 0 ? EXIT_FAILURE : status;
}
