/* command.c - command lines that behave like Slurm's */
#include "slurm/command.h"

#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"

enum {
	/* what getopt_long() returns for the first option of the table */
	LONG_FIRST = 0x100,
	IS_HELP = 1,
	IS_USAGE,
	IS_VERSION
};

void command_error(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: error: ", command_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int command_ignore(void *ctx, const struct opt *opt, const char *value,
                   struct err *err)
{
	(void)ctx, (void)opt, (void)value, (void)err;
	return 0;
}

int command_add_items(void *ctx, const struct opt *opt, const char *value,
                      struct err *err)
{
	json_t **list = (json_t **)(void *)((char *)ctx + opt->offset);

	if (!*list)
		*list = json_array();
	for (const char *s = value; *s; s += *s == ',') {
		size_t len = strcspn(s, ",");

		if (len && json_array_append_new(*list, json_stringn(s, len)))
			return err_set(err, EINVAL, "'%s' is not UTF-8", value);
		s += len;
	}
	return 0;
}

static bool is_end(const struct opt *opt)
{
	return !opt->name && !opt->letter;
}

__attribute__((noreturn)) static void print_help(const struct command_line *l,
                                                 bool brief)
{
	struct buf text = { 0 };

	buf_printf(&text, "Usage: %s %s\n", l->name, l->usage);
	if (!brief)
		opt_describe(l->opts, &text);
	fputs(text.data, stdout);
	buf_free(&text);
	exit(EXIT_SUCCESS);
}

void command_apply(const struct command_line *line, const struct opt *opt,
                   void *ctx, const char *value)
{
	struct err err;
	int status = line->apply ? line->apply(opt, ctx, value) : 0;

	if (status)
		exit(status);
	if (line->apply || opt->set(ctx, opt, value, &err) == 0)
		return;
	command_error("%s", err.text);
	exit(line->usage_status);
}

/* Whether the name of any environment variable begins with the prefix. Mostly
 * none does, and asking for each option takes ten times as long. */
static bool any_variable(const char *prefix)
{
	for (char **env = environ; *env; env++)
		if (!strncmp(*env, prefix, strlen(prefix)))
			return true;
	return false;
}

/* Set options from environment variables: SQUEUE_STATES is --states,
 * SQUEUE_FORMAT2 is --Format. */
static void take_variables(const struct command_line *line, void *ctx)
{
	if (!any_variable(line->env))
		return;
	for (const struct opt *opt = line->opts; !is_end(opt); opt++) {
		struct buf name = { 0 };
		const char *value;

		if (!opt->name)
			continue;
		buf_puts(&name, line->env);
		for (const char *s = opt->name; *s; s++)
			buf_addc(&name, *s == '-'
			                    ? '_'
			                    : (char)toupper((unsigned char)*s));
		if (isupper((unsigned char)*opt->name))
			buf_addc(&name, '2');
		value = getenv(name.data);
		buf_free(&name);
		if (value && (!opt->arg || *value))
			command_apply(line, opt, ctx, opt->arg ? value : NULL);
	}
}

void command_take_variables(const struct command_line *line,
                            const struct command_variable *special, void *ctx)
{
	take_variables(line, ctx);
	for (; special->name; special++) {
		char *name = xasprintf("%s%s", line->env, special->name);
		const char *value = getenv(name);

		free(name);
		if (value && *value)
			command_apply(line,
			              opt_find(line->opts, special->option),
			              ctx, value);
	}
}

const struct opt *command_find(const struct command_line *line,
                               const char *name)
{
	const struct opt *begins = NULL;
	int n = 0;

	for (const struct opt *opt = line->opts; !is_end(opt); opt++) {
		if (!opt->name || strncmp(opt->name, name, strlen(name)) != 0)
			continue;
		if (!opt->name[strlen(name)])
			return opt;
		begins = opt;
		n++;
	}
	return n == 1 ? begins : NULL;
}

/* The tables for getopt_long(). */
struct getopt_tables {
	struct buf letters;
	struct option *longs;
};

static int takes(const struct opt *opt)
{
	return !opt->arg       ? no_argument
	       : opt->optional ? optional_argument
	                       : required_argument;
}

static void make_tables(const struct command_line *line,
                        struct getopt_tables *t)
{
	static const struct option common[] = {
		{ "help", no_argument, NULL, IS_HELP },
		{ "usage", no_argument, NULL, IS_USAGE },
		{ "version", no_argument, NULL, IS_VERSION },
	};
	size_t n = 0, nlongs = 0;

	while (!is_end(&line->opts[n]))
		n++;
	t->longs = xcalloc(n + ARRAY_SIZE(common) + 1, sizeof(*t->longs));
	buf_puts(&t->letters, line->stop_at_operand ? "+V" : "V");
	for (size_t i = 0; i < n; i++) {
		const struct opt *opt = &line->opts[i];

		if (opt->letter) {
			buf_addc(&t->letters, opt->letter);
			for (int colons = takes(opt); colons > 0; colons--)
				buf_addc(&t->letters, ':');
		}
		if (opt->name)
			t->longs[nlongs++] =
			    (struct option){ opt->name, takes(opt), NULL,
				             LONG_FIRST + (int)i };
	}
	memcpy(t->longs + nlongs, common, sizeof(common));
}

static const struct opt *found(const struct command_line *line, int c)
{
	if (c >= LONG_FIRST)
		return &line->opts[c - LONG_FIRST];
	for (const struct opt *opt = line->opts; !is_end(opt); opt++)
		if (opt->letter == c)
			return opt;
	return NULL;
}

int command_parse(const struct command_line *line, void *ctx, int argc,
                  char **argv)
{
	struct getopt_tables t = { 0 };
	int c;

	if (line->env)
		take_variables(line, ctx);
	make_tables(line, &t);
	while ((c = getopt_long(argc, argv, t.letters.data, t.longs, NULL)) !=
	       -1) {
		if (c == IS_HELP || c == IS_USAGE)
			print_help(line, c == IS_USAGE);
		if (c == IS_VERSION || c == 'V') {
			puts("slurm " SLURM_VERSION);
			exit(EXIT_SUCCESS);
		}
		if (c == '?') {
			fprintf(stderr,
			        "Try \"%s --help\" for more information\n",
			        line->name);
			exit(line->usage_status);
		}
		command_apply(line, found(line, c), ctx, optarg);
	}
	buf_free(&t.letters);
	free(t.longs);
	return optind;
}

struct client *command_connect(struct err *err)
{
	struct client *client = client_open(NULL, err);

	if (!client && err->code == ENOENT)
		err->code = ECONNREFUSED;
	return client;
}

char *command_cluster(struct client *client, struct err *err)
{
	json_t *req = json_pack("{s:s}", "op", "ping");
	json_t *answer = client_call(client, req, NULL, 0, NULL, NULL, err);
	const char *name =
	    json_string_value(json_object_get(answer, "cluster"));
	char *ret = answer ? xstrdup(name ? name : "") : NULL;

	json_decref(req);
	json_decref(answer);
	return ret;
}

int command_check_clusters(struct client *client, const json_t *clusters,
                           struct err *err)
{
	char *own = clusters ? command_cluster(client, err) : NULL;
	const json_t *item;
	int rc = clusters && !own ? -1 : 0;
	size_t i;

	json_array_foreach(clusters, i, item) {
		const char *name = json_string_value(item);

		if (rc < 0 || !strcmp(name, "all") || !strcmp(name, own))
			continue;
		command_error("No cluster '%s' known by database.", name);
		rc = err_set(err, ENOENT,
		             "'%s' can't be reached now, or it is an invalid "
		             "entry for --cluster.  Use 'sacctmgr list "
		             "clusters' to see available clusters.",
		             name);
	}
	free(own);
	return rc;
}

void command_put_date(void)
{
	char text[64];
	time_t now = time(NULL);
	struct tm tm;

	strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y",
	         localtime_r(&now, &tm));
	puts(text);
}
