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
	MAX_SCANS = 64,
	/* as many rules of a selector count as one comparison (reach.h) */
	RULES_AT_ONCE = 8
};

bool kube_spare_is_class(const json_t *class)
{
	const char *maker = kube_text_at(class, "provisioner");

	return !maker || !strcmp(maker, "kubernetes.io/no-provisioner");
}

/* --- nodes that reach a free volume --- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *named(const struct kube_seen *claim)
{
	return kube_text_at(json_object_get(claim->obj, "spec"), "volumeName");
}

static bool is_picked(const struct kube_seen *claim)
{
	return claim->picked && clock_boot_ms() - claim->picked_ms < PICK_MS;
}

static void keep(struct kube_seen *volume, struct kube_seen *claim)
{
	if (volume->kept_for || claim->kept)
		return;
	volume->kept_for = claim;
	claim->kept = volume;
}

/* Returns the claimRef of the volume, or NULL. */
static const json_t *reserved_for(const struct kube_seen *volume)
{
	return json_object_get(json_object_get(volume->obj, "spec"),
	                       "claimRef");
}

/* Keep the volume for the claim that its claimRef names. */
static void keep_reserved(struct kube *kube, struct kube_seen *volume)
{
	const json_t *ref = reserved_for(volume);
	const char *name = kube_text_at(ref, "name");
	const char *in = kube_text_at(ref, "namespace");
	const struct kube_space *space = in ? kube_space_find(kube, in) : NULL;
	struct kube_seen *claim =
	    name && space
		? map_find(&kube->claims.claims, kube_space_key(space, name))
		: NULL;

	if (claim)
		keep(volume, claim);
}

void kube_spare_mark(struct kube *kube)
{
	const struct map *volumes = &kube->claims.volumes;
	struct kube_seen *seen, *volume;
	size_t at = 0;
	int64_t size;

	while ((seen = map_each(&kube->claims.claims, &at)))
		seen->kept = NULL;
	at = 0;
	while ((seen = map_each(volumes, &at)))
		seen->kept_for = NULL;
	at = 0;
	while ((seen = map_each(volumes, &at)))
		keep_reserved(kube, seen);
	at = 0;
	while ((seen = map_each(&kube->claims.claims, &at))) {
		const char *name = named(seen);

		if (!name && is_picked(seen))
			name = seen->picked;
		if (!name || seen->gone)
			continue;
		volume = map_find(volumes, kube_text_key(name));
		if (volume && kube_volume_suits(volume->obj, seen->obj, &size))
			keep(volume, seen);
	}
}

/* Append the names of the nodes that reach the volume if it is free and suits
 * the claim. Returns true, and appends nothing, if each node reaches it. */
static bool add_volume(struct kube *kube, const struct kube_seen *volume,
                       const struct kube_seen *claim, uint32_t *scans,
                       struct buf *ret)
{
	const json_t *affinity = kube_claims_affinity(volume->obj);
	int64_t size;

	kube->claims.reach.work +=
	    1 + kube_claim_rules(claim->obj) / RULES_AT_ONCE;
	if (volume->gone || (volume->kept_for && volume->kept_for != claim) ||
	    !kube_volume_suits(volume->obj, claim->obj, &size))
		return false;
	if (!json_is_object(affinity))
		return true;
	if (kube_reach_only(kube, affinity) || ++*scans <= MAX_SCANS)
		kube_reach_nodes(kube, affinity, NULL, ret);
	return false;
}

/* Append the words of text, which are each followed by a comma, sorted and each
 * once. */
static void add_sorted(char *text, struct buf *ret)
{
	const char **name = NULL;
	size_t n = 0, cap = 0;
	char *word;

	while ((word = strsep(&text, ",")) && *word) {
		name = GROW(name, n, &cap);
		name[n++] = word;
	}
	if (n)
		qsort(name, n, sizeof(*name), by_name);
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(name[i], name[i - 1]) != 0)
			buf_printf(ret, "%s,", name[i]);
	free(name);
}

/* As kube_spare_nodes(), but looks at each volume. */
static bool find_nodes(struct kube *kube, const struct kube_seen *claim,
                       struct buf *ret)
{
	const struct map *volumes = &kube->claims.volumes;
	const char *name = named(claim);
	const struct kube_seen *seen;
	struct buf text = { 0 };
	uint32_t scans = 0;
	bool all = false;
	size_t at = 0;

	if (name) {
		seen = map_find(volumes, kube_text_key(name));
		all = seen && add_volume(kube, seen, claim, &scans, &text);
	} else {
		while (!all && (seen = map_each(volumes, &at)))
			all = add_volume(kube, seen, claim, &scans, &text);
	}
	if (!all && text.len)
		add_sorted(text.data, ret);
	buf_free(&text);
	return all;
}

/* Returns what kube_volume_suits() reads of a claim for which no volume is
 * kept. The caller frees it. */
static char *question(const struct kube_seen *claim)
{
	const json_t *spec = json_object_get(claim->obj, "spec");
	const json_t *asks =
	    json_object_get(json_object_get(spec, "resources"), "requests");
	json_t *all = json_pack("[O?, O?, O?, O?, O?]",
	                        json_object_get(spec, "storageClassName"),
	                        json_object_get(spec, "volumeMode"),
	                        json_object_get(spec, "accessModes"),
	                        json_object_get(spec, "selector"),
	                        json_object_get(asks, "storage"));
	char *text =
	    all ? json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

	json_decref(all);
	return text;
}

bool kube_spare_nodes(struct kube *kube, const struct kube_seen *claim,
                      struct buf *ret)
{
	char *key = claim->kept || named(claim) ? NULL : question(claim);
	struct kube_reached *r;
	bool new;

	if (!key)
		return find_nodes(kube, claim, ret);
	r = kube_reach_ask(&kube->claims.reach, key, &new);
	free(key);
	if (new)
		r->anywhere = find_nodes(kube, claim, &r->nodes);
	buf_add(ret, r->nodes.data, r->nodes.len);
	return r->anywhere;
}

/* --- the volume for a claim --- */

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

/* Whether a claim rather gets the first volume: one that is reserved for it, or
 * the smaller one, or the one whose name comes first. */
static bool is_better(const struct kube_seen *a, int64_t a_size,
                      const struct kube_seen *b, int64_t b_size)
{
	bool a_held = reserved_for(a) != NULL, b_held = reserved_for(b) != NULL;

	if (a_held != b_held)
		return a_held;
	return a_size != b_size ? a_size < b_size
	                        : strcmp(a->name, b->name) < 0;
}

/* Returns the volume that an earlier call picked, if it still does. */
static const char *picked_before(struct kube *kube,
                                 const struct kube_seen *claim,
                                 const char *const *node, uint32_t n)
{
	const struct kube_seen *volume;
	int64_t size;

	if (!is_picked(claim))
		return NULL;
	volume = map_find(&kube->claims.volumes, kube_text_key(claim->picked));
	if (!volume || volume->gone ||
	    !kube_volume_suits(volume->obj, claim->obj, &size) ||
	    !is_reached(kube, volume->obj, node, n))
		return NULL;
	return claim->picked;
}

static void set_picked(struct kube *kube, struct kube_seen *claim,
                       const char *volume)
{
	free(claim->picked);
	claim->picked = volume ? xstrdup(volume) : NULL;
	claim->picked_ms = clock_boot_ms();
	claim->asked = false;
	kube->claims.changed = true;
}

void kube_spare_drop(struct kube *kube, struct kube_seen *claim)
{
	if (claim->picked && !claim->asked)
		set_picked(kube, claim, NULL);
}

const char *kube_spare_pick(struct kube *kube, struct kube_seen *claim,
                            const char *const *node, uint32_t n)
{
	const char *before = picked_before(kube, claim, node, n);
	const struct kube_seen *seen, *best = NULL;
	int64_t size, least = 0;
	size_t at = 0;

	if (before)
		return before;
	kube_spare_mark(kube);
	while ((seen = map_each(&kube->claims.volumes, &at))) {
		if (seen->gone || (seen->kept_for && seen->kept_for != claim) ||
		    !kube_volume_suits(seen->obj, claim->obj, &size))
			continue;
		if (best && !is_better(seen, size, best, least))
			continue;
		if (!is_reached(kube, seen->obj, node, n))
			continue;
		best = seen;
		least = size;
	}
	set_picked(kube, claim, best ? best->name : NULL);
	kube->claims.picked_until_ms = claim->picked_ms + PICK_MS;
	return claim->picked;
}
