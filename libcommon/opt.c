/* opt.c - parse command lines by a table */
#include "libcommon/opt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"

/* The column where help texts begin. If an option is too long for that, its
 * help text is on the next line. */
enum { HELP_COLUMN = 32 };

int opt_set_text(void *ctx, const struct opt *opt, const char *value,
                 struct err *err)
{
	(void)err;
	*(const char **)((char *)ctx + opt->offset) = value;
	return 0;
}

int opt_set_true(void *ctx, const struct opt *opt, const char *value,
                 struct err *err)
{
	(void)value, (void)err;
	*(bool *)((char *)ctx + opt->offset) = true;
	return 0;
}

static bool opt_is_end(const struct opt *opt)
{
	return !opt->name && !opt->letter;
}

/* Options of every program; opt_parse() acts on them itself. */
static const struct opt common[] = {
	{ .name = "help", .help = "show this help and exit" },
	{ .name = "version", .help = "show the version and exit" },
	OPT_END,
};

/* Append an option and its placeholder, as "-o, --output=FILE". */
static void put_option(struct buf *out, const struct opt *opt)
{
	if (opt->letter)
		buf_printf(out, "  -%c%s", opt->letter, opt->name ? ", " : "");
	else
		buf_puts(out, "      ");
	if (opt->name)
		buf_printf(out, "--%s", opt->name);
	if (!opt->arg)
		return;
	if (opt->optional)
		buf_printf(out, opt->name ? "[=%s]" : "[%s]", opt->arg);
	else
		buf_printf(out, opt->name ? "=%s" : " %s", opt->arg);
}

void opt_describe(const struct opt *opt, struct buf *out)
{
	for (; !opt_is_end(opt); opt++) {
		size_t start = out->len;

		if (!opt->help)
			continue;
		put_option(out, opt);
		if (out->len - start > HELP_COLUMN - 2) {
			buf_addc(out, '\n');
			start = out->len;
		}
		while (out->len - start < HELP_COLUMN)
			buf_addc(out, ' ');
		buf_printf(out, "%s\n", opt->help);
	}
}

__attribute__((noreturn)) static void exit_help(const struct opt_prog *prog)
{
	struct buf out = { 0 };

	buf_printf(&out, "Usage: %s %s\n%s\n\n", prog->name, prog->usage,
	           prog->about);
	opt_describe(prog->opts, &out);
	opt_describe(common, &out);
	fputs(out.data, stdout);
	buf_free(&out);
	exit(EXIT_SUCCESS);
}

__attribute__((noreturn)) static void exit_usage(const struct opt_prog *prog,
                                                 const struct err *err)
{
	fprintf(stderr, "%s: %s\nTry '%s --help'.\n", prog->name, err->text,
	        prog->name);
	exit(EXIT_USAGE);
}

/* Call the set function of an option; errors are prefixed with the
 * option's name. */
static int apply(const struct opt *opt, void *ctx, const char *value,
                 struct err *err)
{
	const char letter[2] = { opt->letter };
	const char *dashes = opt->name ? "--" : "-";
	const char *name = opt->name ? opt->name : letter;

	if (opt->arg && !opt->optional && !value)
		return err_set(err, EINVAL, "option '%s%s' needs a value",
		               dashes, name);
	if (!opt->arg && value)
		return err_set(err, EINVAL, "option '%s%s' takes no value",
		               dashes, name);
	if (opt->set(ctx, opt, value, err) < 0)
		return err_wrap(err, "%s%s", dashes, name);
	return 0;
}

static const struct opt *find_letter(const struct opt *opt, char letter)
{
	for (; !opt_is_end(opt); opt++)
		if (opt->letter == letter)
			return opt;
	return NULL;
}

const struct opt *opt_find(const struct opt *opts, const char *name)
{
	for (const struct opt *opt = opts; !opt_is_end(opt); opt++)
		if (opt->name && !strcmp(opt->name, name))
			return opt;
	return *name && !name[1] ? find_letter(opts, *name) : NULL;
}

int opt_apply(const struct opt *opts, void *ctx, const char *name,
              const char *value, struct err *err)
{
	const struct opt *opt = opt_find(opts, name);

	if (!opt)
		return err_set(err, ENOENT, "unknown option '%s%s'",
		               name[0] && name[1] ? "--" : "-", name);
	return apply(opt, ctx, value, err);
}

/* Returns the option whose name is the len bytes of name, or the only one whose
 * name begins with them; else NULL. */
static const struct opt *find_long(const struct opt_prog *prog,
                                   const char *name, size_t len,
                                   struct err *err)
{
	const struct opt *const table[] = { prog->opts, common };
	const struct opt *found = NULL;
	struct buf names = { 0 };
	int n = 0;

	for (size_t t = 0; len && t < ARRAY_SIZE(table); t++) {
		for (const struct opt *o = table[t]; !opt_is_end(o); o++) {
			if (!o->name || strncmp(o->name, name, len))
				continue;
			if (!o->name[len]) {
				buf_free(&names);
				return o;
			}
			buf_printf(&names, "%s--%s", n++ ? ", " : "", o->name);
			found = o;
		}
	}
	if (n > 1)
		err_set(err, EINVAL, "option '--%.*s' is ambiguous: %s",
		        (int)len, name, names.data);
	else if (!n)
		err_set(err, EINVAL, "unknown option '--%.*s'", (int)len, name);
	buf_free(&names);
	return n == 1 ? found : NULL;
}

/*
 * Parse and set "--name" or "--name=value", given without the dashes. `next` is
 * the following argument, or NULL; *ret_used_next becomes true if this argument
 * is the value.
 */
static int take_long(const struct opt_prog *prog, void *ctx, const char *text,
                     const char *next, bool *ret_used_next, struct err *err)
{
	size_t len = strcspn(text, "=");
	const char *value = text[len] ? text + len + 1 : NULL;
	const struct opt *opt = find_long(prog, text, len, err);

	if (!opt)
		return -1;
	if (opt == &common[0] && !value)
		exit_help(prog);
	if (opt == &common[1] && !value) {
		printf("%s %s\n", prog->name, PACKAGE_VERSION);
		exit(EXIT_SUCCESS);
	}
	if (opt->arg && !opt->optional && !value) {
		value = next;
		*ret_used_next = next != NULL;
	}
	return apply(opt, ctx, value, err);
}

/* Parse and set options given as "abc", three letters without values, or
 * "ofile", a letter with its value. */
static int take_letters(const struct opt_prog *prog, void *ctx,
                        const char *text, const char *next, bool *ret_used_next,
                        struct err *err)
{
	for (; *text; text++) {
		const struct opt *opt = find_letter(prog->opts, *text);
		const char *value = NULL;

		if (!opt)
			return err_set(err, EINVAL, "unknown option '-%c'",
			               *text);
		if (!opt->arg) {
			if (apply(opt, ctx, NULL, err) < 0)
				return -1;
			continue;
		}
		if (text[1]) {
			value = text + 1;
		} else if (!opt->optional) {
			value = next;
			*ret_used_next = next != NULL;
		}
		return apply(opt, ctx, value, err);
	}
	return 0;
}

int opt_parse(const struct opt_prog *prog, void *ctx, int argc, char **argv)
{
	char **operand = xcalloc((size_t)argc + 1, sizeof(*operand));
	int noperands = 0, kept = 1;
	bool ended = false;

	for (int i = 1; i < argc; i++) {
		char *arg = argv[i];
		const char *next = i + 1 < argc ? argv[i + 1] : NULL;
		bool used_next = false;
		struct err err;
		int rc;

		if (ended || arg[0] != '-' || !arg[1]) {
			operand[noperands++] = arg;
			ended = ended || prog->stop_at_operand;
			continue;
		}
		argv[kept++] = arg;
		if (!strcmp(arg, "--")) {
			ended = true;
			continue;
		}
		if (arg[1] == '-')
			rc = take_long(prog, ctx, arg + 2, next, &used_next,
			               &err);
		else
			rc = take_letters(prog, ctx, arg + 1, next, &used_next,
			                  &err);
		if (rc < 0)
			exit_usage(prog, &err);
		if (used_next)
			argv[kept++] = argv[++i];
	}
	if (noperands)
		memcpy(argv + kept, operand,
		       (size_t)noperands * sizeof(*operand));
	free(operand);
	return kept;
}
