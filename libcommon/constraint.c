/* constraint.c - expressions over node features */
#include "libcommon/constraint.h"

#include <assert.h>
#include <string.h>

enum {
	DEPTH = 64, /* nested parentheses */
	/* Each level has at most one pending value for | and one for &. */
	STACK = 2 * (DEPTH + 1) + 1
};

struct parser {
	const char *text, *p;
	constraint_word_fn *word;
	void *arg;
	int32_t *rule;
	size_t n, cap;
	int depth, ncounts;
	bool bracket; /* inside of [] */
	struct err *err;
};

static int bad(const struct parser *x, const char *what)
{
	return err_set(x->err, EINVAL,
	               "bad constraint '%s': %s at character %zu", x->text,
	               what, (size_t)(x->p - x->text) + 1);
}

static int put(struct parser *x, int32_t token)
{
	if (x->n == x->cap)
		return err_set(x->err, ERANGE,
		               "constraint '%s' has more than %zu words and "
		               "operators",
		               x->text, x->cap);
	x->rule[x->n++] = token;
	return 0;
}

static int parse_any(struct parser *x);
static int parse_all(struct parser *x);

static int parse_nested(struct parser *x)
{
	if (x->depth == DEPTH)
		return bad(x, "too many '('");
	x->p++;
	x->depth++;
	if (parse_any(x) < 0)
		return -1;
	x->depth--;
	if (*x->p != ')')
		return bad(x, "a ')' is missing");
	x->p++;
	return 0;
}

static int parse_bracket(struct parser *x)
{
	int before = x->ncounts;

	if (x->depth || x->bracket)
		return bad(x, "'[' inside of other parts");
	x->p++;
	x->bracket = true;
	if (parse_all(x) < 0)
		return -1;
	x->bracket = false;
	if (*x->p != ']')
		return bad(x, "a ']' is missing");
	if (x->ncounts == before)
		return bad(x, "no count in '[]', as in '[a*2&b*4]'");
	x->p++;
	return 0;
}

/* Parse a word, or an expression in parentheses. */
static int parse_one(struct parser *x)
{
	const char *start = x->p;

	if (*x->p == '(')
		return parse_nested(x);
	if (*x->p == '[')
		return parse_bracket(x);
	while ((unsigned char)*x->p > ' ' && *x->p != 127 &&
	       !strchr("&|()[]*!,", *x->p))
		x->p++;
	if (x->p == start)
		return bad(x, "a feature is missing");
	return put(x, x->word ? x->word(start, (size_t)(x->p - start), x->arg)
	                      : 0);
}

/* Parse "*2" after a part. */
static int parse_count(struct parser *x)
{
	int32_t n = 0;

	if (*x->p != '*')
		return 0;
	if (x->depth)
		return bad(x, "a count inside of parentheses");
	if (x->ncounts++ == CONSTRAINT_MAX_COUNTS)
		return bad(x, "too many counts");
	for (x->p++; *x->p >= '0' && *x->p <= '9'; x->p++) {
		n = n * 10 + (*x->p - '0');
		if (n > CONSTRAINT_MAX_COUNT)
			return bad(x, "a count that is too large");
	}
	if (!n)
		return bad(x, "a count of 1 or more is expected");
	return put(x, constraint_token(n));
}

static int parse_all(struct parser *x)
{
	if (parse_one(x) < 0 || parse_count(x) < 0)
		return -1;
	while (*x->p == '&') {
		x->p++;
		if (parse_one(x) < 0 || parse_count(x) < 0 ||
		    put(x, CONSTRAINT_AND) < 0)
			return -1;
	}
	return 0;
}

static int parse_any(struct parser *x)
{
	if (parse_all(x) < 0)
		return -1;
	while (*x->p == '|') {
		if (!x->depth && x->ncounts)
			return bad(x, "'|' beside a count");
		x->p++;
		if (parse_all(x) < 0 || put(x, CONSTRAINT_OR) < 0)
			return -1;
		if (!x->depth && x->ncounts)
			return bad(x, "a count beside '|'");
	}
	return 0;
}

int constraint_parse(const char *s, constraint_word_fn *word, void *arg,
                     int32_t *ret, size_t cap, size_t *ret_n, struct err *err)
{
	struct parser x = { .text = s,
		            .p = s,
		            .word = word,
		            .arg = arg,
		            .rule = ret,
		            .cap = cap,
		            .err = err };

	if (parse_any(&x) < 0)
		return -1;
	if (*x.p)
		return bad(&x, "something other than '&' or '|'");
	*ret_n = x.n;
	return 0;
}

bool constraint_holds(const int32_t *rule, size_t n,
                      bool (*has)(int32_t word, const void *arg),
                      const void *arg)
{
	bool stack[STACK];
	size_t top = 0;

	for (size_t i = 0; i < n; i++) {
		if (rule[i] >= 0) {
			assert(top < STACK);
			stack[top++] = has(rule[i], arg);
			continue;
		}
		if (constraint_count(rule[i])) {
			assert(top >= 1);
			stack[top - 1] = true;
			continue;
		}
		assert(top >= 2);
		top--;
		if (rule[i] == CONSTRAINT_AND)
			stack[top - 1] = stack[top - 1] && stack[top];
		else
			stack[top - 1] = stack[top - 1] || stack[top];
	}
	assert(top == (n > 0));
	return !n || stack[0];
}
