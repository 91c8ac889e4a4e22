/* conf_build.c - build any section of struct conf from the tree that
 * conf_read() returns */
#include "libcommon/conf/conf_build.h"

#include <stdarg.h>
#include <stdio.h>

enum { MAX_LABEL = 300 };

int build_fail(struct conf_build *b, const struct conf_value *at,
               const char *fmt, ...)
{
	char what[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return err_set(b->err, EINVAL, "%s:%d: %s", at->file, at->line, what);
}

void build_warn(struct conf_build *b, const struct conf_value *at,
                const char *fmt, ...)
{
	char what[300];
	va_list ap;

	if (!b->warnings)
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	buf_printf(b->warnings, "%s:%d: %s\n", at->file, at->line, what);
}

size_t build_count(struct conf_build *b, const char *name)
{
	return cfg_opt_size(cfg_getopt(b->top, name));
}

cfg_t *build_section(struct conf_build *b, const char *name, size_t i)
{
	return cfg_opt_getnsec(cfg_getopt(b->top, name), (unsigned)i);
}

const struct conf_value *build_place(cfg_t *section, const char *key)
{
	cfg_opt_t *opt = cfg_getopt(section, key);

	return cfg_opt_size(opt) ? conf_value(opt, 0) : conf_place(section);
}

static int set_key(struct conf_build *b, const char *label,
                   const struct conf_key *key, cfg_opt_t *opt,
                   const struct conf_value *section, void *base)
{
	unsigned n = cfg_opt_size(opt);
	const struct conf_value *at = n ? conf_value(opt, 0) : section;
	const char **text = arena_array(b->conf->arena, const char *, n);

	for (unsigned i = 0; i < n; i++)
		text[i] = conf_value(opt, i)->text;
	if (key_set(key, base, text, n, b->conf, b->conf->arena, b->err) < 0)
		return err_wrap(b->err, "%s:%d: %s%s", at->file, at->line,
		                label, key->name);
	return 0;
}

static int set_keys(struct conf_build *b, const char *label,
                    const struct conf_key_table *table, cfg_t *section,
                    void *base);

static int set_group(struct conf_build *b, const char *label,
                     const struct conf_key *key, cfg_opt_t *opt, void *base)
{
	unsigned n = cfg_opt_size(opt);
	char inner[MAX_LABEL];
	cfg_t *group;

	if (n == 0)
		return 0;
	group = cfg_opt_getnsec(opt, n - 1);
	if (n > 1)
		return build_fail(b, conf_place(group), "%s%s is given twice",
		                  label, key->name);
	snprintf(inner, sizeof(inner), "%s%s.", label, key->name);
	return set_keys(b, inner, key->table, group,
	                (char *)base + key->offset);
}

static int set_keys(struct conf_build *b, const char *label,
                    const struct conf_key_table *table, cfg_t *section,
                    void *base)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct conf_key *key = &table->key[i];
		cfg_opt_t *opt = conf_option(section, i);
		int status = 0;

		if (key->kind == KEY_GROUP)
			status = set_group(b, label, key, opt, base);
		else if (key->kind < KEY_PARENT && conf_is_given(opt))
			status = set_key(b, label, key, opt,
			                 conf_place(section), base);
		if (status < 0)
			return -1;
	}
	return 0;
}

void build_defaults(struct conf_build *b, const char *what, void *base)
{
	key_set_defaults(conf_keys_of(what), base, b->conf, b->conf->arena);
}

int build_keys(struct conf_build *b, const char *what, cfg_t *section,
               void *base)
{
	char label[MAX_LABEL] = "";

	if (what)
		snprintf(label, sizeof(label), "%s '%s': ", what,
		         cfg_title(section));
	return set_keys(b, label, conf_keys_of(what), section, base);
}

const char *build_name(struct conf_build *b, const char *what, cfg_t *section)
{
	const struct conf_value *at = conf_place(section);

	if (conf_check_name(cfg_title(section), b->err) < 0) {
		err_wrap(b->err, "%s:%d: %s", at->file, at->line, what);
		return NULL;
	}
	return arena_strdup(b->conf->arena, cfg_title(section));
}
