/* filter.c - whether a list of texts in a request names something */
#include "aischedd/filter.h"

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
