/* labels.c - match labels against a LabelSelector of the API */
#include "aischedd/run/kube/object/labels.h"

#include <string.h>

#include "aischedd/run/kube/client/json.h"

static bool is_among(const json_t *values, const char *s)
{
	const json_t *value;
	size_t i;

	json_array_foreach(values, i, value)
		if (json_is_string(value) &&
		    !strcmp(json_string_value(value), s))
			return true;
	return false;
}

static bool expression_holds(const json_t *e, const json_t *labels)
{
	const char *op = kube_text_at(e, "operator");
	const char *key = kube_text_at(e, "key");
	const char *has = key ? kube_text_at(labels, key) : NULL;
	bool among = has && is_among(json_object_get(e, "values"), has);

	op = op ? op : "";
	if (!strcmp(op, "In"))
		return among;
	if (!strcmp(op, "NotIn"))
		return !among;
	return !strcmp(op, "Exists") ? has != NULL : has == NULL;
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
		if (!expression_holds(e, labels))
			return false;
	return true;
}
