/* constraint.c - expressions over node features */
#include "libcommon/constraint.h"

#include <assert.h>
#include <string.h>

#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum {
	DEPTH = 64, /* nested parentheses */
	/* On each level of parentheses at most one operand of | and one of &
	 * are pending. Brackets are a level, too. */
	STACK = 2 * (DEPTH + 2) + 1
};

struct parser {
	const char *text, *p;
	constraint_word_fn *word;
	void *arg;
	int32_t *rule;
	size_t n, cap;
	int depth, ncounts;
	bool bracket; /* inside [] */
	bool negated; /* an odd number of ! applies to the current part */
	bool either;  /* [a|b] was parsed */
	bool list;    /* a list of expressions, without counts, is parsed */
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

/* Put the operator that joins two parts. If a ! applies to both, put the other
 * operator instead (de Morgan's laws). */
static int put_joined(struct parser *x, bool by_and)
{
	return put(x, by_and != x->negated ? CONSTRAINT_AND : CONSTRAINT_OR);
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

/* Parse "|b" behind "[a"; counts: how many counts came before the brackets. */
static int parse_alternatives(struct parser *x, int counts)
{
	if (x->either)
		return bad(x, "a second choice in '[]'");
	x->either = true;
	while (*x->p == '|') {
		x->p++;
		if (parse_all(x) < 0 || put(x, CONSTRAINT_OR) < 0)
			return -1;
	}
	if (x->ncounts != counts)
		return bad(x, "a count beside '|'");
	return 0;
}

static int parse_bracket(struct parser *x)
{
	int before = x->ncounts;

	if (x->list)
		return bad(x, "'[' in a wish");
	if (x->depth || x->bracket)
		return bad(x, "'[' inside of other parts");
	if (x->negated)
		return bad(x, "'!' before '['");
	x->p++;
	x->bracket = true;
	if (parse_all(x) < 0)
		return -1;
	if (*x->p == '|' && x->ncounts == before) {
		if (parse_alternatives(x, before) < 0)
			return -1;
		before--; /* alternatives need no count: pass the check below */
	}
	x->bracket = false;
	if (*x->p != ']')
		return bad(x, "a ']' is missing");
	if (x->ncounts == before)
		return bad(x, "no count in '[]', as in '[a*2&b*4]'");
	x->p++;
	return 0;
}

/* Whether the len bytes at s are an integer. */
static bool is_integer(const char *s, size_t len)
{
	char copy[24];
	int64_t n;

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, s, len);
	copy[len] = '\0';
	return parse_int(copy, INT64_MIN, INT64_MAX, &n, NULL) == 0;
}

static int parse_word(struct parser *x)
{
	const char *start = x->p;
	size_t len, key;

	while ((unsigned char)*x->p > ' ' && *x->p != 127 &&
	       !strchr("&|()[]*!,", *x->p))
		x->p++;
	len = (size_t)(x->p - start);
	key = strcspn(start, "<>");
	if (!len || !key)
		return bad(x, "a feature is missing");
	if (key < len && !is_integer(start + key + 1, len - key - 1))
		return bad(x, "no integer after '<' or '>'");
	if (put(x, x->word ? x->word(start, len, x->arg) : 0) < 0)
		return -1;
	return x->negated ? put(x, CONSTRAINT_NOT) : 0;
}

/* Parse a word, or an expression in parentheses, and the ! before it. */
static int parse_one(struct parser *x)
{
	bool before = x->negated;
	int rc;

	for (; *x->p == '!'; x->p++)
		x->negated = !x->negated;
	rc = *x->p == '('   ? parse_nested(x)
	     : *x->p == '[' ? parse_bracket(x)
	                    : parse_word(x);
	x->negated = before;
	return rc;
}

/* Parse "*2" after a part. */
static int parse_count(struct parser *x)
{
	int32_t n = 0;

	if (*x->p != '*')
		return 0;
	if (x->list)
		return bad(x, "a count in a wish");
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
		    put_joined(x, true) < 0)
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
		if (parse_all(x) < 0 || put_joined(x, false) < 0)
			return -1;
		if (!x->depth && x->ncounts)
			return bad(x, "a count beside '|'");
	}
	return 0;
}

/* Parse an expression, or, if list is true, several separated by commas. */
static int parse(const char *s, bool list, constraint_word_fn *word, void *arg,
                 int32_t *ret, size_t cap, size_t *ret_n, struct err *err)
{
	struct parser x = { .text = s,
		            .p = s,
		            .word = word,
		            .arg = arg,
		            .rule = ret,
		            .cap = cap,
		            .list = list,
		            .err = err };

	for (int n = 0;; x.p++) {
		if (n++ == CONSTRAINT_MAX_LIST)
			return bad(&x, "too many wishes");
		if (parse_any(&x) < 0)
			return -1;
		if (!list || *x.p != ',')
			break;
	}
	if (*x.p)
		return bad(&x, list ? "something other than '&', '|' or ','"
		                    : "something other than '&' or '|'");
	*ret_n = x.n;
	return 0;
}

int constraint_parse(const char *s, constraint_word_fn *word, void *arg,
                     int32_t *ret, size_t cap, size_t *ret_n, struct err *err)
{
	return parse(s, false, word, arg, ret, cap, ret_n, err);
}

int constraint_parse_list(const char *s, constraint_word_fn *word, void *arg,
                          int32_t *ret, size_t cap, size_t *ret_n,
                          struct err *err)
{
	return parse(s, true, word, arg, ret, cap, ret_n, err);
}

bool constraint_word_holds(const char *word, const char *feature)
{
	size_t key = strcspn(word, "=<>");
	const char *value = feature + key;
	int64_t have, want;

	if (strncmp(word, feature, key) != 0 || (*value && *value != '='))
		return false;
	value += *value == '=';
	if (!word[key])
		return true;
	if (word[key] == '=')
		return !strcmp(word + key + 1, value);
	if (parse_int(value, INT64_MIN, INT64_MAX, &have, NULL) < 0 ||
	    parse_int(word + key + 1, INT64_MIN, INT64_MAX, &want, NULL) < 0)
		return false;
	return word[key] == '<' ? have < want : have > want;
}

bool constraint_taint_is_soft(const char *taint)
{
	const char *end = taint + strcspn(taint, "=");
	size_t len = strlen(CONSTRAINT_TAINT_PREFERS);

	return (size_t)(end - taint) > len &&
	       !strncmp(end - len, CONSTRAINT_TAINT_PREFERS, len);
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
		if (constraint_count(rule[i]) || rule[i] == CONSTRAINT_NOT) {
			assert(top >= 1);
			stack[top - 1] =
			    rule[i] != CONSTRAINT_NOT || !stack[top - 1];
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

/* Returns the '|' or ']' that ends the alternative at s. */
static const char *alternative_end(const char *s)
{
	int depth = 0;

	for (; *s && *s != ']' && (depth || *s != '|'); s++)
		depth += (*s == '(') - (*s == ')');
	return s;
}

/* Returns what follows the '[' of the brackets that have alternatives, as in
 * "[a|b]"; NULL if there are none. */
static const char *choice(const char *s)
{
	while ((s = strchr(s, '[')) && *alternative_end(s + 1) != '|')
		s++;
	return s ? s + 1 : NULL;
}

size_t constraint_alternatives(const char *s)
{
	const char *at = choice(s);
	size_t n = 0;

	for (; at; at = *at == '|' ? at + 1 : NULL) {
		at = alternative_end(at);
		n++;
	}
	return n;
}

char *constraint_choose(const char *s, size_t k)
{
	const char *begin = choice(s), *at = begin, *end;

	while (k-- && *alternative_end(at) == '|')
		at = alternative_end(at) + 1;
	end = begin + strcspn(begin, "]");
	return xasprintf("%.*s%.*s%s", (int)(begin - 1 - s), s,
	                 (int)(alternative_end(at) - at), at,
	                 *end ? end + 1 : end);
}
