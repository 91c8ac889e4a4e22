/* aictl - control jobs, queues, nodes and the daemon */
#include "aictl/aictl.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aictl/command.h"
#include "aictl/words.h"
#include "libcommon/mem.h"

/* Run one line of a script; returns the exit status. */
static int run_line(struct ctl *ctl, const char *line)
{
	int status = EXIT_SUCCESS;
	struct words words;
	struct err why;

	if (words_split(&words, line, &why) < 0) {
		ctl_warn(ctl, "%s", why.text);
		return EXIT_FAILURE;
	}
	if (words.n)
		status = command_run(ctl, (int)words.n, words.word);
	words_free(&words);
	return status ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Run the commands on stdin, one a line, until one fails; returns the
 * exit status. */
static int run_script(struct ctl *ctl)
{
	int status = EXIT_SUCCESS;
	char *line = NULL;
	size_t cap = 0;

	while (!status && !ctl->quit && getline(&line, &cap, stdin) >= 0) {
		ctl->line++;
		status = run_line(ctl, line);
	}
	free(line);
	if (ferror(stdin))
		err(EXIT_FAILURE, "stdin");
	return status;
}

int main(int argc, char **argv)
{
	struct opt_prog prog = aictl_prog;
	char *help = commands_help();
	char *about = xasprintf("%s\n\nCommands:\n%.*s", prog.about,
	                        (int)strlen(help) - 1, help);
	struct ctl ctl = { 0 };
	int status = EXIT_SUCCESS, first;

	prog.about = about;
	first = opt_parse(&prog, &ctl, argc, argv);
	free(about);
	free(help);
	if (first < argc)
		status = command_run(&ctl, argc - first, argv + first);
	else if (isatty(STDIN_FILENO))
		prompt_run(&ctl);
	else
		status = run_script(&ctl);
	ctl_disconnect(&ctl);
	if (fflush(stdout) || ferror(stdout))
		err(EXIT_FAILURE, "stdout");
	return status;
}
