/* conf_text.c - make the text of a configuration safe for libconfuse */
#include "libcommon/conf/conf_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* Kinds of tokens; the kind of any other token is its character. */
enum { NOTHING, WORD = 'w', STRING = 's' };

struct scan {
	char *p;
	const char *file;
	int line;
	int prev, before; /* kinds of the last token and of the one before it */
	bool include;     /* the last word was "include" */
	/* Number of open braces; line of the outermost one. */
	int depth, open_line;
	struct err *err;
};

static int bad(struct scan *s, int line, const char *what)
{
	return err_set(s->err, EINVAL, "%s:%d: %s", s->file, line, what);
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_-.:/@%[]", c));
}

static void blank_line(struct scan *s)
{
	while (*s->p && *s->p != '\n')
		*s->p++ = ' ';
}

static int blank_block(struct scan *s)
{
	int line = s->line;
	char *end = strstr(s->p + 2, "*/");

	if (!end)
		return bad(s, line, "the comment that begins here has no '*/'");
	for (end += 2; s->p < end; s->p++) {
		if (*s->p == '\n')
			s->line++;
		else
			*s->p = ' ';
	}
	return 0;
}

/* Skip a string in double quotes, in which \" \\ \$ are escapes and ${NAME} is
 * a variable. */
static int skip_double(struct scan *s)
{
	for (s->p++; *s->p != '"'; s->p++) {
		if (!*s->p || *s->p == '\n')
			return bad(s, s->line, "a string ends without '\"'");
		if (*s->p == '\\') {
			s->p++;
			if (!*s->p || !strchr("\"\\$", *s->p))
				return bad(s, s->line,
				           "only \\\", \\\\ and \\$ may follow "
				           "a backslash in double quotes");
		} else if (!strncmp(s->p, "${", 2)) {
			s->p += strcspn(s->p, "}\"\\\n");
			if (*s->p != '}')
				return bad(s, s->line,
				           "'${' without '}'; write \\${ for "
				           "these characters");
		}
	}
	s->p++;
	return 0;
}

static int skip_single(struct scan *s)
{
	for (s->p++; *s->p != '\''; s->p++) {
		if (*s->p == '\\' && s->p[1])
			s->p++;
		if (!*s->p || *s->p == '\n')
			return bad(s, s->line, "a string ends without \"'\"");
	}
	s->p++;
	return 0;
}

static int skip_string(struct scan *s)
{
	return *s->p == '"' ? skip_double(s) : skip_single(s);
}

static void skip_word(struct scan *s)
{
	const char *start = s->p;

	while (is_word(*s->p))
		s->p++;
	s->include = s->p - start == 7 && !memcmp(start, "include", 7);
}

/* Skip the ("PATTERN") of an include, from one parenthesis to the other. */
static int skip_include(struct scan *s)
{
	static const char usage[] = "use include(\"PATTERN\")";

	if (s->prev != WORD || !s->include)
		return bad(s, s->line,
		           "'(' belongs to include(\"PATTERN\") only; put text "
		           "in quotes");
	s->p += 1 + strspn(s->p + 1, " \t");
	if (*s->p != '"' && *s->p != '\'')
		return bad(s, s->line, usage);
	if (skip_string(s) < 0)
		return -1;
	s->p += strspn(s->p, " \t");
	if (*s->p != ')')
		return bad(s, s->line, usage);
	s->p++;
	return 0;
}

static int take_mark(struct scan *s)
{
	static const char quoted[] =
	    "names of keys and sections are written without quotes";

	switch (*s->p) {
	case '(':
		return skip_include(s);
	case '{':
		if (s->prev == STRING && s->before != WORD && s->before != '=')
			return bad(s, s->line, quoted);
		if (!s->depth++)
			s->open_line = s->line;
		break;
	case '}':
		if (!s->depth--)
			return bad(s, s->line, "'}' without '{'");
		break;
	case '=':
		if (s->prev == STRING)
			return bad(s, s->line, quoted);
		break;
	case ',':
		break;
	default:
		return err_set(s->err, EINVAL,
		               "%s:%d: character '%c' out of place; put text "
		               "in quotes",
		               s->file, s->line, *s->p);
	}
	s->p++;
	return 0;
}

static int take_token(struct scan *s)
{
	int kind = *s->p;

	if (kind == '"' || kind == '\'') {
		kind = STRING;
		if (skip_string(s) < 0)
			return -1;
	} else if (is_word(*s->p)) {
		kind = WORD;
		skip_word(s);
	} else if (take_mark(s) < 0) {
		return -1;
	}
	s->before = s->prev;
	s->prev = kind;
	return 0;
}

int conf_text_clean(char *text, size_t len, const char *file, struct err *err)
{
	struct scan s = { .p = text, .file = file, .line = 1, .err = err };

	while (*s.p) {
		if (*s.p == '\n') {
			s.line++;
			s.p++;
		} else if (*s.p == ' ' || *s.p == '\t' || *s.p == '\r') {
			s.p++;
		} else if (*s.p == '#' || !strncmp(s.p, "//", 2)) {
			blank_line(&s);
		} else if (!strncmp(s.p, "/*", 2)) {
			if (blank_block(&s) < 0)
				return -1;
		} else if (take_token(&s) < 0) {
			return -1;
		}
	}
	if (s.p < text + len)
		return bad(&s, s.line, "a NUL byte; this is not a text");
	if (s.depth)
		return bad(&s, s.open_line,
		           "the '{' that opens here is not closed");
	return 0;
}
