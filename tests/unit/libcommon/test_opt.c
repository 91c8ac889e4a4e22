/* test_opt.c - parse command lines by a table */
#include "libcommon/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"
#include "tests/unit/check.h"

struct args {
	const char *output, *colour;
	bool all, wait;
	int64_t tasks;
};

static int set_tasks(void *ctx, const struct opt *opt, const char *value,
                     struct err *err)
{
	struct args *args = ctx;

	(void)opt;
	return parse_int(value, 1, 9, &args->tasks, err);
}

#define AT(member) offsetof(struct args, member)

static const struct opt opts[] = {
	{ 'a', "all", NULL, "jobs of all users", opt_set_true, AT(all), false },
	{ 'o', "output", "FILE", "write to FILE", opt_set_text, AT(output),
	  false },
	{ 'n', "tasks", "N", "how many", set_tasks, 0, false },
	{ 0, "tasks-per-node", "N",
	  "a name so long that its help is on the next line", set_tasks, 0,
	  false },
	{ 0, "ntasks", "N", NULL, set_tasks, 0, false },
	{ 'C', "colour", "WHEN", "colours", opt_set_text, AT(colour), true },
	{ 'w', "wait", NULL, "wait for the end", opt_set_true, AT(wait),
	  false },
	OPT_END,
};

static const struct opt_prog prog = {
	.name = "aitest",
	.usage = "[OPTION]... [JOB]...",
	.about = "Test the options.",
	.opts = opts,
};

static const struct opt_prog stopping = {
	.name = "aitest",
	.usage = "[OPTION]... SCRIPT [ARG]...",
	.about = "Test the options.",
	.opts = opts,
	.stop_at_operand = true,
};

/* Words of a command line; ends with NULL. */
struct line {
	char text[200];
	char *argv[20];
	int argc;
};

static void line_init(struct line *line, const char *text)
{
	char *save;

	snprintf(line->text, sizeof(line->text), "aitest %s", text);
	line->argc = 0;
	for (char *p = strtok_r(line->text, " ", &save); p;
	     p = strtok_r(NULL, " ", &save))
		line->argv[line->argc++] = p;
	line->argv[line->argc] = NULL;
}

static const struct {
	const char *name, *line, *want;
	bool stop;
} lines[] = {
	{ "nothing", "", "", false },
	{ "letters", "-a -w", "all wait", false },
	{ "letters together", "-aw", "all wait", false },
	{ "a value after its letter", "-o x", "output=x", false },
	{ "a value joined to its letter", "-ox", "output=x", false },
	{ "a value at the end of letters", "-awox", "output=x all wait",
	  false },
	{ "a value after letters", "-aw -n 3", "all wait tasks=3", false },
	{ "long names", "--all --output x", "output=x all", false },
	{ "a value joined by =", "--output=x=y", "output=x=y", false },
	{ "an empty value", "--output=", "output=", false },
	{ "a value that looks like an option", "-o --all", "output=--all",
	  false },
	{ "an alias", "--ntasks=2", "tasks=2", false },
	{ "the last one wins", "-n 2 --tasks=3", "tasks=3", false },
	{ "an abbreviation", "--out=x --wa", "output=x wait", false },
	{ "a whole name that begins others", "--tasks 2", "tasks=2", false },
	{ "an optional value", "--colour=always", "colour=always", false },
	{ "an optional value of a letter", "-Calways", "colour=always", false },
	{ "no optional value", "--colour -a", "all", false },
	{ "operands move to the end", "12 -a 13 -o x 14",
	  "output=x all: 12 13 14", false },
	{ "a dash is an operand", "- -a", "all: -", false },
	{ "options end at --", "-a -- -w 12", "all: -w 12", false },
	{ "options end at the script", "-a run.sh -w --help",
	  "all: run.sh -w "
	  "--help",
	  true },
	{ "-- of a script is its own", "run.sh -- -a", ": run.sh -- -a", true },
	{ "-- before the script is not", "-- run.sh -a", ": run.sh -a", true },
};

START_TEST(parsed)
{
	const struct opt_prog *p = lines[_i].stop ? &stopping : &prog;
	struct args args = { 0 };
	struct buf got = { 0 };
	struct line line;
	int first;

	line_init(&line, lines[_i].line);
	first = opt_parse(p, &args, line.argc, line.argv);
	buf_puts(&got, "");
	if (args.output)
		buf_printf(&got, " output=%s", args.output);
	if (args.colour)
		buf_printf(&got, " colour=%s", args.colour);
	buf_puts(&got, args.all ? " all" : "");
	buf_puts(&got, args.wait ? " wait" : "");
	if (args.tasks)
		buf_printf(&got, " tasks=%d", (int)args.tasks);
	for (int i = first; i < line.argc; i++)
		buf_printf(&got, "%s %s", i == first ? ":" : "", line.argv[i]);
	ck_assert_msg(!strcmp(got.data + (*got.data == ' '), lines[_i].want),
	              "%s: got%s", lines[_i].name, got.data);
	buf_free(&got);
}
END_TEST

/* Runs opt_parse() in a process of its own, with stdout and stderr together
 * in *ret_text (freed by the caller); returns its exit status. */
static int run(const char *text, FILE *out)
{
	struct args args = { 0 };
	struct line line;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		dup2(fileno(out), STDOUT_FILENO);
		dup2(fileno(out), STDERR_FILENO);
		line_init(&line, text);
		opt_parse(&prog, &args, line.argc, line.argv);
		_exit(99);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const struct {
	const char *line;
	int status;
	const char *want;
} ends[] = {
	{ "--version", 0, "aitest " PACKAGE_VERSION "\n" },
	{ "--vers", 0, "aitest " PACKAGE_VERSION "\n" },
	{ "--help", 0,
	  "Usage: aitest [OPTION]... [JOB]...\n"
	  "Test the options.\n"
	  "\n"
	  "  -a, --all                     jobs of all users\n"
	  "  -o, --output=FILE             write to FILE\n"
	  "  -n, --tasks=N                 how many\n"
	  "      --tasks-per-node=N        a name so long that its help is on "
	  "the next line\n"
	  "  -C, --colour[=WHEN]           colours\n"
	  "  -w, --wait                    wait for the end\n"
	  "      --help                    show this help and exit\n"
	  "      --version                 show the version and exit\n" },
	{ "--nonsense", 2,
	  "aitest: unknown option '--nonsense'\n"
	  "Try 'aitest --help'.\n" },
	{ "-x", 2,
	  "aitest: unknown option '-x'\n"
	  "Try 'aitest --help'.\n" },
	{ "--=x", 2,
	  "aitest: unknown option '--'\n"
	  "Try 'aitest --help'.\n" },
	{ "--t=2", 2,
	  "aitest: option '--t' is ambiguous: --tasks, --tasks-per-node\n"
	  "Try 'aitest --help'.\n" },
	{ "-a -o", 2,
	  "aitest: option '--output' needs a value\n"
	  "Try 'aitest --help'.\n" },
	{ "--output", 2,
	  "aitest: option '--output' needs a value\n"
	  "Try 'aitest --help'.\n" },
	{ "--all=yes", 2,
	  "aitest: option '--all' takes no value\n"
	  "Try 'aitest --help'.\n" },
	{ "--help=all", 2,
	  "aitest: option '--help' takes no value\n"
	  "Try 'aitest --help'.\n" },
	{ "-n 10", 2,
	  "aitest: --tasks: bad number '10': use a whole number from 1 to 9\n"
	  "Try 'aitest --help'.\n" },
};

START_TEST(ended)
{
	FILE *out = tmpfile();
	char got[2000];
	size_t len;

	ck_assert_int_eq(run(ends[_i].line, out), ends[_i].status);
	rewind(out);
	len = fread(got, 1, sizeof(got) - 1, out);
	got[len] = '\0';
	fclose(out);
	ck_assert_str_eq(got, ends[_i].want);
}
END_TEST

START_TEST(apply_takes_whole_names)
{
	struct args args = { 0 };
	struct err err;

	ck_assert_int_eq(opt_apply(opts, &args, "output", "x", &err), 0);
	ck_assert_str_eq(args.output, "x");
	ck_assert_int_eq(opt_apply(opts, &args, "n", "3", &err), 0);
	ck_assert_int_eq(args.tasks, 3);
	ck_assert_int_eq(opt_apply(opts, &args, "all", NULL, &err), 0);
	ck_assert(args.all);

	ck_assert_int_eq(opt_apply(opts, &args, "outp", "x", &err), -1);
	ck_assert_int_eq(err.code, ENOENT);
	ck_assert_str_eq(err.text, "unknown option '--outp'");
	ck_assert_int_eq(opt_apply(opts, &args, "x", NULL, &err), -1);
	ck_assert_str_eq(err.text, "unknown option '-x'");
	ck_assert_int_eq(opt_apply(opts, &args, "", NULL, &err), -1);
	ck_assert_int_eq(err.code, ENOENT);
	ck_assert_int_eq(opt_apply(opts, &args, "output", NULL, &err), -1);
	ck_assert_int_eq(err.code, EINVAL);
	ck_assert_int_eq(opt_apply(opts, &args, "tasks", "0", &err), -1);
	ck_assert_int_eq(err.code, EINVAL);
	ck_assert_int_eq(args.tasks, 3);
}
END_TEST

SUITE(opt)
{
	tcase_add_loop_test(tc, parsed, 0, ARRAY_SIZE(lines));
	tcase_add_loop_test(tc, ended, 0, ARRAY_SIZE(ends));
	tcase_add_test(tc, apply_takes_whole_names);
}
