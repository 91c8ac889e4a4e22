/* directive.c - read #AISUB and #SBATCH lines of a script */
#include "libcommon/directive.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/mem.h"

/* The words of one directive line, unquoted. */
struct line_words {
	struct buf text; /* the words, each with its zero byte */
	size_t *at;      /* offsets in text */
	size_t n, cap;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void words_start(struct line_words *w)
{
	w->at = GROW(w->at, w->n, &w->cap);
	w->at[w->n++] = w->text.len;
}

static const char *words_get(const struct line_words *w, size_t i)
{
	return i < w->n ? w->text.data + w->at[i] : NULL;
}

/* Add the word that starts at p, without its quotes. Returns a pointer behind
 * it, or NULL if a quote is not closed. */
static const char *words_take(struct line_words *w, const char *p,
                              const char *end)
{
	char quote = 0;

	words_start(w);
	for (; p < end && (quote || !is_blank(*p)); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"')
			quote = quote ? 0 : *p;
		else if (*p == '\\' && quote != '\'' && p + 1 < end)
			buf_addc(&w->text, *++p);
		else
			buf_addc(&w->text, *p);
	}
	buf_addc(&w->text, '\0');
	return quote ? NULL : p;
}

static int words_split(struct line_words *w, const char *p, size_t len,
                       struct err *err)
{
	const char *end = p + len;

	buf_clear(&w->text);
	w->n = 0;
	if (memchr(p, '\0', len))
		return err_set(err, EINVAL, "a zero byte in the line");
	for (;;) {
		while (p < end && is_blank(*p))
			p++;
		if (p == end || *p == '#')
			return 0;
		p = words_take(w, p, end);
		if (!p)
			return err_set(err, EINVAL, "a quote without its end");
	}
}

/*
 * Get the value of the option in word i: `joined` if that is not NULL, or else
 * the next word. *ret is NULL if the option has no value. Returns how many
 * words after word i were used, or -1 if a value is missing.
 */
static int take_value(const struct line_words *w, size_t i, const char *joined,
                      enum directive_takes takes, const char **ret)
{
	const char *next = words_get(w, i + 1);

	*ret = joined;
	if (joined || takes == DIRECTIVE_FLAG || takes == DIRECTIVE_OPTIONAL)
		return 0;
	if (!next || (takes == DIRECTIVE_UNKNOWN && *next == '-'))
		return takes == DIRECTIVE_VALUE ? -1 : 0;
	*ret = next;
	return 1;
}

static int long_option(struct directive *d, const struct line_words *w,
                       size_t i, const struct directive_handler *h,
                       struct err *err)
{
	const char *word = words_get(w, i);
	const char *equals = strchr(word, '=');
	char *option =
	    xstrndup(word, equals ? (size_t)(equals - word) : strlen(word));
	int more = take_value(w, i, equals ? equals + 1 : NULL,
	                      h->takes(option, d->slurm, h->arg), &d->value);

	d->option = option;
	if (more < 0)
		err_set(err, EINVAL, "%s needs a value", option);
	else if (h->option(d, h->arg, err) < 0)
		more = -1;
	free(option);
	return more;
}

/* Parse a word like -H, -n4, -n (with 4 as the next word) or -Hn4. */
static int short_options(struct directive *d, const struct line_words *w,
                         size_t i, const struct directive_handler *h,
                         struct err *err)
{
	const char *p = words_get(w, i) + 1;
	int more = 0;

	while (*p) {
		const char option[] = { '-', *p++, '\0' };
		enum directive_takes takes = h->takes(option, d->slurm, h->arg);
		const char *joined = *p && takes != DIRECTIVE_FLAG ? p : NULL;

		more = take_value(w, i, joined, takes, &d->value);
		if (more < 0)
			return err_set(err, EINVAL, "%s needs a value", option);
		d->option = option;
		if (h->option(d, h->arg, err) < 0)
			return -1;
		if (d->value)
			break;
	}
	return more;
}

static int directive_line(struct directive *d, const struct line_words *w,
                          const struct directive_handler *h, struct err *err)
{
	for (size_t i = 0; i < w->n; i++) {
		const char *word = words_get(w, i);
		int more;

		if (word[0] != '-' || !word[1] || !strcmp(word, "--")) {
			if (!h->word)
				return err_set(err, EINVAL,
				               "'%s' is not an option", word);
			if (h->word(word, d->slurm, h->arg, err) < 0)
				return -1;
			continue;
		}
		if (word[1] == '-')
			more = long_option(d, w, i, h, err);
		else
			more = short_options(d, w, i, h, err);
		if (more < 0)
			return -1;
		i += (size_t)more;
	}
	return 0;
}

/* Returns the length of "#AISUB" or "#SBATCH" at the start of the line, 0 if
 * neither. */
static size_t directive_mark(const char *line, size_t len, bool *ret_slurm)
{
	static const char *const mark[] = { "#AISUB", "#SBATCH" };

	for (size_t i = 0; i < ARRAY_SIZE(mark); i++) {
		size_t n = strlen(mark[i]);

		*ret_slurm = i == 1;
		if (len >= n && !memcmp(line, mark[i], n) &&
		    (len == n || is_blank(line[n])))
			return n;
	}
	return 0;
}

static bool is_command(const char *line, size_t len)
{
	size_t i = 0;

	while (i < len && is_blank(line[i]))
		i++;
	return i < len && line[i] != '#';
}

int directive_scan(const char *script, size_t len, const char *name,
                   const struct directive_handler *handler, struct err *err)
{
	const char *end = script + len, *next;
	struct line_words words = { 0 };
	struct directive d = { 0 };
	bool late = false;
	int status = 0;

	for (const char *line = script; line < end; line = next) {
		const char *eol = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)((eol ? eol : end) - line);
		size_t mark = directive_mark(line, n, &d.slurm);

		next = eol ? eol + 1 : end;
		d.line++;
		late = late || is_command(line, n);
		if (!mark)
			continue;
		if (late) {
			handler->late(d.line, handler->arg);
			break;
		}
		if (words_split(&words, line + mark, n - mark, err) < 0 ||
		    directive_line(&d, &words, handler, err) < 0) {
			status = err_wrap(err, "%s:%d", name, d.line);
			break;
		}
	}
	buf_free(&words.text);
	free(words.at);
	return status;
}
