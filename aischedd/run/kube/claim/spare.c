/* spare.c - choose a free volume for a claim whose StorageClass makes none */
#include "aischedd/run/kube/claim/spare.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/volume.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"

enum {
	/* how long a volume is kept for the claim for which it was picked:
	 * longer than the PATCH of the claim can take */
	PICK_MS = 120000,
	/* of the volumes whose rule does not name one node, at most this many
	 * are compared with all nodes */
	MAX_SCANS = 64
};

bool kube_spare_is_class(const json_t *class)
{
	const char *maker = kube_text_at(class, "provisioner");

	return !maker || !strcmp(maker, "kubernetes.io/no-provisioner");
}

/* --- nodes that reach a free volume --- */

struct reached {
	const json_t *affinity; /* of one volume */
	const char **name;
	size_t n, cap;
};

static void add_node(const char *name, const json_t *features, void *arg)
{
	struct reached *r = arg;

	if (!kube_selector_matches(r->affinity, name, features))
		return;
	r->name = GROW(r->name, r->n, &r->cap);
	r->name[r->n++] = name;
}

/* Returns the value if the affinity is one rule of the form "label In [value]",
 * as for volumes on a node's own disk; else NULL. */
static const char *only_value(const json_t *affinity)
{
	const json_t *terms = json_object_get(affinity, "nodeSelectorTerms");
	const json_t *rules =
	    json_object_get(json_array_get(terms, 0), "matchExpressions");
	const json_t *values =
	    json_object_get(json_array_get(rules, 0), "values");

	if (json_array_size(terms) != 1 || json_array_size(rules) != 1 ||
	    json_array_size(values) != 1)
		return NULL;
	return json_string_value(json_array_get(values, 0));
}

/* Add the nodes that reach the volume. If the only value in the volume's rule
 * is the name of a node, add this node and look at no other. */
static void add_nodes(struct kube *kube, struct reached *r, uint32_t *scans)
{
	const char *name = only_value(r->affinity);
	const json_t *features =
	    name ? kube_nodes_features(kube->nodes, name) : NULL;

	if (features && kube_selector_matches(r->affinity, name, features))
		add_node(name, features, r);
	else if (++*scans <= MAX_SCANS)
		kube_nodes_each(kube->nodes, add_node, r);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void kube_spare_mark(struct kube *kube)
{
	const struct map *volumes = &kube->claims.volumes;
	int64_t now = clock_boot_ms();
	struct kube_seen *seen, *volume;
	size_t at = 0;

	while ((seen = map_each(volumes, &at)))
		seen->kept_for = NULL;
	at = 0;
	while ((seen = map_each(&kube->claims.claims, &at))) {
		const char *name = kube_text_at(
		    json_object_get(seen->obj, "spec"), "volumeName");

		if (!name && seen->picked && now - seen->picked_ms < PICK_MS)
			name = seen->picked;
		if (!name || seen->gone)
			continue;
		volume = map_find(volumes, kube_text_key(name));
		if (volume)
			volume->kept_for = seen;
	}
}

bool kube_spare_nodes(struct kube *kube, const struct kube_seen *claim,
                      struct buf *ret)
{
	struct reached r = { 0 };
	const struct kube_seen *seen;
	uint32_t scans = 0;
	bool all = false;
	size_t at = 0;
	int64_t size;

	while (!all && (seen = map_each(&kube->claims.volumes, &at))) {
		if (seen->gone || (seen->kept_for && seen->kept_for != claim) ||
		    !kube_volume_suits(seen->obj, claim->obj, &size))
			continue;
		r.affinity = kube_claims_affinity(seen->obj);
		all = !json_is_object(r.affinity);
		if (!all)
			add_nodes(kube, &r, &scans);
	}
	if (!all && r.n)
		qsort(r.name, r.n, sizeof(*r.name), by_name);
	for (size_t i = 0; !all && i < r.n; i++)
		if (!i || strcmp(r.name[i], r.name[i - 1]) != 0)
			buf_printf(ret, "%s,", r.name[i]);
	free(r.name);
	return all;
}

/* --- the volume for a claim --- */

/* Whether another claim names the volume, or a start has picked it for
 * another claim a short while ago. */
static bool is_promised(const struct kube *kube, const struct kube_seen *claim,
                        const char *volume)
{
	const struct kube_seen *seen;
	size_t at = 0;

	while ((seen = map_each(&kube->claims.claims, &at))) {
		const char *has = kube_text_at(
		    json_object_get(seen->obj, "spec"), "volumeName");

		if (seen == claim || seen->gone)
			continue;
		if ((has && !strcmp(has, volume)) ||
		    (seen->picked && !strcmp(seen->picked, volume) &&
		     clock_boot_ms() - seen->picked_ms < PICK_MS))
			return true;
	}
	return false;
}

static bool is_reached(const struct kube *kube, const json_t *volume,
                       const char *const *node, uint32_t n)
{
	const json_t *affinity = kube_claims_affinity(volume);

	for (uint32_t i = 0; i < n; i++)
		if (!kube_selector_matches(
			affinity, node[i],
			kube_nodes_features(kube->nodes, node[i])))
			return false;
	return true;
}

const char *kube_spare_pick(struct kube *kube, struct kube_seen *claim,
                            const char *const *node, uint32_t n)
{
	const struct kube_seen *seen, *best = NULL;
	int64_t size, least = 0;
	size_t at = 0;

	while ((seen = map_each(&kube->claims.volumes, &at))) {
		if (seen->gone ||
		    !kube_volume_suits(seen->obj, claim->obj, &size))
			continue;
		if (best &&
		    (size > least ||
		     (size == least && by_name(&seen->name, &best->name) > 0)))
			continue;
		if (!is_reached(kube, seen->obj, node, n) ||
		    is_promised(kube, claim, seen->name))
			continue;
		best = seen;
		least = size;
	}
	free(claim->picked);
	claim->picked = best ? xstrdup(best->name) : NULL;
	claim->picked_ms = clock_boot_ms();
	kube->claims.picked_until_ms = claim->picked_ms + PICK_MS;
	kube->claims.changed = true;
	return claim->picked;
}
