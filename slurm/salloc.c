/* salloc.c - hold an allocation while a command runs here */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/alloc.h"

enum { STATUS_USAGE = 255 };

struct salloc {
	struct sbatch sbatch; /* first: sbatch's options write to it */
	bool no_shell;
	int64_t immediate_s; /* as in alloc_make() */
	int kill; /* signal to the command when the allocation is revoked; 0:
	             none */
};

/* --- options -------------------------------------------------------------- */

static int set_kill(void *ctx, const struct opt *opt, const char *value,
                    struct err *err)
{
	struct salloc *s = ctx;

	(void)opt;
	s->kill = SIGTERM;
	return value ? parse_signal(value, &s->kill, err) : 0;
}

static int set_immediate(void *ctx, const struct opt *opt, const char *value,
                         struct err *err)
{
	(void)opt;
	return sbatch_parse_immediate(
	    value, &((struct salloc *)ctx)->immediate_s, err);
}

#define IGNORED(letter, name, arg)                             \
	{                                                      \
		letter, name, arg, NULL, .set = command_ignore \
	}

/* clang-format off */
static const struct opt own[] = {
	{ 'I', "immediate", "SECONDS", "give it up if it cannot start", set_immediate, .optional = true },
	{ 'K', "kill-command", "SIG", "signal for the command when the job is revoked", set_kill, .optional = true },
	{ 0, "no-shell", NULL, "keep the allocation, and run nothing", opt_set_true, .offset = offsetof(struct salloc, no_shell) },
	IGNORED(0, "bell", NULL), IGNORED(0, "no-bell", NULL),
	{ 'W', "wait", "SECONDS", NULL, .set = command_ignore },
	IGNORED(0, "x11", NULL),
};
/* clang-format on */

/* Options of sbatch about its script, which salloc lacks. */
static const char *const of_scripts[] = {
	"array",     "error",      "export",    "export-file", "ignore-pbs",
	"input",     "no-requeue", "open-mode", "output",      "parsable",
	"propagate", "requeue",    "test-only", "wait",        "wrap",
};

static bool is_of_scripts(const struct opt *opt)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_scripts); i++)
		if (!strcmp(opt->name, of_scripts[i]))
			return true;
	return false;
}

/* Returns a table of sbatch's and salloc's options, which the caller frees. */
static struct opt *make_options(void)
{
	const struct opt *opt;
	struct opt *all;
	size_t n = ARRAY_SIZE(own);

	for (opt = sbatch_line.opts; opt->name; opt++)
		n++;
	all = xcalloc(n + 1, sizeof(*all));
	memcpy(all, own, sizeof(own));
	n = ARRAY_SIZE(own);
	for (opt = sbatch_line.opts; opt->name; opt++)
		if (!is_of_scripts(opt))
			all[n++] = *opt;
	return all;
}

/* --- the command ---------------------------------------------------------- */

static pid_t start(char **argv)
{
	pid_t pid = fork();
	sigset_t none;

	if (pid < 0)
		command_error("cannot start a process: %s", strerror(errno));
	if (pid != 0)
		return pid;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	if (errno == ENOENT || errno == EACCES || errno == ENOTDIR)
		command_error("_fork_command: Unable to find command \"%s\"",
		              argv[0]);
	else
		command_error("Unable to exec command \"%s\": %s", argv[0],
		              strerror(errno));
	_exit(EXIT_FAILURE);
}

/* Block signals and return a signalfd for them. SIGINT and SIGQUIT from the
 * terminal reach the command directly. */
static int take_signals(void)
{
	static const int taken[] = { SIGCHLD, SIGTERM, SIGHUP, SIGINT,
		                     SIGQUIT, SIGUSR1, SIGUSR2 };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void pass_on(int signals, pid_t pid)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP)
		kill(pid, (int)info.ssi_signo);
}

static void revoked(const struct salloc *s, struct held_job *a, pid_t pid)
{
	fprintf(stderr, "salloc: Job allocation %lld has been revoked.\n",
	        a->id);
	close(a->conn);
	a->conn = -1;
	if (s->kill)
		kill(pid, s->kill);
	kill(pid, SIGCONT);
}

/* Returns salloc's exit status for the command's wait status. As in Slurm, a
 * command ended by SIGINT and the like has not failed. */
static int status_of(int status)
{
	static const int usual[] = { SIGHUP, SIGINT, SIGQUIT, SIGKILL };

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
		if (WTERMSIG(status) == usual[i])
			return EXIT_SUCCESS;
	return EXIT_FAILURE;
}

static int run(const struct salloc *s, struct held_job *a, char **argv)
{
	int signals = take_signals(), status;
	pid_t pid = start(argv);

	if (pid < 0)
		return EXIT_FAILURE;
	while (waitpid(pid, &status, WNOHANG) == 0) {
		struct pollfd p[] = {
			{ .fd = signals, .events = POLLIN },
			{ .fd = a->conn, .events = POLLIN },
		};

		if (poll(p, ARRAY_SIZE(p), -1) <= 0)
			continue;
		if (p[0].revents)
			pass_on(signals, pid);
		if (p[1].revents && !held_job_hear(a))
			revoked(s, a, pid);
	}
	return status_of(status);
}

static int hold(const struct salloc *s, struct held_job *a, char **argv)
{
	const char *shell = getenv("SHELL");
	char *login[] = { xstrdup(shell && *shell ? shell : "/bin/sh"), NULL };
	int status = run(s, a, *argv ? argv : login);

	free(login[0]);
	if (a->conn >= 0 && !s->sbatch.submit.quiet)
		fprintf(stderr, "salloc: Relinquishing job allocation %lld\n",
		        a->id);
	held_job_end(a, status);
	return status;
}

static int check(const struct salloc *s, struct err *err)
{
	if (s->sbatch.clusters) {
		struct client *client = command_connect(err);
		int rc = client ? command_check_clusters(
				      client, s->sbatch.clusters, err)
		                : -1;

		client_close(client);
		return rc;
	}
	return 0;
}

int salloc_main(int argc, char **argv)
{
	struct buf warnings = { 0 };
	struct arena *arena = arena_new();
	struct salloc s = { .immediate_s = SBATCH_PATIENT };
	struct opt *opts = make_options();
	const struct command_line line = {
		.name = "salloc",
		.usage = "[OPTION]... [COMMAND [ARG]...]",
		.opts = opts,
		.env = "SALLOC_",
		.usage_status = STATUS_USAGE,
		.stop_at_operand = true,
		.apply = sbatch_apply,
	};
	struct held_job a;
	struct err err;
	int first, status = EXIT_FAILURE;

	json_object_seed(1); /* a fixed seed is safe: the keys are our own */
	sbatch_init(&s.sbatch, arena, &warnings);
	first = command_parse(&line, &s, argc, argv);
	if (s.sbatch.verbose && warnings.len)
		fputs(warnings.data, stderr);
	if (check(&s, &err) < 0)
		command_error("%s", err.text);
	else
		status = alloc_make(&s.sbatch, s.no_shell, s.immediate_s, &a);
	if (status == EXIT_SUCCESS && s.no_shell)
		held_job_end(&a, 0);
	else if (status == EXIT_SUCCESS)
		status = hold(&s, &a, argv + first);
	json_decref(s.sbatch.clusters);
	buf_free(&warnings);
	arena_free(arena);
	free(opts);
	return status;
}
