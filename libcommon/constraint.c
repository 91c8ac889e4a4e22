/* constraint.c - expressions over node features */
#include "libcommon/constraint.h"

#include <assert.h>
#include <string.h>

enum {
	DEPTH = 64, /* of parentheses */
	/* Each level leaves at most one value for its |, one for its &. */
	STACK = 2 * (DEPTH + 1) + 1
};

struct parser {
	const char *text, *p;
	constraint_word_fn *word;
	void *arg;
	int32_t *rule;
	size_t n, cap;
	int depth;
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

/* A word, or an expression in parentheses. */
static int parse_one(struct parser *x)
{
	const char *start = x->p;

	if (*x->p == '(') {
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
	while ((unsigned char)*x->p > ' ' && *x->p != 127 &&
	       !strchr("&|()[]*!,", *x->p))
		x->p++;
	if (x->p == start)
		return bad(x, "a feature is missing");
	return put(x, x->word(start, (size_t)(x->p - start), x->arg));
}

static int parse_all(struct parser *x)
{
	if (parse_one(x) < 0)
		return -1;
	while (*x->p == '&') {
		x->p++;
		if (parse_one(x) < 0 || put(x, CONSTRAINT_AND) < 0)
			return -1;
	}
	return 0;
}

static int parse_any(struct parser *x)
{
	if (parse_all(x) < 0)
		return -1;
	while (*x->p == '|') {
		x->p++;
		if (parse_all(x) < 0 || put(x, CONSTRAINT_OR) < 0)
			return -1;
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
