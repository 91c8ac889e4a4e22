/* volume.c - read volume claims, and match nodes against their volumes */
#include "aischedd/run/kube/object/volume.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/object/labels.h"
#include "libcommon/mem.h"

void kube_claim_read(const json_t *obj, struct kube_claim_said *ret)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *modes =
	    json_object_get(json_object_get(obj, "spec"), "accessModes");
	const char *note = kube_text_at(json_object_get(meta, "annotations"),
	                                KUBE_NOTE_SELECTED);
	const char *phase = kube_word(obj, "status.phase");

	*ret = (struct kube_claim_said){
		.name = kube_word(meta, "name"),
		.uid = kube_word(meta, "uid"),
		.volume = kube_word(obj, "spec.volumeName"),
		.class = kube_word(obj, "spec.storageClassName"),
		.selected = note ? note : "",
		.bound = !strcmp(phase, "Bound"),
		.lost = !strcmp(phase, "Lost"),
		.deleting = json_object_get(meta, "deletionTimestamp") != NULL,
		.share = kube_list_has(modes, "ReadWriteMany") ||
		                 kube_list_has(modes, "ReadOnlyMany")
		             ? VOLUME_SHARED
		         : kube_list_has(modes, "ReadWriteOncePod")
		             ? VOLUME_ONE_POD
		             : VOLUME_ONE_NODE,
	};
}

/* --- free volumes --- */

uint32_t kube_claim_rules(const json_t *claim)
{
	const json_t *spec = json_object_get(claim, "spec");
	const json_t *selector = json_object_get(spec, "selector");
	const json_t *rules = json_object_get(selector, "matchExpressions");
	size_t n = json_array_size(json_object_get(spec, "accessModes")) +
	           json_object_size(json_object_get(selector, "matchLabels")) +
	           json_array_size(rules);

	for (size_t i = 0; n <= KUBE_CLAIM_RULES && i < json_array_size(rules);
	     i++)
		n += json_array_size(
		    json_object_get(json_array_get(rules, i), "values"));
	return n <= KUBE_CLAIM_RULES ? (uint32_t)n : KUBE_CLAIM_RULES + 1;
}

/* Whether no claim is bound to the volume, and the volume is not reserved for
 * another claim (claimRef). */
static bool is_free(const json_t *volume, const json_t *claim)
{
	const json_t *ref =
	    json_object_get(json_object_get(volume, "spec"), "claimRef");
	const char *uid = kube_word(ref, "uid");

	if (json_object_get(json_object_get(volume, "metadata"),
	                    "deletionTimestamp") ||
	    strcmp(kube_word(volume, "status.phase"), "Available") != 0)
		return false;
	if (!json_is_object(ref))
		return true;
	return !strcmp(kube_word(ref, "name"),
	               kube_word(claim, "metadata.name")) &&
	       !strcmp(kube_word(ref, "namespace"),
	               kube_word(claim, "metadata.namespace")) &&
	       (!*uid || !strcmp(uid, kube_word(claim, "metadata.uid")));
}

static const char *mode_of(const json_t *obj)
{
	const char *mode = kube_word(obj, "spec.volumeMode");

	return *mode ? mode : "Filesystem";
}

static int64_t size_at(const json_t *obj, const char *path)
{
	struct kube_reader r = { .obj = obj };
	const json_t *map = kube_map(&r, path);
	int64_t size;
	struct err err;

	if (kube_whole_of(json_object_get(map, "storage"), &size, &err) < 0)
		return -1;
	return size;
}

static bool has_all(const json_t *list, const json_t *words)
{
	const json_t *word;
	size_t i;

	json_array_foreach(words, i, word)
		if (!kube_list_has(list, json_string_value(word)))
			return false;
	return true;
}

bool kube_volume_suits(const json_t *volume, const json_t *claim,
                       int64_t *ret_size)
{
	const json_t *spec = json_object_get(volume, "spec");
	const json_t *want = json_object_get(claim, "spec");
	const json_t *selector = json_object_get(want, "selector");
	const json_t *meta = json_object_get(volume, "metadata");
	const char *name = kube_word(want, "volumeName");

	if (strcmp(kube_word(spec, "storageClassName"),
	           kube_word(want, "storageClassName")) != 0 ||
	    strcmp(mode_of(volume), mode_of(claim)) != 0 ||
	    (*name && strcmp(name, kube_word(meta, "name")) != 0) ||
	    !is_free(volume, claim) ||
	    !has_all(json_object_get(spec, "accessModes"),
	             json_object_get(want, "accessModes")))
		return false;
	if (json_is_object(selector) &&
	    !kube_labels_match(selector, json_object_get(meta, "labels")))
		return false;
	*ret_size = size_at(volume, "spec.capacity");
	return *ret_size >= 0 &&
	       *ret_size >= size_at(claim, "spec.resources.requests");
}

/* --- match nodes against selectors --- */

/* Returns the value of a label in features ("label=value"); "": it has no
 * value; NULL: there is no such label. */
static const char *label_of(const json_t *features, const char *key)
{
	size_t len = strlen(key), i;
	const json_t *value;

	json_array_foreach(features, i, value) {
		const char *s = json_string_value(value);

		if (s && !strncmp(s, key, len) && (!s[len] || s[len] == '='))
			return s[len] ? s + len + 1 : "";
	}
	return NULL;
}

static bool term_holds(const json_t *term, const char *node,
                       const json_t *features)
{
	const json_t *labels = json_object_get(term, "matchExpressions");
	const json_t *fields = json_object_get(term, "matchFields"), *rule;
	size_t i;

	json_array_foreach(labels, i, rule)
		if (!kube_rule_holds(
			rule, label_of(features, kube_word(rule, "key"))))
			return false;
	json_array_foreach(fields, i, rule)
		if (strcmp(kube_word(rule, "key"), "metadata.name") != 0 ||
		    !kube_rule_holds(rule, node))
			return false;
	/* An empty term matches nothing. */
	return json_array_size(labels) || json_array_size(fields);
}

bool kube_selector_matches(const json_t *selector, const char *node,
                           const json_t *features)
{
	const json_t *terms = json_object_get(selector, "nodeSelectorTerms");
	const json_t *term;
	size_t i;

	if (!json_is_object(selector))
		return true;
	json_array_foreach(terms, i, term)
		if (term_holds(term, node, features))
			return true;
	return false;
}

bool kube_topologies_match(const json_t *list, const json_t *features)
{
	const json_t *term, *rule;
	size_t i, k;

	json_array_foreach(list, i, term) {
		bool all = true;

		json_array_foreach(
		    json_object_get(term, "matchLabelExpressions"), k, rule) {
			const char *label =
			    label_of(features, kube_word(rule, "key"));

			all &= label &&
			       kube_list_has(json_object_get(rule, "values"),
			                     label);
		}
		if (all)
			return true;
	}
	return !json_array_size(list);
}

json_t *kube_claim_select(const char *uid, const char *node)
{
	return json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid", uid,
	                 "annotations", KUBE_NOTE_SELECTED, node);
}

json_t *kube_claim_take(const char *uid, const char *volume)
{
	return json_pack("{s:{s:s}, s:{s:s}}", "metadata", "uid", uid, "spec",
	                 "volumeName", volume);
}
