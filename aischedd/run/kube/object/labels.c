/* labels.c - match labels against selectors of the API */
#include "aischedd/run/kube/object/labels.h"

#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "libcommon/parse.h"

static bool compare(const char *label, const json_t *values, bool greater)
{
	const char *s = json_string_value(json_array_get(values, 0));
	int64_t a, b;

	if (!label || !s ||
	    parse_int(label, INT64_MIN, INT64_MAX, &a, NULL) < 0 ||
	    parse_int(s, INT64_MIN, INT64_MAX, &b, NULL) < 0)
		return false;
	return greater ? a > b : a < b;
}

bool kube_rule_holds(const json_t *rule, const char *label)
{
	const json_t *values = json_object_get(rule, "values");
	const char *op = kube_text_at(rule, "operator");

	if (!op)
		return false;
	if (!strcmp(op, "In"))
		return kube_list_has(values, label);
	if (!strcmp(op, "NotIn"))
		return !kube_list_has(values, label);
	if (!strcmp(op, "Exists"))
		return label;
	if (!strcmp(op, "DoesNotExist"))
		return !label;
	if (!strcmp(op, "Gt") || !strcmp(op, "Lt"))
		return compare(label, values, *op == 'G');
	return false;
}

static const char *label_of(const json_t *labels, const json_t *rule)
{
	const char *key = kube_text_at(rule, "key");

	return key ? kube_text_at(labels, key) : NULL;
}

bool kube_labels_match(const json_t *selector, const json_t *labels)
{
	const char *key;
	json_t *value;
	const json_t *e;
	size_t i;

	if (!json_is_object(selector))
		return false;
	json_object_foreach(json_object_get(selector, "matchLabels"), key,
	                    value) {
		const char *has = kube_text_at(labels, key);

		if (!has || !json_is_string(value) ||
		    strcmp(json_string_value(value), has) != 0)
			return false;
	}
	json_array_foreach(json_object_get(selector, "matchExpressions"), i, e)
		if (!kube_rule_holds(e, label_of(labels, e)))
			return false;
	return true;
}
