/* kube_nodes.c - the nodes of a cluster, and what pods of others use there */
#include "aischedd/run/kube_nodes.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube_call.h"
#include "aischedd/run/kube_drain.h"
#include "libcommon/buf.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"

#define DEDICATED "aisched.io/dedicated"

enum {
	TELL_MS = 50, /* changes of use that are told together */
	MAX_GPUS = 64
};

struct kube_node {
	char *name;
	bool exists; /* else only pods speak of it */
	bool there;  /* and it is of the pool */
	bool marked; /* of before the list that is being read */
	bool dirty;  /* to be told */
	bool down, cordoned;
	int64_t down_ms; /* since when it is down, as far as we know */
	char *reason;
	struct kube_amount have, used;
	char *gpu_type; /* or NULL */
	json_t *features, *taints;
	char *topology; /* or NULL */
};

struct kube_nodes {
	const struct conf_pool *pool;
	const struct strlist *levels;
	run_event_fn *fn;
	void *arg;
	struct map by_name;
	struct event *later;
	bool changed; /* some node is dirty */
	struct buf lacks;
};

static uint64_t key(const char *name)
{
	return hash_bytes(0, name, strlen(name));
}

static struct kube_node *find(const struct kube_nodes *nodes, const char *name)
{
	return map_find(&nodes->by_name, key(name));
}

static struct kube_node *intern(struct kube_nodes *nodes, const char *name)
{
	struct kube_node *node = find(nodes, name);

	if (node)
		return node;
	node = xcalloc(1, sizeof(*node));
	node->name = xstrdup(name);
	map_set(&nodes->by_name, key(name), node);
	return node;
}

/* --- telling --- */

static const char **words_of(const json_t *list, struct strlist *ret)
{
	size_t n = json_array_size(list);
	const char **words = xcalloc(n + 1, sizeof(*words));

	for (size_t i = 0; i < n; i++)
		words[i] = json_string_value(json_array_get(list, i));
	*ret = (struct strlist){ n, words };
	return words;
}

static void tell(struct kube_nodes *nodes, struct kube_node *node)
{
	static const uint8_t one_group[MAX_GPUS];
	struct kube_amount used = node->used;
	struct node_info info = {
		.name = node->name,
		.cpu_milli = node->have.cpu_milli,
		.mem_mib = node->have.mem_mib,
		.ngpus = (uint32_t)(node->have.gpus < MAX_GPUS ? node->have.gpus
		                                               : MAX_GPUS),
		.gpu_type = node->gpu_type,
		.gpu_numa = one_group,
		.gpu_link = one_group,
		.down = node->down,
		.gone = !node->there,
		.cordoned = node->cordoned,
		.reason = node->reason,
		.topology = node->topology,
		.used_cpu_milli = used.cpu_milli,
		.used_mem_mib = used.mem_mib,
		.used_gpus =
		    (uint32_t)(used.gpus < MAX_GPUS ? used.gpus : MAX_GPUS),
	};
	const char **features = words_of(node->features, &info.features);
	const char **taints = words_of(node->taints, &info.taints);

	node->dirty = false;
	nodes->fn(&(struct run_event){ .kind = RUN_NODE, .node = &info },
	          nodes->arg);
	free(features);
	free(taints);
}

void kube_nodes_flush(struct kube_nodes *nodes)
{
	struct kube_node *node;
	size_t at = 0;

	if (!nodes->changed)
		return;
	nodes->changed = false;
	event_del(nodes->later);
	while ((node = map_each(&nodes->by_name, &at)))
		if (node->dirty)
			tell(nodes, node);
}

static void on_later(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	kube_nodes_flush(arg);
}

static void touch(struct kube_nodes *nodes, struct kube_node *node)
{
	struct timeval soon = { .tv_usec = TELL_MS * 1000 };

	node->dirty = true;
	if (!nodes->changed)
		event_add(nodes->later, &soon);
	nodes->changed = true;
}

void kube_nodes_use(struct kube_nodes *nodes, const char *name,
                    const struct kube_amount *use, bool on)
{
	struct kube_node *node = intern(nodes, name);
	int sign = on ? 1 : -1;

	node->used.cpu_milli += sign * use->cpu_milli;
	node->used.mem_mib += sign * use->mem_mib;
	node->used.gpus += sign * use->gpus;
	if (node->there)
		touch(nodes, node);
}

void kube_nodes_retell(struct kube_nodes *nodes, const char *name)
{
	struct kube_node *node = find(nodes, name);

	if (node && node->there)
		touch(nodes, node);
}

bool kube_nodes_is_there(const struct kube_nodes *nodes, const char *name)
{
	const struct kube_node *node = find(nodes, name);

	return node && node->exists;
}

bool kube_nodes_is_up(const struct kube_nodes *nodes, const char *name)
{
	const struct kube_node *node = find(nodes, name);

	return node && node->exists && !node->down;
}

int64_t kube_nodes_down_ms(const struct kube_nodes *nodes, const char *name)
{
	const struct kube_node *node = find(nodes, name);

	return node && node->down ? kube_now_ms() - node->down_ms : 0;
}

/* --- reading --- */

static bool matches_one(const json_t *labels, char *term)
{
	char *eq = strchr(term, '=');
	const char *value;

	if (!eq)
		return json_object_get(labels, term) != NULL;
	*eq = '\0';
	value = json_string_value(json_object_get(labels, term));
	return value && !strcmp(value, eq + 1);
}

/* "pool=gpu,disk": all of them. */
static bool is_of_pool(const struct kube_nodes *nodes, const json_t *labels)
{
	const char *selector = nodes->pool->node_selector;
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

/*
 * What keeps pods away that do not name it.  Nodes that are kept for us say
 * that with a taint of ours; what cordon and a lost node add is told as such.
 */
static json_t *read_taints(const json_t *spec)
{
	json_t *list = json_array();
	const json_t *taint;
	size_t i;

	json_array_foreach(json_object_get(spec, "taints"), i, taint) {
		const char *name =
		    json_string_value(json_object_get(taint, "key"));
		const char *value =
		    json_string_value(json_object_get(taint, "value"));
		const char *effect =
		    json_string_value(json_object_get(taint, "effect"));
		char *word;

		if (!name || !effect || !strcmp(effect, "PreferNoSchedule") ||
		    !strcmp(name, DEDICATED) ||
		    !strncmp(name, "node.kubernetes.io/", 19))
			continue;
		word = value && *value ? xasprintf("%s=%s", name, value)
		                       : xstrdup(name);
		json_array_append_new(list, json_string(word));
		free(word);
	}
	return list;
}

/* The label whose key is the level, or ends in "/" and the level. */
static const char *level_of(const json_t *labels, const char *level)
{
	const char *exact = json_string_value(json_object_get(labels, level));
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

/* From the top down to the first level that the node has no label for. */
static char *read_topology(const struct kube_nodes *nodes, const json_t *labels)
{
	struct buf path = { 0 };

	for (size_t i = 0; i < nodes->levels->n; i++) {
		const char *at = level_of(labels, nodes->levels->s[i]);

		if (!at || !*at || strchr(at, '/'))
			break;
		buf_printf(&path, "%s%s", i ? "/" : "", at);
	}
	return path.len ? buf_take(&path) : NULL;
}

static void set(char **text, char *to)
{
	free(*text);
	*text = to;
}

/* By us with the reason that we were given, or by whoever could. */
static char *read_cordon(const json_t *obj)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const char *why = json_string_value(json_object_get(
	    json_object_get(meta, "annotations"), KUBE_NOTE_DRAINED));

	return xstrdup(why && *why ? why : "cordoned in its cluster");
}

static void read_health(struct kube_node *node, const json_t *obj)
{
	const json_t *spec = json_object_get(obj, "spec"), *c;
	const json_t *status = json_object_get(obj, "status");
	const char *ready = "", *why = "no status yet";
	size_t i;

	json_array_foreach(json_object_get(status, "conditions"), i, c) {
		const char *type =
		    json_string_value(json_object_get(c, "type"));
		const char *is =
		    json_string_value(json_object_get(c, "status"));
		const char *text =
		    json_string_value(json_object_get(c, "message"));

		if (!type || strcmp(type, "Ready") != 0)
			continue;
		ready = is ? is : "";
		why = text && *text ? text : "its kubelet says so";
	}
	if (!node->down)
		node->down_ms = kube_now_ms();
	node->down = strcmp(ready, "True") != 0;
	node->cordoned = json_is_true(json_object_get(spec, "unschedulable"));
	set(&node->reason, node->down       ? xasprintf("not ready: %s", why)
	                   : node->cordoned ? read_cordon(obj)
	                                    : NULL);
}

static char *read_gpu_type(const json_t *labels)
{
	const char *s = json_string_value(
	    json_object_get(labels, "nvidia.com/gpu.product"));

	return s && *s ? xstrdup(s) : NULL;
}

static void node_read(struct kube_nodes *nodes, struct kube_node *node,
                      const json_t *obj)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const json_t *labels = json_object_get(meta, "labels");
	const json_t *status = json_object_get(obj, "status");

	node->have = kube_amount_read(json_object_get(status, "allocatable"),
	                              nodes->pool->gpu_resource, false);
	read_health(node, obj);
	json_decref(node->features);
	json_decref(node->taints);
	node->features = read_features(labels);
	node->taints = read_taints(json_object_get(obj, "spec"));
	set(&node->gpu_type, read_gpu_type(labels));
	set(&node->topology, read_topology(nodes, labels));
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* A node says every few minutes that it lives, which changes nothing. */
static bool same(const struct kube_node *a, const struct kube_node *b)
{
	return a->there == b->there && a->down == b->down &&
	       a->cordoned == b->cordoned && same_text(a->reason, b->reason) &&
	       same_text(a->gpu_type, b->gpu_type) &&
	       same_text(a->topology, b->topology) &&
	       !memcmp(&a->have, &b->have, sizeof(a->have)) &&
	       json_equal(a->features, b->features) &&
	       json_equal(a->taints, b->taints);
}

static void node_fini(struct kube_node *node)
{
	free(node->reason);
	free(node->gpu_type);
	free(node->topology);
	json_decref(node->features);
	json_decref(node->taints);
}

static void node_seen(struct kube_nodes *nodes, const json_t *obj, bool deleted)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const char *name = json_string_value(json_object_get(meta, "name"));
	bool here = name && !deleted &&
	            is_of_pool(nodes, json_object_get(meta, "labels"));
	struct kube_node *node, was;

	if (!name)
		return;
	node = intern(nodes, name);
	node->exists = !deleted;
	node->marked = false;
	if (!here && !node->there) {
		read_health(node, obj);
		return;
	}
	was = *node;
	node->reason = node->gpu_type = node->topology = NULL;
	node->features = node->taints = NULL;
	node->there = here;
	node_read(nodes, node, obj);
	if (!here)
		set(&node->reason, xstrdup("no longer there"));
	if (!same(&was, node))
		touch(nodes, node);
	node_fini(&was);
}

static void each(struct kube_nodes *nodes, bool synced)
{
	struct kube_node *node;
	size_t at = 0;

	while ((node = map_each(&nodes->by_name, &at))) {
		if (synced && node->marked) {
			if (node->there)
				touch(nodes, node);
			node->exists = node->there = false;
		}
		node->marked = !synced;
	}
}

void kube_nodes_news(struct kube_nodes *nodes, enum kube_news news, json_t *obj)
{
	switch (news) {
	case KUBE_RESET:
	case KUBE_SYNCED:
		each(nodes, news == KUBE_SYNCED);
		break;
	case KUBE_ADDED:
	case KUBE_MODIFIED:
	case KUBE_DELETED:
		node_seen(nodes, obj, news == KUBE_DELETED);
		break;
	case KUBE_TROUBLE:
		break;
	}
}

static size_t depth_of(const struct kube_node *node)
{
	size_t depth = node->topology != NULL;

	for (const char *s = node->topology; s && *s; s++)
		depth += *s == '/';
	return depth;
}

const char *kube_nodes_lacks(struct kube_nodes *nodes)
{
	const struct kube_node *node, *first = NULL;
	size_t n = 0, at = 0;

	buf_clear(&nodes->lacks);
	while ((node = map_each(&nodes->by_name, &at))) {
		if (!node->there || depth_of(node) >= nodes->levels->n)
			continue;
		if (n++ == 0 || strcmp(node->name, first->name) < 0)
			first = node;
	}
	if (!n)
		return NULL;
	buf_printf(&nodes->lacks, "node '%s' has no label for level '%s'",
	           first->name, nodes->levels->s[depth_of(first)]);
	if (n > 1)
		buf_printf(&nodes->lacks, ", and %zu more lack some", n - 1);
	buf_addc(&nodes->lacks, '.');
	return nodes->lacks.data;
}

struct kube_nodes *kube_nodes_new(struct event_base *base,
                                  const struct conf_pool *pool,
                                  const struct strlist *levels,
                                  run_event_fn *fn, void *arg)
{
	struct kube_nodes *nodes = xcalloc(1, sizeof(*nodes));

	nodes->pool = pool;
	nodes->levels = levels;
	nodes->fn = fn;
	nodes->arg = arg;
	nodes->later = evtimer_new(base, on_later, nodes);
	return nodes;
}

void kube_nodes_free(struct kube_nodes *nodes)
{
	struct kube_node *node;
	size_t at = 0;

	if (!nodes)
		return;
	while ((node = map_each(&nodes->by_name, &at))) {
		node_fini(node);
		free(node->name);
		free(node);
	}
	map_free(&nodes->by_name);
	event_free(nodes->later);
	buf_free(&nodes->lacks);
	free(nodes);
}
