/* filter.c - lists of texts in a request, which choose jobs */
#include "aischedd/op/filter.h"

#include "aischedd/state/node.h"

#include <string.h>

bool filter_has_text(const json_t *list, const char *text)
{
	const json_t *item;
	size_t i;

	if (!list)
		return true;
	json_array_foreach(list, i, item) {
		const char *s = json_string_value(item);

		if (s && !strcmp(s, text))
			return true;
	}
	return false;
}

bool filter_has_state(const json_t *list, enum job_state state)
{
	const json_t *item;
	size_t i;

	if (!list)
		return true;
	json_array_foreach(list, i, item) {
		const char *s = json_string_value(item);

		if (s && job_state_parse(s) == (int)state)
			return true;
	}
	return false;
}

int filter_check(const struct daemon *d, const json_t *queues,
                 const json_t *nodes, struct err *err)
{
	const json_t *item;
	const char *name;
	size_t i;

	json_array_foreach(queues, i, item) {
		name = json_string_value(item);
		if (name && conf_queue_find(d->conf, name) < 0)
			return err_set(err, ENOENT,
			               "there is no queue '%s'; `aiq --queues` "
			               "lists them",
			               name);
	}
	json_array_foreach(nodes, i, item) {
		name = json_string_value(item);
		if (name && state_node_find(d->state, name) < 0)
			return err_set(err, ENOENT,
			               "there is no node '%s'; `aiq --nodes` "
			               "lists them",
			               name);
	}
	return 0;
}
