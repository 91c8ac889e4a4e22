/* conf_read.c - read a configuration file and its includes as a tree */
#include "libcommon/conf/conf_read.h"

#include <assert.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/conf/conf_text.h"
#include "libcommon/limits.h"

enum {
	KINDS = 6,            /* kinds of sections with titles */
	MAX_DEPTH = 8,        /* nesting of includes */
	MAX_FILES = 1000,     /* files of one configuration */
	MAX_BYTES = 16 << 20, /* of one file */
	/* our flag for an option with a value; libconfuse's flags are
	 * lower bits */
	FLAG_VALUE = 1 << 24,
};

/* All sections of one kind, while they are kept away from libconfuse:
 * see on_section(). */
struct kept {
	cfg_opt_t *opt;
	cfg_value_t **value;
	size_t n, cap;
};

struct reader {
	struct arena *arena;
	const char *file; /* path of the file being read */
	int depth, nfiles;
	struct kept kept[KINDS];
	struct err err; /* error of the step that failed last */
};

static const char unknown[] = "no such option '%s'";

/* The reader for libconfuse's callbacks, which get no argument of ours; NULL if
 * nothing is being read. */
static struct reader *reading;

__attribute__((format(printf, 2, 0))) static void on_error(cfg_t *cfg,
                                                           const char *fmt,
                                                           va_list ap)
{
	char what[300];

	/* libconfuse reports each key of a KEY_FREE section as unknown, and
	 * then accepts it: ignore that. */
	if ((cfg->flags & CFGF_KEYSTRVAL) && !strcmp(fmt, unknown))
		return;
	vsnprintf(what, sizeof(what), fmt, ap);
	err_set(&reading->err, EINVAL, "%s", what);
	if (cfg_title(cfg))
		err_wrap(&reading->err, "%s '%s'", cfg_name(cfg),
		         cfg_title(cfg));
	else if (strcmp(cfg_name(cfg), "root") != 0)
		err_wrap(&reading->err, "%s", cfg_name(cfg));
	err_wrap(&reading->err, "%s:%d", reading->file, cfg->line);
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			return true;
	return false;
}

/* Called by libconfuse for each value: check the value, and store it with its
 * place in the file. cfg_opt_size(opt) already counts this value. */
static int on_value(cfg_t *cfg, cfg_opt_t *opt, const char *text, void *ret)
{
	struct conf_value *value =
	    arena_array(reading->arena, struct conf_value, 1);

	if ((opt->flags & FLAG_VALUE) && cfg_opt_size(opt) == 1) {
		cfg_error(cfg, "%s is given twice", opt->name);
		return -1;
	}
	if (has_control(text)) {
		cfg_error(cfg, "%s: a control character in '%s'", opt->name,
		          text);
		return -1;
	}
	if (strlen(text) > LIMIT_TEXT) {
		cfg_error(cfg, "%s: a text of more than %d bytes", opt->name,
		          LIMIT_TEXT);
		return -1;
	}
	opt->flags |= FLAG_VALUE;
	*value = (struct conf_value){ reading->file, cfg->line,
		                      arena_strdup(reading->arena, text) };
	*(void **)ret = value;
	return 0;
}

/* Returns the content of a file, which the caller frees, or NULL. */
static char *read_file(const char *path, size_t *ret_len, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct buf buf = { 0 };
	struct stat st;
	ssize_t n = -1;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_sys(err, "cannot read '%s'", path);
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(err, EINVAL, "cannot read '%s': not a regular file",
		        path);
		goto out;
	}
	buf_puts(&buf, ""); /* data must not be NULL for an empty file */
	do {
		n = read(fd, buf_room(&buf, 65536), 65536);
		if (n > 0)
			buf_grew(&buf, (size_t)n);
	} while (n > 0 && buf.len <= MAX_BYTES);
	if (n < 0)
		err_sys(err, "cannot read '%s'", path);
	if (n > 0)
		err_set(err, EFBIG, "cannot read '%s': more than %d MiB", path,
		        MAX_BYTES >> 20);
out:
	if (fd >= 0)
		close(fd);
	*ret_len = buf.len;
	if (n == 0)
		return buf_take(&buf);
	buf_free(&buf);
	return NULL;
}

/* Let libconfuse read a text as if it stood at the current place of cfg. */
static int read_text(cfg_t *cfg, const char *file, char *text, size_t len)
{
	const char *was = reading->file;
	int line = cfg->line, status = CFG_SUCCESS;
	FILE *fp;

	if (conf_text_clean(text, len, file, &reading->err) < 0)
		return -1;
	if (!len)
		return 0;
	fp = fmemopen(text, len, "r");
	if (!fp)
		return err_sys(&reading->err, "%s: cannot be read", file);
	reading->file = file;
	status = cfg_parse_fp(cfg, fp);
	if (status != CFG_SUCCESS && !reading->err.code)
		cfg_error(cfg, unknown,
		          ""); /* libconfuse failed without a message */
	reading->file = was;
	cfg->line = line;
	fclose(fp);
	return status == CFG_SUCCESS ? 0 : -1;
}

static int include_file(cfg_t *cfg, const char *path)
{
	size_t len;
	char *text;
	int status;

	if (++reading->nfiles > MAX_FILES) {
		cfg_error(cfg, "more than %d files are included", MAX_FILES);
		return -1;
	}
	text = read_file(path, &len, &reading->err);
	if (!text)
		return err_wrap(&reading->err, "%s:%d", reading->file,
		                cfg->line);
	status = read_text(cfg, arena_strdup(reading->arena, path), text, len);
	free(text);
	return status;
}

/* For glob(): ignore folders that do not exist, and stop at other errors. */
static int on_glob_error(const char *path, int code)
{
	(void)path;
	errno = code;
	return code != ENOENT && code != ENOTDIR;
}

/* Returns the pattern as a path; a relative one is relative to the folder of
 * the file that has the include. */
static char *resolve(const char *pattern)
{
	const char *slash = strrchr(reading->file, '/');

	if (*pattern == '/' || !slash)
		return xstrdup(pattern);
	return xasprintf("%.*s/%s", (int)(slash - reading->file), reading->file,
	                 pattern);
}

static int on_include(cfg_t *cfg, cfg_opt_t *opt, int argc, const char **argv)
{
	char *pattern = argc == 1 ? resolve(argv[0]) : NULL;
	glob_t found = { 0 };
	int status;

	(void)opt;
	assert(pattern); /* ensured by conf_text_clean() */
	if (reading->depth == MAX_DEPTH) {
		cfg_error(cfg, "includes are nested more than %d deep",
		          MAX_DEPTH);
		free(pattern);
		return -1;
	}
	/* With GLOB_NOMAGIC, glob() returns a name without wildcards even if
	 * there is no such file, so that opening it fails. A pattern with
	 * wildcards may match nothing. */
	status = glob(pattern, GLOB_NOMAGIC, on_glob_error, &found);
	if (status && status != GLOB_NOMATCH)
		cfg_error(cfg, "cannot read the folder of '%s': %s", pattern,
		          strerror(errno));
	if (status == GLOB_NOMATCH)
		status = 0;
	reading->depth++;
	for (size_t i = 0; !status && i < found.gl_pathc; i++)
		status = include_file(cfg, found.gl_pathv[i]);
	reading->depth--;
	globfree(&found);
	free(pattern);
	return status;
}

/*
 * Called by libconfuse after each section with a title. libconfuse compares
 * each new title with all earlier ones, which takes minutes for 65,536 nodes:
 * so move the section from libconfuse's option to a list of our own. At the end
 * put_back() moves all sections back to the option.
 */
static int on_section(cfg_t *cfg, cfg_opt_t *opt)
{
	struct kept *kept = reading->kept;

	(void)cfg;
	for (; kept->opt && kept->opt != opt; kept++)
		assert(kept + 1 < reading->kept + KINDS);
	kept->opt = opt;
	kept->value = GROW(kept->value, kept->n, &kept->cap);
	kept->value[kept->n++] = opt->values[0];
	opt->nvalues = 0;
	return 0;
}

static void put_back(struct kept *kept)
{
	cfg_opt_t *opt = kept->opt;

	/* After an error, libconfuse's option may still have an incomplete
	 * section: move it, too. */
	if (opt->nvalues) {
		kept->value = GROW(kept->value, kept->n, &kept->cap);
		kept->value[kept->n++] = opt->values[0];
	}
	free(opt->values);
	opt->values = kept->value;
	opt->nvalues = (unsigned)kept->n;
}

/* Sort pointers into an array of sections by title, equal titles
 * by position. */
static int by_title(const void *a, const void *b)
{
	cfg_value_t *const *x = *(cfg_value_t *const *const *)a;
	cfg_value_t *const *y = *(cfg_value_t *const *const *)b;
	int order = strcmp(cfg_title((*x)->section), cfg_title((*y)->section));

	return order ? order : (x > y) - (x < y);
}

static int check_titles(const struct kept *kept)
{
	cfg_value_t ***sorted = xcalloc(kept->n, sizeof(*sorted));
	cfg_value_t **twice = NULL;

	for (size_t i = 0; i < kept->n; i++)
		sorted[i] = &kept->value[i];
	qsort(sorted, kept->n, sizeof(*sorted), by_title);
	for (size_t i = 1; i < kept->n; i++)
		if (!strcmp(cfg_title((*sorted[i - 1])->section),
		            cfg_title((*sorted[i])->section)) &&
		    (!twice || sorted[i] < twice))
			twice = sorted[i];
	free(sorted);
	if (twice) {
		const struct conf_value *at = conf_place((*twice)->section);

		return err_set(&reading->err, EINVAL,
		               "%s:%d: %s '%s' is declared twice", at->file,
		               at->line, kept->opt->name,
		               cfg_title((*twice)->section));
	}
	return 0;
}

/*
 * Returns libconfuse's options for a table of keys. libconfuse keeps the line
 * where a section ends, but not where it begins. At the beginning, however, it
 * parses the defaults of the section's options: so option 0 has a name that no
 * file can contain, and a default for which on_value() stores the line.
 */
static cfg_opt_t *make_options(const struct conf_key_table *table, bool top)
{
	static char place[] = "here";
	cfg_opt_t *opts = arena_array(reading->arena, cfg_opt_t, table->n + 3);

	*opts = (cfg_opt_t){ .name = " place",
		             .type = CFGT_PTR,
		             .parsecb = on_value,
		             .def.parsed = place };
	for (size_t i = 0; i < table->n; i++) {
		const struct conf_key *key = &table->key[i];
		cfg_opt_t *opt = &opts[i + 1];

		opt->name = key->name;
		opt->type = key->table ? CFGT_SEC : CFGT_PTR;
		if (key->table) {
			opt->flags = CFGF_MULTI;
			opt->subopts = make_options(key->table, false);
		} else {
			opt->parsecb = on_value;
		}
		if (key->kind == KEY_TITLED) {
			opt->flags |= CFGF_TITLE;
			opt->validcb = on_section;
		}
		if (key->kind == KEY_FREE)
			opt->flags |= CFGF_KEYSTRVAL;
		if (key->kind == KEY_LIST || key->kind == KEY_POOLS)
			opt->flags |= CFGF_LIST;
	}
	if (top)
		opts[table->n + 1] = (cfg_opt_t)CFG_FUNC("include", on_include);
	return opts;
}

const struct conf_value *conf_place(cfg_t *section)
{
	return cfg_opt_getnptr(cfg_getnopt(section, 0), 0);
}

cfg_opt_t *conf_option(cfg_t *section, size_t i)
{
	return cfg_getnopt(section, (unsigned)i + 1);
}

const struct conf_value *conf_value(cfg_opt_t *opt, unsigned i)
{
	return cfg_opt_getnptr(opt, i);
}

bool conf_is_given(const cfg_opt_t *opt)
{
	return opt->flags & CFGF_MODIFIED;
}

bool conf_entry(cfg_t *section, size_t i, const char **ret_name,
                const char **ret_text)
{
	cfg_opt_t *opt = cfg_getnopt(section, (unsigned)i + 1);

	if (!opt)
		return false;
	*ret_name = cfg_opt_name(opt);
	*ret_text = cfg_opt_getstr(opt);
	return true;
}

/* Returns the tree of a text, whose comments are overwritten; NULL
 * on failure. */
static cfg_t *read_tree(const char *file, char *text, size_t len)
{
	cfg_t *cfg =
	    cfg_init(make_options(conf_keys_of(NULL), true), CFGF_NONE);
	int status;

	cfg_set_error_function(cfg, on_error);
	status = read_text(cfg, file, text, len);
	for (struct kept *k = reading->kept; k < reading->kept + KINDS; k++) {
		if (!k->opt)
			continue;
		put_back(k);
		if (!status)
			status = check_titles(k);
	}
	if (!status)
		return cfg;
	cfg_free(cfg);
	return NULL;
}

cfg_t *conf_read(const char *file, const char *text, struct arena *arena,
                 struct err *err)
{
	struct reader reader = { .arena = arena,
		                 .file = arena_strdup(arena, file) };
	size_t len = text ? strlen(text) : 0;
	char *copy = text ? xstrdup(text) : read_file(file, &len, &reader.err);
	cfg_t *cfg = NULL;

	if (copy) {
		reading = &reader;
		cfg = read_tree(reader.file, copy, len);
		reading = NULL;
	}
	if (!cfg && err)
		*err = reader.err;
	free(copy);
	return cfg;
}
