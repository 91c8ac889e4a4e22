/* node.c - read a node as the API server reports it */
#include "aischedd/run/kube/object/node.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/object/affinity.h"
#include "aischedd/run/kube/object/partition.h"
#include "libcommon/buf.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

#define DEDICATED "aisched.io/dedicated"

static bool matches_one(const json_t *labels, char *term)
{
	char *eq = strchr(term, '=');
	const char *value;

	if (!eq)
		return json_object_get(labels, term) != NULL;
	*eq = '\0';
	value = kube_text_at(labels, term);
	return value && !strcmp(value, eq + 1);
}

bool kube_node_matches(const json_t *obj, const char *selector)
{
	const json_t *labels =
	    json_object_get(json_object_get(obj, "metadata"), "labels");
	char *copy = xstrdup(selector ? selector : ""), *rest = copy, *term;
	bool result = true;

	while (result && (term = strsep(&rest, ",")))
		if (*term)
			result = matches_one(labels, term);
	free(copy);
	return result;
}

static json_t *read_features(const json_t *labels)
{
	json_t *list = json_array(), *value;
	const char *label;

	json_object_foreach((json_t *)labels, label, value) {
		const char *s = json_string_value(value);
		char *word =
		    s && *s ? xasprintf("%s=%s", label, s) : xstrdup(label);

		json_array_append_new(list, json_string(word));
		free(word);
	}
	return list;
}

/* Conditions in which no pods are started on a node: its kubelet would evict
 * them, or they would have no network. */
static const char *const pressures[] = { "MemoryPressure", "DiskPressure",
	                                 "PIDPressure", "NetworkUnavailable" };

static bool drains(const struct conf_pool *pool, const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(pressures); i++)
		if (!strcmp(pressures[i], type))
			return true;
	for (size_t i = 0; i < pool->drain_conditions.n; i++)
		if (!strcmp(pool->drain_conditions.s[i], type))
			return true;
	return false;
}

/* Returns the first condition of the node that keeps pods from being started
 * there, with its message; NULL: there is none. */
static char *read_hindrance(const json_t *status, const struct conf_pool *pool)
{
	const json_t *c;
	size_t i;

	json_array_foreach(json_object_get(status, "conditions"), i, c) {
		const char *type = kube_text_at(c, "type");
		const char *is = kube_text_at(c, "status");
		const char *text = kube_text_at(c, "message");

		if (!type || !is || strcmp(is, "True") != 0 ||
		    !drains(pool, type))
			continue;
		return text && *text ? xasprintf("%s: %s", type, text)
		                     : xstrdup(type);
	}
	return NULL;
}

/*
 * Returns the taints of the node as a list of words, "key" or "key=value",
 * which job constraints can name. DEDICATED, which keeps a node for us, is left
 * out. Taints for a cordon, a condition or a lost node are left out, too: the
 * daemon learns of these states from other fields. Words for NoExecute and
 * PreferNoSchedule have a suffix: the kubelet checks NoExecute, too, and
 * PreferNoSchedule only makes the node less preferred.
 */
static json_t *read_taints(const json_t *spec)
{
	json_t *list = json_array();
	const json_t *taint;
	size_t i;

	json_array_foreach(json_object_get(spec, "taints"), i, taint) {
		const char *name = kube_text_at(taint, "key");
		const char *value = kube_text_at(taint, "value");
		const char *effect = kube_text_at(taint, "effect");
		char *word;

		if (!name || !effect || !strcmp(name, DEDICATED) ||
		    !strncmp(name, "node.kubernetes.io/", 19))
			continue;
		word =
		    xasprintf("%s%s%s%s", name, kube_affinity_effect(effect),
		              value && *value ? "=" : "", value ? value : "");
		json_array_append_new(list, json_string(word));
		free(word);
	}
	return list;
}

/* Returns the value of the label whose key is the level, or ends in "/" and the
 * level; NULL: there is none. */
static const char *level_of(const json_t *labels, const char *level)
{
	const char *exact = kube_text_at(labels, level);
	const char *label;
	json_t *value;

	if (exact)
		return exact;
	json_object_foreach((json_t *)labels, label, value) {
		const char *slash = strrchr(label, '/');

		if (slash && !strcmp(slash + 1, level))
			return json_string_value(value);
	}
	return NULL;
}

/* Returns the node's place in the topology, "block1/rack2": the labels of the
 * levels from the top down to the first level without label; NULL: none. */
static char *read_topology(const struct strlist *levels, const json_t *labels)
{
	struct buf path = { 0 };

	for (size_t i = 0; i < levels->n; i++) {
		const char *at = level_of(labels, levels->s[i]);

		if (!at || !*at || strchr(at, '/'))
			break;
		buf_printf(&path, "%s%s", i ? "/" : "", at);
	}
	return path.len ? buf_take(&path) : NULL;
}

/* Returns why the node is cordoned: the daemon's reason if the daemon has
 * cordoned it. */
static char *read_cordon(const json_t *obj)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const char *why = kube_text_at(json_object_get(meta, "annotations"),
	                               KUBE_NOTE_DRAINED);

	return xstrdup(why && *why ? why : "cordoned in its cluster");
}

void kube_node_read_health(const json_t *obj, const struct conf_pool *pool,
                           struct kube_node_said *ret)
{
	const json_t *spec = json_object_get(obj, "spec"), *c;
	const json_t *status = json_object_get(obj, "status");
	const char *ready = "", *why = "no status yet";
	size_t i;

	json_array_foreach(json_object_get(status, "conditions"), i, c) {
		const char *type = kube_text_at(c, "type");
		const char *is = kube_text_at(c, "status");
		const char *text = kube_text_at(c, "message");

		if (!type || strcmp(type, "Ready") != 0)
			continue;
		ready = is ? is : "";
		why = text && *text ? text : "its kubelet gives no reason";
	}
	*ret = (struct kube_node_said){ 0 };
	ret->down = strcmp(ready, "True") != 0;
	ret->cordoned = json_is_true(json_object_get(spec, "unschedulable"));
	if (ret->down)
		ret->reason = xasprintf("not ready: %s", why);
	else if (ret->cordoned)
		ret->reason = read_cordon(obj);
	else
		ret->reason = read_hindrance(status, pool);
	ret->cordoned |= !ret->down && ret->reason;
}

static char *read_gpu_type(const json_t *labels)
{
	const char *s = kube_text_at(labels, "nvidia.com/gpu.product");

	return s && *s ? xstrdup(s) : NULL;
}

/* A larger value of a label counts as none. */
enum { GPU_MEM_MOST = 1 << 30 /* MiB */ };

/* Returns the MiB of each GPU, as GPU feature discovery labels the node. */
static int64_t read_gpu_mem(const json_t *labels)
{
	const char *s = kube_text_at(labels, "nvidia.com/gpu.memory");
	int64_t mib;

	return s && parse_int(s, 1, GPU_MEM_MOST, &mib, NULL) == 0 ? mib : 0;
}

/* Read the partitions that the node's device plugin counts, and take those out
 * of ret->have that are not given to jobs. */
static void read_parts(const json_t *allocatable, const json_t *labels,
                       struct kube_node_said *ret)
{
	const char *unknown = kube_partition_unknown(allocatable);
	const char *shared =
	    kube_partition_drop_shared(allocatable, labels, ret->have.parts);

	ret->part_unknown = unknown ? xstrdup(unknown) : NULL;
	ret->part_shared = shared ? xstrdup(shared) : NULL;
}

static bool has_our_taint(const json_t *spec)
{
	const json_t *taint;
	size_t i;

	json_array_foreach(json_object_get(spec, "taints"), i, taint) {
		const char *name = kube_text_at(taint, "key");

		if (name && !strcmp(name, DEDICATED))
			return true;
	}
	return false;
}

static char *read_runtime(const json_t *status)
{
	const char *s = kube_text_at(json_object_get(status, "nodeInfo"),
	                             "containerRuntimeVersion");

	return s && *s ? xstrdup(s) : NULL;
}

void kube_node_read(const json_t *obj, const struct conf_pool *pool,
                    const struct strlist *levels, struct kube_node_said *ret)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *labels = json_object_get(meta, "labels");
	const json_t *status = json_object_get(obj, "status");
	const json_t *allocatable = json_object_get(status, "allocatable");

	kube_node_read_health(obj, pool, ret);
	ret->have = kube_amount_read(allocatable, pool, false);
	read_parts(allocatable, labels, ret);
	ret->features = read_features(labels);
	ret->taints = read_taints(json_object_get(obj, "spec"));
	ret->dedicated = has_our_taint(json_object_get(obj, "spec"));
	ret->runtime = read_runtime(status);
	ret->gpu_type = read_gpu_type(labels);
	ret->gpu_mem_mib = read_gpu_mem(labels);
	ret->replicas = kube_replicas_of(labels, KUBE_GPU);
	if (ret->replicas > 1)
		ret->have.gpus = 0;
	ret->topology = read_topology(levels, labels);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool kube_node_said_same(const struct kube_node_said *a,
                         const struct kube_node_said *b)
{
	return a->down == b->down && a->cordoned == b->cordoned &&
	       same_text(a->reason, b->reason) &&
	       same_text(a->gpu_type, b->gpu_type) &&
	       same_text(a->part_unknown, b->part_unknown) &&
	       same_text(a->part_shared, b->part_shared) &&
	       a->gpu_mem_mib == b->gpu_mem_mib && a->replicas == b->replicas &&
	       same_text(a->topology, b->topology) &&
	       same_text(a->runtime, b->runtime) &&
	       a->dedicated == b->dedicated &&
	       !memcmp(&a->have, &b->have, sizeof(a->have)) &&
	       json_equal(a->features, b->features) &&
	       json_equal(a->taints, b->taints);
}

void kube_node_said_fini(struct kube_node_said *said)
{
	free(said->reason);
	free(said->gpu_type);
	free(said->part_unknown);
	free(said->part_shared);
	free(said->topology);
	free(said->runtime);
	json_decref(said->features);
	json_decref(said->taints);
	*said = (struct kube_node_said){ 0 };
}

size_t kube_node_depth(const struct kube_node_said *said)
{
	size_t depth = said->topology != NULL;

	for (const char *s = said->topology; s && *s; s++)
		depth += *s == '/';
	return depth;
}
