/* first.c - find the node that a text names, of all that have the same trouble
 */
#include "aischedd/run/kube/device/first.h"

#include <string.h>

static const char *name_of(const void *node)
{
	return *(const char *const *)node;
}

const void *kube_first(const struct map *nodes, kube_first_fn *has,
                       const void *arg, size_t *ret_n)
{
	const void *node, *first = NULL;
	size_t at = 0;

	*ret_n = 0;
	while ((node = map_each(nodes, &at))) {
		if (!has(node, arg))
			continue;
		++*ret_n;
		if (!first || strcmp(name_of(node), name_of(first)) < 0)
			first = node;
	}
	return first;
}
