/* prompt.c - commands typed at a prompt: readline, history, completion */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
/* readline's headers need <stdio.h> */
#include <readline/history.h>
#include <readline/readline.h>

#include "aictl/aictl.h"
#include "aictl/command.h"
#include "aictl/words.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

enum { HISTORY_LINES = 1000, CACHE_S = 5 };

/* Names last received from the daemon. They are kept for some seconds, because
 * Tab is often pressed twice. */
struct cache {
	struct ctl *ctl;
	enum words_kind kind;
	time_t asked;     /* 0: never */
	struct buf names; /* one name a line */
};

static struct cache cache; /* readline's callbacks have no argument */

static int add_part(const void *data, size_t len, void *arg)
{
	buf_add(arg, data, len);
	return 0;
}

/* Request the names of a kind, for completion; there are none if that fails. */
static void cache_fill(enum words_kind kind)
{
	static const char *const ops[] = { [WORDS_JOBS] = "jobs",
		                           [WORDS_NODES] = "nodes",
		                           [WORDS_QUEUES] = "queues" };
	const char *field = kind == WORDS_JOBS ? "display_id" : "name";
	struct err why;
	json_t *req;

	if (cache.kind == kind && time(NULL) - cache.asked < CACHE_S)
		return;
	buf_clear(&cache.names);
	req = json_pack("{s:s, s:[s], s:s}", "op", ops[kind], "fields", field,
	                "format", "tsv");
	if (kind == WORDS_JOBS)
		json_object_set_new(req, "all", json_true());
	json_decref(ctl_call(cache.ctl, req, add_part, &cache.names, &why));
	json_decref(req);
	cache.kind = kind;
	cache.asked = time(NULL);
}

/* For readline: returns the next name in the cache that begins with text, or
 * the first such name if again is 0; NULL if there is none. */
static char *next_name(const char *text, int again)
{
	static const char *at;
	size_t len = strlen(text), n;
	const char *name;

	if (!again)
		at = cache.names.data;
	while ((name = text_line(&at, &n)))
		if (n >= len && !strncmp(name, text, len))
			return xstrndup(name, n);
	return NULL;
}

static char *next_command(const char *text, int again)
{
	static const struct command *cmd;

	if (!again)
		cmd = commands;
	while (cmd->name) {
		const char *name = cmd++->name;

		if (!strncmp(name, text, strlen(text)))
			return xstrdup(name);
	}
	return NULL;
}

/* Returns a copy of the next word of the list that begins with text, or of the
 * first such word if again is 0; NULL if there is none. */
static char *next_word(const char *const *words, const char *text, int again)
{
	static const char *const *word;

	if (!again)
		word = words;
	while (*word) {
		const char *s = *word++;

		if (!strncmp(s, text, strlen(text)))
			return xstrdup(s);
	}
	return NULL;
}

static char *next_queue_state(const char *text, int again)
{
	static const char *const words[] = { "open", "close", NULL };

	return next_word(words, text, again);
}

static char *next_reserve_verb(const char *text, int again)
{
	static const char *const words[] = { "create", "list", "delete", NULL };

	return next_word(words, text, again);
}

static char *next_cron_verb(const char *text, int again)
{
	static const char *const words[] = {
		"list",   "show", "next",  "pause",  "resume", "delete", "run",
		"update", "edit", "print", "import", "clear",  NULL
	};

	return next_word(words, text, again);
}

static char **complete_operand(const struct command *cmd, size_t at,
                               const char *text)
{
	if (cmd->kind == WORDS_COMMANDS)
		return rl_completion_matches(text, next_command);
	if (cmd->kind == WORDS_QUEUES && at == 1)
		return rl_completion_matches(text, next_queue_state);
	if (cmd->kind == WORDS_RESERVE)
		return at == 1 ? rl_completion_matches(text, next_reserve_verb)
		               : NULL;
	if (cmd->kind == WORDS_CRON)
		return at == 1 ? rl_completion_matches(text, next_cron_verb)
		               : NULL;
	if (cmd->kind == WORDS_NONE)
		return NULL;
	cache_fill(cmd->kind);
	return rl_completion_matches(text, next_name);
}

/* For readline: returns the completions of the word text, which begins at
 * `start` of the line. The words before it decide which names are possible. */
static char **complete(const char *text, int start, int end)
{
	char *line = xstrndup(rl_line_buffer, (size_t)start);
	struct words words = { 0 };
	const struct command *cmd;
	char **matches = NULL;
	struct err why;

	(void)end;
	rl_attempted_completion_over = 1; /* never complete file names */
	if (words_split(&words, line, &why) < 0)
		goto out;
	if (!words.n) {
		matches = rl_completion_matches(text, next_command);
		goto out;
	}
	cmd = command_find(words.word[0]);
	if (cmd)
		matches = complete_operand(cmd, words.n, text);
out:
	words_free(&words);
	free(line);
	return matches;
}

/* Returns the path $XDG_STATE_HOME/aisched/aictl_history after making its
 * folders; NULL if no home is known. */
static char *history_path(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *path;

	if (state && *state == '/')
		path = xasprintf("%s/aisched/aictl_history", state);
	else if (home && *home == '/')
		path = xasprintf("%s/.local/state/aisched/aictl_history", home);
	else
		return NULL;
	for (char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		/* If that fails, writing the file fails, too. */
		mkdir(path, 0700);
		*s = '/';
	}
	return path;
}

static void run_line(struct ctl *ctl, const char *line)
{
	struct words words;
	struct err why;

	if (line[strspn(line, " \t")])
		add_history(line);
	if (words_split(&words, line, &why) < 0) {
		ctl_warn(ctl, "%s", why.text);
		return;
	}
	if (words.n) {
		command_run(ctl, (int)words.n, words.word);
		/* Keep neither connection nor names: the next command may come
		 * hours later, after a restart of the daemon. */
		ctl_disconnect(ctl);
		cache.asked = 0;
	}
	words_free(&words);
}

void prompt_run(struct ctl *ctl)
{
	char *path = history_path(), *line;

	cache.ctl = ctl;
	rl_readline_name = "aictl";
	rl_attempted_completion_function = complete;
	rl_basic_word_break_characters = " \t";
	using_history();
	stifle_history(HISTORY_LINES);
	if (path)
		read_history(path);
	while (!ctl->quit && (line = readline("aictl> "))) {
		run_line(ctl, line);
		free(line);
	}
	if (!ctl->quit)
		putchar('\n'); /* end the line of the prompt */
	if (path)
		write_history(path);
	free(path);
	buf_free(&cache.names);
}
