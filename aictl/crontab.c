/* crontab.c - a file of recurring work, as scrontab has it */
#include "aictl/crontab.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "aictl/words.h"
#include "libcommon/clean.h"
#include "libcommon/client/batch.h"
#include "libcommon/export.h"
#include "libcommon/mail.h"
#include "libcommon/mem.h"
#include "libcommon/spec/spec_opt.h"

enum { FIELDS = 5 };

/* State while a file is read. */
struct reading_tab {
	struct crontab *tab;
	const char *name;
	const struct crontab_user *user;
	int64_t now;
	int line;
	struct arena *arena;
	char **env; /* variables NAME=value, NULL at the end */
	size_t nenv, env_cap;
	const char *zone;      /* value of CRON_TZ, or NULL */
	const char *mail_user; /* value of MAILTO, or NULL */
	struct submit options; /* options for the next entry */
	struct buf warnings;
	bool bad_options; /* the options had errors, so skip the next entry */
};

static void fail(struct reading_tab *r, const struct err *err)
{
	struct err clean = *err; /* its text may end within a character */
	size_t len = text_clean(clean.text, strlen(clean.text));

	buf_printf(&r->tab->errors, "%s:%d: %.*s\n", r->name, r->line, (int)len,
	           clean.text);
	json_array_append_new(r->tab->entries,
	                      json_pack("{s:i, s:s%}", "line", r->line, "error",
	                                clean.text, len));
}

static void begin_entry(struct reading_tab *r)
{
	submit_init(&r->options, r->arena, &r->warnings, r->now);
	r->bad_options = false;
}

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* --- variables ---------------------------------------------------------- */

static void set_env(struct reading_tab *r, const char *name, const char *value)
{
	size_t len = strlen(name), i = 0;
	char *text = xasprintf("%s=%s", name, value);

	while (i < r->nenv &&
	       (strncmp(r->env[i], name, len) != 0 || r->env[i][len] != '='))
		i++;
	if (i == r->nenv) {
		r->env = xrealloc(r->env, r->nenv + 2, sizeof(*r->env));
		r->env[++r->nenv] = NULL;
	} else {
		free(r->env[i]);
	}
	r->env[i] = text;
}

static void take_recipient(struct reading_tab *r, const char *value)
{
	struct err err;

	r->mail_user = NULL;
	if (*value && mail_check_address(value, &err) < 0) {
		err_wrap(&err, "MAILTO");
		fail(r, &err);
	} else if (*value) {
		r->mail_user = arena_strdup(r->arena, value);
	}
}

/* Handle a line NAME = value, whose value may be quoted. Returns false if it is
 * no such line. */
static bool take_variable(struct reading_tab *r, const char *line)
{
	size_t len = 0, n;
	const char *value;
	char *name, *copy;

	while (isalnum((unsigned char)line[len]) || line[len] == '_')
		len++;
	value = skip_blanks(line + len);
	if (!len || isdigit((unsigned char)*line) || *value != '=')
		return false;
	value = skip_blanks(value + 1);
	n = strlen(value);
	while (n && (value[n - 1] == ' ' || value[n - 1] == '\t'))
		n--;
	if (n > 1 && strchr("'\"", *value) && value[n - 1] == *value) {
		value++;
		n -= 2;
	}
	name = xstrndup(line, len);
	copy = xstrndup(value, n);
	if (!strcmp(name, "CRON_TZ"))
		r->zone = arena_strdup(r->arena, copy);
	else if (!strcmp(name, "MAILTO"))
		take_recipient(r, copy);
	else
		set_env(r, name, copy);
	free(name);
	free(copy);
	return true;
}

/* --- options ------------------------------------------------------------ */

/* Set the option in word, whose value may be the next word; returns how many
 * words were used, or -1. */
static int take_option(struct reading_tab *r, const char *word,
                       const char *next, struct err *err)
{
	bool is_long = word[1] == '-';
	const char *start = word + (is_long ? 2 : 1), *value = NULL;
	size_t len = is_long ? strcspn(start, "=") : 1;
	char *name = xstrndup(start, len);
	const struct opt *opt = NULL;
	int used = 1;

	if (*word == '-' && *start)
		opt = opt_find(spec_opts, name);
	if (start[0] && start[len])
		value = start + len + is_long;
	if (!opt || (opt->offset == offsetof(struct submit, wrap) && opt->arg &&
	             !strcmp(opt->name, "wrap"))) {
		used = err_set(err, EINVAL, "unknown option '%s'", word);
	} else {
		if (opt->arg && !value && !opt->optional && next) {
			value = next;
			used = 2;
		}
		if (opt_apply(spec_opts, &r->options, opt->name, value, err) <
		    0)
			used = -1;
	}
	free(name);
	return used;
}

static void take_options(struct reading_tab *r, const char *line)
{
	struct words words;
	struct err err;
	int used = 1;

	if (words_split(&words, line, &err) < 0) {
		fail(r, &err);
		r->bad_options = true;
		return;
	}
	for (size_t i = 0; i < words.n; i += (size_t)used) {
		used = take_option(r, words.word[i], words.word[i + 1], &err);
		if (used < 0) {
			fail(r, &err);
			r->bad_options = true;
			break;
		}
	}
	words_free(&words);
}

/* Returns the text behind "#SCRON " or "#AISUB ", or NULL. */
static const char *options_of(const char *line)
{
	if (strncmp(line, "#SCRON", 6) != 0 && strncmp(line, "#AISUB", 6) != 0)
		return NULL;
	return line[6] == ' ' || line[6] == '\t' ? line + 6 : NULL;
}

/* --- entries ------------------------------------------------------------ */

/* Returns the length of the schedule at the beginning of a line. */
static size_t schedule_len(const char *line)
{
	int words = *line != '@' ? FIELDS : !strncmp(line, "@every", 6) ? 2 : 1;
	const char *s = line;

	while (words-- > 0 && *s) {
		s += strcspn(s, " \t");
		if (words)
			s = skip_blanks(s);
	}
	return (size_t)(s - line);
}

/* Returns the command with \% replaced by %, which the caller frees. Fails with
 * EINVAL if it has a % without a backslash. */
static char *command_of(const char *text, struct err *err)
{
	struct buf out = { 0 };

	for (; *text; text++) {
		if (*text == '%') {
			err_set(err, EINVAL,
			        "%% needs a \\ before it: crontab(5) ends the "
			        "command there, scrontab does not");
			buf_free(&out);
			return NULL;
		}
		text += *text == '\\' && text[1] == '%';
		buf_addc(&out, *text);
	}
	return buf_take(&out);
}

/* Set the fields that no option has set. The values depend only on the file and
 * its user, so that importing the same line again, from any session, does not
 * make a second entry. */
static void complete(struct reading_tab *r, const char *command)
{
	struct spec *spec = &r->options.spec;
	char *path;

	if (!spec->name)
		spec->name = "wrap";
	if (!spec->output)
		spec->output = spec->array ? "slurm-%A_%a.out" : "slurm-%j.out";
	if (!spec->mail_user)
		spec->mail_user = r->mail_user;
	spec->umask = 022;
	spec->command = arena_strdup(r->arena, command);
	if (spec->workdir && *spec->workdir == '/')
		return;
	path = spec->workdir ? xasprintf("%s/%s", r->user->home, spec->workdir)
	                     : xstrdup(r->user->home);
	spec->workdir = arena_strdup(r->arena, path);
	free(path);
}

static int check_entry(struct reading_tab *r, const char *schedule,
                       struct err *err)
{
	struct submit_cron *cron = &r->options.cron;
	struct request req;

	if (cron->schedule)
		return err_set(
		    err, EINVAL,
		    "--cron: the schedule stands before the command");
	if (opt_apply(spec_opts, &r->options, "cron", schedule, err) < 0 ||
	    batch_check_cron(&r->options, err) < 0)
		return -1;
	return submit_resolve(&r->options, &req, err);
}

/* Add an entry to tab->entries, and its script and environment to tab->raw. */
static int put_entry(struct reading_tab *r, const char *command,
                     struct err *err)
{
	struct buf *raw = &r->tab->raw;
	size_t start = raw->len, script_len;

	buf_printf(raw, "#!/bin/sh\n%s\n", command);
	script_len = raw->len - start;
	if (export_env(raw, r->options.export_env, r->env, err) < 0) {
		raw->len = start;
		return -1;
	}
	json_array_append_new(
	    r->tab->entries,
	    json_pack("{s:i, s:o, s:o, s:I, s:I}", "line", r->line, "spec",
	              spec_to_json(&r->options.spec), "cron",
	              batch_cron(&r->options.cron), "script_len",
	              (json_int_t)script_len, "env_len",
	              (json_int_t)(raw->len - start - script_len)));
	return 0;
}

static int take_entry(struct reading_tab *r, const char *line, struct err *err)
{
	size_t len = schedule_len(line);
	char *schedule = xstrndup(line, len), *command = NULL;
	const char *rest = skip_blanks(line + len);
	int rc;

	rc = check_entry(r, arena_strdup(r->arena, schedule), err);
	if (rc == 0 && !*rest)
		rc = err_set(err, EINVAL, "there is no command");
	if (rc == 0 && !(command = command_of(rest, err)))
		rc = -1;
	if (rc == 0) {
		if (!r->options.cron.tz)
			r->options.cron.tz = r->zone;
		complete(r, command);
		rc = put_entry(r, command, err);
	}
	free(schedule);
	free(command);
	return rc;
}

static void take_line(struct reading_tab *r, const char *line)
{
	const char *options = options_of(line);
	struct err err;

	if (options) {
		take_options(r, options);
		return;
	}
	line = skip_blanks(line);
	if (!*line || *line == '#' || take_variable(r, line))
		return;
	if (!r->bad_options && take_entry(r, line, &err) < 0)
		fail(r, &err);
	begin_entry(r);
}

static void add_defaults(struct reading_tab *r)
{
	set_env(r, "HOME", r->user->home);
	set_env(r, "LOGNAME", r->user->name);
	set_env(r, "USER", r->user->name);
	set_env(r, "SHELL", "/bin/sh");
	set_env(r, "PATH", "/usr/local/bin:/usr/bin:/bin");
}

static void reading_fini(struct reading_tab *r)
{
	for (size_t i = 0; i < r->nenv; i++)
		free(r->env[i]);
	free(r->env);
	buf_free(&r->warnings);
	arena_free(r->arena);
}

void crontab_read(struct crontab *ret, const char *name, const char *text,
                  size_t len, const struct crontab_user *user, int64_t now)
{
	struct reading_tab r = { .tab = ret,
		                 .name = name,
		                 .user = user,
		                 .now = now,
		                 .arena = arena_new() };
	struct err err;

	*ret = (struct crontab){ .entries = json_array() };
	add_defaults(&r);
	begin_entry(&r);
	for (const char *at = text, *end = text + len; at < end;) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((eol ? eol : end) - at);
		char *line = xstrndup(at, n);
		json_t *utf8 = json_stringn(at, n);

		r.line++;
		if (strlen(line) == n && utf8) {
			take_line(&r, line);
		} else {
			err_set(&err, EINVAL,
			        "not text: it has a zero byte, or is no UTF-8");
			fail(&r, &err);
		}
		json_decref(utf8);
		free(line);
		at += n + 1;
	}
	reading_fini(&r);
}

void crontab_fini(struct crontab *tab)
{
	json_decref(tab->entries);
	buf_free(&tab->raw);
	buf_free(&tab->errors);
}
