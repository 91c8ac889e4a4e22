/* srun_programs.c - --multi-prog: a file that says which program each task runs
 */
#include "slurm/srun_programs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/idset.h"
#include "slurm/command.h"

/* An argument of execve() must be shorter than 128 KiB. */
enum { SCRIPT_MAX = 128 * 1024 - 1 };

struct programs {
	const char *file;
	uint32_t tasks;
	struct idset taken; /* tasks that a line has named */
	struct buf script;
};

/* --- words of a line ------------------------------------------------------ */

/* Append a byte to text in single quotes for sh. */
static void put_quoted(char c, struct buf *out)
{
	if (c == '\'')
		buf_puts(out, "'\\''");
	else
		buf_addc(out, c);
}

/* Append what %LETTER becomes in the script. %t becomes $1, the number of the
 * task; %o becomes the task's position among the tasks of its line, which is
 * `before` for task `first`. As in Slurm, other letters become nothing. */
static void put_number(char letter, uint32_t first, uint32_t before,
                       struct buf *out)
{
	if (letter == 't')
		buf_puts(out, "'\"$1\"'");
	else if (letter == 'o')
		buf_printf(out, "'\"$(($1-%u+%u))\"'", first, before);
}

/* Append the next word of a line, quoted for sh. The line may have single
 * quotes and backslashes, which quote; double quotes are plain characters.
 * Returns what follows the word. */
static const char *put_word(const char *s, uint32_t first, uint32_t before,
                            struct buf *out)
{
	bool quoted = false;

	buf_addc(out, '\'');
	for (; *s && (quoted || !isspace((unsigned char)*s)); s++) {
		if (*s == '\'')
			quoted = !quoted;
		else if (*s == '\\' && s[1])
			put_quoted(*++s, out);
		else if (*s == '%' && s[1])
			put_number(*++s, first, before, out);
		else
			put_quoted(*s, out);
	}
	buf_addc(out, '\'');
	return s;
}

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t\r");
}

/* --- lines ---------------------------------------------------------------- */

/* Append the part of the script for the tasks from first to last: it executes
 * the command, or fails if there is no such program. */
static void put_tasks(struct programs *p, uint32_t first, uint32_t last,
                      uint32_t before, const char *command)
{
	struct buf words = { 0 }, program = { 0 };

	put_word(command, first, before, &program);
	for (const char *s = command; *s; s = skip_blanks(s)) {
		buf_addc(&words, ' ');
		s = put_word(s, first, before, &words);
	}
	buf_printf(&p->script,
	           "if [ $1 -ge %u ] && [ $1 -le %u ]; then\n"
	           "command -v -- %s >/dev/null || miss %s\n"
	           "exec%s\nfi\n",
	           first, last, program.data, program.data, words.data);
	buf_free(&words);
	buf_free(&program);
}

/* Append a part of the script for each range of consecutive tasks in the
 * set. */
static void put_set(struct programs *p, const struct idset *set,
                    const char *command)
{
	int64_t id = idset_next(set, -1);
	uint32_t before = 0;

	while (id >= 0 && p->script.len <= SCRIPT_MAX) {
		uint32_t first = (uint32_t)id, last = first;

		while ((id = idset_next(set, last)) == (int64_t)last + 1)
			last++;
		put_tasks(p, first, last, before, command);
		before += last - first + 1;
	}
}

/* Note that a line names these tasks. Returns -1, after printing why, if a task
 * does not exist or already has a line. */
static int take_tasks(struct programs *p, const struct idset *set)
{
	for (int64_t id = idset_next(set, -1); id >= 0;
	     id = idset_next(set, (uint32_t)id)) {
		if (id >= p->tasks)
			command_error("Invalid task id, %lld >= ntasks",
			              (long long)id);
		else if (idset_has(&p->taken, (uint32_t)id))
			command_error("Duplicate record for task %lld",
			              (long long)id);
		if (id >= p->tasks || idset_has(&p->taken, (uint32_t)id))
			return -1;
		idset_add(&p->taken, (uint32_t)id);
	}
	return 0;
}

/* Returns the tasks that no line has named. */
static struct idset others(const struct programs *p)
{
	struct idset set = { 0 };

	for (uint32_t i = 0; i < p->tasks; i++)
		if (!idset_has(&p->taken, i))
			idset_add(&set, i);
	return set;
}

/* Turn a line into a part of the script. For a line "*", sets *rest to its
 * command instead: the part for all other tasks must come last. Returns -1 if
 * the line is not valid. */
static int read_line(struct programs *p, char *line, const char **rest)
{
	struct idset set = { 0 };
	char *tasks = line + strspn(line, " \t\r");
	const char *command = skip_blanks(tasks + strcspn(tasks, " \t\r"));
	int rc;

	if (!*tasks || *tasks == '#')
		return 0;
	tasks[strcspn(tasks, " \t\r")] = '\0';
	if (!*command)
		return -1;
	if (!strcmp(tasks, "*")) {
		*rest = *rest ? *rest : command;
		return 0;
	}
	if (idset_parse(&set, NULL, tasks, NULL) < 0)
		return -1;
	rc = take_tasks(p, &set);
	if (rc == 0)
		put_set(p, &set, command);
	idset_free(&set);
	return rc;
}

/* Cut off and return the next line, joined with the lines that follow a
 * backslash at its end. Adds the number of lines read to *number. */
static char *next_line(char **text, int *number)
{
	char *line = *text, *to = line, *s = line;

	for (; *s && *s != '\n'; s++) {
		if (*s == '\\' && s[1] == '\n') {
			++*number;
			s++;
			continue;
		}
		if (*s == '\\' && s[1])
			*to++ = *s++;
		*to++ = *s;
	}
	++*number;
	*text = *s ? s + 1 : NULL;
	*to = '\0';
	return line;
}

static int too_long(const char *file, struct err *err)
{
	return err_set(err, E2BIG, "Configuration file %s is too long", file);
}

static int read_lines(struct programs *p, char *text, struct err *err)
{
	const char *rest = NULL;
	int number = 0;

	while (text) {
		int first = number + 1;
		char *line = next_line(&text, &number);

		if (read_line(p, line, &rest) < 0)
			return err_set(
			    err, EINVAL,
			    "Line %d of configuration file %s invalid", first,
			    p->file);
		if (p->script.len > SCRIPT_MAX)
			return too_long(p->file, err);
	}
	if (rest) {
		struct idset set = others(p);

		put_set(p, &set, rest);
		idset_free(&set);
	} else if (idset_count(&p->taken) < p->tasks) {
		uint32_t id = 0;

		while (idset_has(&p->taken, id))
			id++;
		return err_set(err, EINVAL,
		               "Configuration file %s invalid, no record for "
		               "task id %u",
		               p->file, id);
	}
	return p->script.len > SCRIPT_MAX ? too_long(p->file, err) : 0;
}

static int read_file(const char *name, struct buf *out, struct err *err)
{
	FILE *file = fopen(name, "re");
	size_t n;

	if (!file)
		return err_set(err, errno,
		               "Could not open multi_prog config file %s",
		               name);
	do {
		n = fread(buf_room(out, BUFSIZ), 1, BUFSIZ, file);
		buf_grew(out, n);
	} while (n && out->len <= SCRIPT_MAX);
	fclose(file);
	if (out->len > SCRIPT_MAX)
		return too_long(name, err);
	buf_addc(out, '\0');
	return 0;
}

char **srun_programs(const char *file, int64_t tasks, struct arena *arena,
                     struct err *err)
{
	struct programs p = { .file = file, .tasks = (uint32_t)tasks };
	struct buf text = { 0 };
	char **argv = NULL;

	buf_puts(&p.script,
	         "set -- \"$SLURM_PROCID\"\n"
	         "miss() { echo \"slurmstepd-$SLURMD_NODENAME: error: "
	         "execve(): $1: No such file or directory\" >&2; exit 2; }\n");
	if (read_file(file, &text, err) == 0 &&
	    read_lines(&p, text.data, err) == 0) {
		argv = arena_array(arena, char *, 4);
		argv[0] = arena_strdup(arena, "sh");
		argv[1] = arena_strdup(arena, "-c");
		argv[2] = arena_strdup(arena, p.script.data);
	}
	buf_free(&text);
	buf_free(&p.script);
	idset_free(&p.taken);
	return argv;
}
