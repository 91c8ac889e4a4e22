/* command.c - parse and run a command: its options, help and answer */
#include "aictl/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aictl/aictl.h"
#include "libcommon/buf.h"
#include "libcommon/client/json_out.h"
#include "libcommon/mem.h"

enum { HELP_COLUMN = 32 };

const struct command *command_find(const char *name)
{
	for (const struct command *cmd = commands; cmd->name; cmd++)
		if (!strcmp(cmd->name, name))
			return cmd;
	return NULL;
}

/* --- help -------------------------------------------------------------- */

static void add_command(struct buf *out, const struct command *cmd)
{
	size_t start = out->len;

	buf_printf(out, "  %s %s", cmd->name, cmd->args);
	while (out->len - start < HELP_COLUMN)
		buf_addc(out, ' ');
	buf_printf(out, "%s\n", cmd->help);
}

char *commands_help(void)
{
	struct buf out = { 0 };

	for (const struct command *cmd = commands; cmd->name; cmd++)
		add_command(&out, cmd);
	return buf_take(&out);
}

int command_help(const struct ctl *ctl, const char *name)
{
	const struct command *cmd = command_find(name);
	struct buf out = { 0 };

	if (!cmd) {
		ctl_warn(ctl, "unknown command '%s'; 'help' lists them", name);
		return EXIT_USAGE;
	}
	add_command(&out, cmd);
	if (cmd->opts)
		opt_describe(cmd->opts, &out);
	fputs(out.data, stdout);
	buf_free(&out);
	return EXIT_SUCCESS;
}

/* --- options ----------------------------------------------------------- */

/* Options of every command, which may also be given before its name. */
static const struct opt common_opts[] = {
	{ 0, "json", NULL, "print answers as JSON", opt_set_true,
	  .offset = offsetof(struct ctl, json) },
	OPT_END
};

/*
 * Set the option in `word`. *ret_used becomes true if its value is the word
 * after it, `next`.
 */
static int take_option(struct ctl *ctl, const struct command *cmd,
                       const char *word, const char *next, bool *ret_used,
                       struct err *err)
{
	bool is_long = word[1] == '-';
	const char *start = word + (is_long ? 2 : 1);
	size_t len = is_long ? strcspn(start, "=") : 1;
	char *name = xstrndup(start, len);
	const struct opt *table =
	    cmd->opts && opt_find(cmd->opts, name) ? cmd->opts : common_opts;
	const struct opt *opt = opt_find(table, name);
	const char *value = start[len] ? start + len + is_long : NULL;
	int rc;

	*ret_used = opt && opt->arg && !value && next;
	rc = opt_apply(table, ctl, name, *ret_used ? next : value, err);
	free(name);
	return rc;
}

/* Returns the index of the word at which options end: "--", the beginning of
 * the user's own command, or argc. */
static int options_end(const struct command *cmd, int argc, char **argv)
{
	int operands = 0, i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if ((argv[i][0] != '-' || !argv[i][1]) &&
		    ++operands == cmd->theirs)
			break;
	return i;
}

/* Set all options, and move the operands to the front, behind the command's
 * name. *argc becomes the number of words that remain. */
static int take_options(struct ctl *ctl, const struct command *cmd, int *argc,
                        char **argv, struct err *err)
{
	int kept = 1, end = options_end(cmd, *argc, argv);

	for (int i = 1; i < end; i++) {
		bool used = false;

		if (argv[i][0] != '-' || !argv[i][1]) {
			argv[kept++] = argv[i];
			continue;
		}
		if (take_option(ctl, cmd, argv[i],
		                i + 1 < *argc ? argv[i + 1] : NULL, &used,
		                err) < 0)
			return -1;
		i += used;
	}
	for (int i = end; i < *argc; i++)
		if (i > end || strcmp(argv[i], "--") != 0)
			argv[kept++] = argv[i];
	*argc = kept;
	return 0;
}

static bool wants_help(const struct command *cmd, int argc, char **argv)
{
	int end = options_end(cmd, argc, argv);

	for (int i = 1; i < end; i++)
		if (!strcmp(argv[i], "--help"))
			return true;
	return false;
}

int command_run(struct ctl *ctl, int argc, char **argv)
{
	const struct command *cmd = command_find(argv[0]);
	bool json = ctl->json;
	struct err why;
	int status;

	ctl->reason = NULL;
	ctl->hold = false;
	ctl->tty = false;
	ctl->wait_s = 0;
	memset(&ctl->resv, 0, sizeof(ctl->resv));
	memset(&ctl->cron, 0, sizeof(ctl->cron));
	if (!cmd) {
		ctl_warn(ctl, "unknown command '%s'; 'help' lists them",
		         argv[0]);
		return EXIT_USAGE;
	}
	if (wants_help(cmd, argc, argv))
		return command_help(ctl, cmd->name);
	if (take_options(ctl, cmd, &argc, argv, &why) < 0) {
		ctl_warn(ctl, "%s: %s", cmd->name, why.text);
		return EXIT_USAGE;
	}
	if (argc - 1 < cmd->least || argc - 1 > cmd->most) {
		ctl_warn(ctl, "%s takes %s", cmd->name,
		         *cmd->args ? cmd->args : "no arguments");
		return EXIT_USAGE;
	}
	status = cmd->run(ctl, argc, argv);
	ctl->json = json; /* --json applied to this command only */
	return status;
}

/* --- answers ----------------------------------------------------------- */

void ctl_warn(const struct ctl *ctl, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("aictl: ", stderr);
	if (ctl->line)
		fprintf(stderr, "stdin:%u: ", ctl->line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	putc('\n', stderr);
}

void ctl_disconnect(struct ctl *ctl)
{
	client_close(ctl->client);
	ctl->client = NULL;
}

json_t *ctl_call(struct ctl *ctl, json_t *req, client_part_fn *part, void *arg,
                 struct err *err)
{
	const struct buf none = { 0 };

	return ctl_send(ctl, req, &none, part, arg, err);
}

json_t *ctl_send(struct ctl *ctl, json_t *req, const struct buf *raw,
                 client_part_fn *part, void *arg, struct err *err)
{
	struct err why = { 0 };
	json_t *answer = NULL;

	if (!ctl->client)
		ctl->client = client_open(ctl->socket, &why);
	if (ctl->client)
		answer = client_call(ctl->client, req, raw->data, raw->len,
		                     part, arg, &why);
	if (answer)
		return answer;
	if (why.code == ECONNRESET || why.code == EPROTO)
		ctl_disconnect(ctl);
	*err = why;
	return NULL;
}

json_t *ctl_ask(struct ctl *ctl, json_t *req)
{
	struct err why;
	json_t *answer = ctl_call(ctl, req, NULL, NULL, &why);

	json_decref(req);
	if (!answer) {
		ctl_warn(ctl, "%s", why.text);
		return NULL;
	}
	if (ctl->json) {
		json_out(answer, JSON_COMPACT, stdout);
		putchar('\n');
	}
	return answer;
}

int ctl_finish(struct ctl *ctl, json_t *answer)
{
	const json_t *failed = json_object_get(answer, "failed"), *item;
	int status =
	    answer && !json_array_size(failed) ? EXIT_SUCCESS : EXIT_FAILURE;
	size_t i;

	json_array_foreach(failed, i, item) {
		const char *text =
		    json_string_value(json_object_get(item, "text"));

		ctl_warn(ctl, "%s", text ? text : "the daemon gives no reason");
	}
	json_decref(answer);
	return status;
}
