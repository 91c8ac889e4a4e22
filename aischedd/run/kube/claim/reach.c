/* reach.c - find the nodes that reach a volume, and answer equal questions
 * once */
#include "aischedd/run/kube/claim/reach.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/volume.h"
#include "libcommon/mem.h"

/* To copy this many bytes of names counts as one comparison. */
enum { NAME_BYTES = 64 };

struct kube_reached *kube_reach_ask(struct kube_reach *reach, const char *key,
                                    bool *ret_new)
{
	uint64_t hash = kube_text_key(key);
	struct kube_reached *r;

	reach->work++;
	*ret_new = false;
	for (; (r = map_find(&reach->known, hash)); hash++, reach->work++)
		if (!strcmp(r->key, key))
			return r;
	*ret_new = true;
	r = xcalloc(1, sizeof(*r));
	r->key = xstrdup(key);
	map_set(&reach->known, hash, r);
	return r;
}

void kube_reach_forget(struct kube_reach *reach)
{
	struct kube_reached *r;
	size_t at = 0;

	while ((r = map_each(&reach->known, &at))) {
		free(r->key);
		buf_free(&r->nodes);
		free(r);
	}
	map_free(&reach->known);
}

const char *kube_reach_only(const struct kube *kube, const json_t *selector)
{
	const json_t *terms = json_object_get(selector, "nodeSelectorTerms");
	const json_t *rules =
	    json_object_get(json_array_get(terms, 0), "matchExpressions");
	const json_t *values =
	    json_object_get(json_array_get(rules, 0), "values");
	const char *name = json_string_value(json_array_get(values, 0));
	const json_t *features;

	if (json_array_size(terms) != 1 || json_array_size(rules) != 1 ||
	    json_array_size(values) != 1 || !name)
		return NULL;
	features = kube_nodes_features(kube->nodes, name);
	return features && kube_selector_matches(selector, name, features)
	           ? name
	           : NULL;
}

struct walk {
	struct kube_reach *reach;
	const json_t *selector, *topologies;
	struct buf *out;
};

static void add_node(const char *name, const json_t *features, void *arg)
{
	const struct walk *w = arg;

	w->reach->work++;
	if (kube_selector_matches(w->selector, name, features) &&
	    kube_topologies_match(w->topologies, features))
		buf_printf(w->out, "%s,", name);
}

void kube_reach_nodes(struct kube *kube, const json_t *selector,
                      const json_t *topologies, struct buf *ret)
{
	struct kube_reach *reach = &kube->claims.reach;
	const char *only = kube_reach_only(kube, selector);
	struct kube_reached *r;
	char *key;
	json_t *both;
	bool new;

	reach->work++;
	if (only && !json_array_size(topologies)) {
		buf_printf(ret, "%s,", only);
		return;
	}
	both = json_pack("[O?, O?]", selector, topologies);
	key = both ? json_dumps(both, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	json_decref(both);
	r = kube_reach_ask(reach, key ? key : "", &new);
	free(key);
	if (new)
		kube_nodes_each(
		    kube->nodes, add_node,
		    &(struct walk){ reach, selector, topologies, &r->nodes });
	reach->work += r->nodes.len / NAME_BYTES;
	buf_add(ret, r->nodes.data, r->nodes.len);
}
