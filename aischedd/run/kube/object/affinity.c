/* affinity.c - node affinity of pods as values of --constraint and --prefer */
#include "aischedd/run/kube/object/affinity.h"

#include <inttypes.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/constraint.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

/* Prefix of taints for conditions of nodes, such as not-ready. Constraints need
 * not name them: the daemon knows the state of each node. */
#define OF_CONDITION "node.kubernetes.io/"

/* Check that s has only characters that keys and values of labels may have.
 * None of them has a meaning in the syntax of constraints. */
static int check_word(const char *what, const char *s, struct err *err)
{
	for (const char *p = s; *p; p++)
		if ((*p < '0' || *p > '9') && (*p < 'A' || *p > 'Z') &&
		    (*p < 'a' || *p > 'z') && !strchr("-_./", *p))
			return err_set(err, EINVAL,
			               "%s: '%.100s' is no key or value of a "
			               "label",
			               what, s);
	return 0;
}

static void put_and(struct buf *ret)
{
	if (ret->len)
		buf_addc(ret, '&');
}

/* Whether s has an '|' outside parentheses and brackets. */
static bool has_or(const char *s)
{
	int depth = 0;

	for (; *s && (*s != '|' || depth); s++)
		depth += (*s == '(' || *s == '[') - (*s == ')' || *s == ']');
	return *s;
}

/* Append the job's own constraint, in parentheses only if it has an '|' at the
 * top level: counts and brackets are not allowed inside parentheses. */
static int put_own(const char *own, struct buf *ret, struct err *err)
{
	int32_t rule[LIMIT_TEXT];
	bool open;
	size_t n;

	if (!own)
		return 0;
	if (constraint_parse(own, NULL, NULL, rule, ARRAY_SIZE(rule), &n, err) <
	    0)
		return -1;
	open = has_or(own);
	buf_printf(ret, "%s%s%s", open ? "(" : "", own, open ? ")" : "");
	return 0;
}

static int put_selector(const json_t *selector, struct buf *ret,
                        struct err *err)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)selector, key, value) {
		const char *s = json_string_value(value);

		if (check_word("nodeSelector", key, err) < 0 ||
		    check_word("nodeSelector", s ? s : "", err) < 0)
			return -1;
		put_and(ret);
		buf_printf(ret, "%s=%s", key, s ? s : "");
	}
	return 0;
}

/* --- required node affinity --- */

/* Append a condition that the label has one of the values: "(k=a|k=b)". */
static int put_values(const char *key, const json_t *values, struct buf *ret,
                      struct err *err)
{
	bool many = json_array_size(values) > 1;
	const json_t *value;
	size_t i;

	if (!json_array_size(values))
		return err_set(err, EINVAL, "nodeAffinity: no values of '%s'",
		               key);
	buf_puts(ret, many ? "(" : "");
	json_array_foreach(values, i, value) {
		const char *s = json_string_value(value);

		if (check_word("nodeAffinity", s ? s : "", err) < 0)
			return -1;
		buf_printf(ret, "%s%s=%s", i ? "|" : "", key, s ? s : "");
	}
	buf_puts(ret, many ? ")" : "");
	return 0;
}

static int put_bound(const char *key, char op, const json_t *values,
                     struct buf *ret, struct err *err)
{
	const char *s = json_string_value(json_array_get(values, 0));
	int64_t n;

	if (json_array_size(values) != 1 || !s ||
	    parse_int(s, INT64_MIN, INT64_MAX, &n, NULL) < 0)
		return err_set(err, EINVAL,
		               "nodeAffinity: '%s' is compared with something "
		               "other than one integer",
		               key);
	buf_printf(ret, "%s%c%" PRId64, key, op, n);
	return 0;
}

/* Append one of matchExpressions. As in Kubernetes, NotIn and DoesNotExist are
 * true for nodes without the label. */
static int put_expression(const json_t *e, struct buf *ret, struct err *err)
{
	const char *key = kube_word_at(e, "key"),
		   *op = kube_word_at(e, "operator");
	const json_t *values = json_object_get(e, "values");

	if (check_word("nodeAffinity", key, err) < 0)
		return -1;
	if (!*key)
		return err_set(err, EINVAL, "nodeAffinity: a key is missing");
	if (!strcmp(op, "In") || !strcmp(op, "NotIn")) {
		buf_puts(ret, *op == 'N' ? "!" : "");
		return put_values(key, values, ret, err);
	}
	if (!strcmp(op, "Exists") || !strcmp(op, "DoesNotExist")) {
		buf_printf(ret, "%s%s", *op == 'D' ? "!" : "", key);
		return 0;
	}
	if (!strcmp(op, "Gt") || !strcmp(op, "Lt"))
		return put_bound(key, *op == 'G' ? '>' : '<', values, ret, err);
	return err_set(err, EINVAL,
	               "nodeAffinity: operator '%.100s' is not supported", op);
}

/* Whether the term has no expressions: Kubernetes ignores such terms. */
static bool is_empty(const json_t *term)
{
	return !json_array_size(json_object_get(term, "matchExpressions")) &&
	       !json_array_size(json_object_get(term, "matchFields"));
}

static int put_term(const json_t *term, struct buf *ret, struct err *err)
{
	const json_t *list = json_object_get(term, "matchExpressions"), *e;
	size_t i;

	if (json_array_size(json_object_get(term, "matchFields")))
		return err_set(err, EINVAL,
		               "nodeAffinity: matchFields is not supported: "
		               "name nodes in aisched.io/nodelist");
	json_array_foreach(list, i, e) {
		buf_puts(ret, i ? "&" : "");
		if (put_expression(e, ret, err) < 0)
			return -1;
	}
	return 0;
}

static int put_affinity(const json_t *required, struct buf *ret,
                        struct err *err)
{
	const json_t *terms = json_object_get(required, "nodeSelectorTerms");
	const json_t *term;
	size_t i, n = 0;

	if (!required || json_is_null(required))
		return 0;
	put_and(ret);
	buf_addc(ret, '(');
	json_array_foreach(terms, i, term) {
		if (is_empty(term))
			continue;
		buf_puts(ret, n++ ? "|" : "");
		if (put_term(term, ret, err) < 0)
			return -1;
	}
	if (!n)
		return err_set(err, EINVAL,
		               "nodeAffinity: none of its nodeSelectorTerms "
		               "matches a node");
	buf_addc(ret, ')');
	return 0;
}

/* --- preferred node affinity --- */

struct term {
	int64_t weight;
	const json_t *term;
};

/* Insert a term into the list, which is sorted by falling weight. If the list
 * has `cap` terms already, the term that is then last is dropped. */
static void rank_term(struct term *list, size_t *n, size_t cap, int64_t weight,
                      const json_t *term)
{
	size_t at = *n;

	while (at && list[at - 1].weight < weight)
		at--;
	if (at == cap)
		return;
	if (*n < cap)
		++*n;
	memmove(list + at + 1, list + at, (*n - 1 - at) * sizeof(*list));
	list[at] = (struct term){ weight, term };
}

int kube_affinity_prefer(const json_t *pod, const char *own, struct buf *ret,
                         struct err *err)
{
	const json_t *affinity =
	    json_object_get(json_object_get(pod, "affinity"), "nodeAffinity");
	const json_t *list = json_object_get(affinity, PREFERRED), *wish;
	struct term rank[CONSTRAINT_MAX_LIST];
	size_t i, n = 0, cap = ARRAY_SIZE(rank);

	own = own ? own : "";
	cap -= *own != '\0';
	for (const char *p = own; cap && *p; p++)
		cap -= *p == ',';
	json_array_foreach(list, i, wish) {
		const json_t *term = json_object_get(wish, "preference");

		if (!is_empty(term))
			rank_term(
			    rank, &n, cap,
			    json_integer_value(json_object_get(wish, "weight")),
			    term);
	}
	buf_puts(ret, own);
	for (i = 0; i < n; i++) {
		buf_puts(ret, ret->len ? "," : "");
		if (put_term(rank[i].term, ret, err) < 0)
			return -1;
	}
	return 0;
}

/* --- tolerations --- */

const char *kube_affinity_effect(const char *effect)
{
	return !strcmp(effect, "NoExecute")          ? KUBE_TAINT_EVICTS
	       : !strcmp(effect, "PreferNoSchedule") ? CONSTRAINT_TAINT_PREFERS
	                                             : "";
}

static void put_toleration(const char *key, const char *effect,
                           const char *value, bool any, struct buf *ret)
{
	struct buf word = { 0 };

	buf_printf(&word, "%s%s%s%s", key, kube_affinity_effect(effect),
	           any ? "" : "=", any ? "" : value);
	put_and(ret);
	buf_printf(ret, "(%s|!%s)", word.data, word.data);
	buf_free(&word);
}

static int put_tolerations(const json_t *list, struct buf *ret, struct err *err)
{
	static const char *const effects[] = { "NoSchedule", "NoExecute",
		                               "PreferNoSchedule" };
	const json_t *t;
	size_t i;

	json_array_foreach(list, i, t) {
		const char *key = kube_word_at(t, "key"),
			   *op = kube_word_at(t, "operator");
		const char *value = kube_word_at(t, "value");
		const char *effect = kube_word_at(t, "effect");
		bool any = !strcmp(op, "Exists");

		if (!*key)
			return err_set(err, EINVAL,
			               "tolerations: one is of every taint: "
			               "name the keys that are meant");
		if (!any && *op && strcmp(op, "Equal") != 0)
			return err_set(err, EINVAL,
			               "tolerations: operator '%.100s' is not "
			               "supported",
			               op);
		if (check_word("tolerations", key, err) < 0 ||
		    check_word("tolerations", value, err) < 0)
			return -1;
		if (!strncmp(key, OF_CONDITION, strlen(OF_CONDITION)))
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(effects); k++)
			if (!*effect || !strcmp(effect, effects[k]))
				put_toleration(key, effects[k], value, any,
				               ret);
	}
	return 0;
}

int kube_affinity_constraint(const json_t *pod, const char *own,
                             struct buf *ret, struct err *err)
{
	const json_t *affinity =
	    json_object_get(json_object_get(pod, "affinity"), "nodeAffinity");

	if (put_own(own, ret, err) < 0 ||
	    put_selector(json_object_get(pod, "nodeSelector"), ret, err) < 0 ||
	    put_affinity(json_object_get(affinity, REQUIRED), ret, err) < 0)
		return -1;
	return put_tolerations(json_object_get(pod, "tolerations"), ret, err);
}
