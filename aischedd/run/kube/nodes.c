/* nodes.c - the nodes of a cluster, and what pods of others use there */
#include "aischedd/run/kube/nodes.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/device/devices.h"
#include "aischedd/run/kube/device/first.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/node.h"
#include "aischedd/run/kube/object/partition.h"
#include "aischedd/run/kube/object/pod.h"
#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/limits.h"
#include "libcommon/map.h"
#include "libcommon/mem.h"
#include "libcommon/mig.h"

enum {
	/* how long changes are collected, before the daemon is told of all of
	 * them together */
	TELL_MS = 50,
	MAX_GPUS = 64
};

struct kube_node {
	char *name;      /* the first member, for kube_first() */
	bool exists;     /* false: known only from the nodeName of pods */
	bool there;      /* it exists and is in the pool */
	bool marked;     /* the list being read has not shown it yet */
	bool dirty;      /* the daemon has not yet been told of a change */
	int64_t down_ms; /* when we first saw that it is down */
	struct kube_amount used;
	struct kube_node_said said;
};

struct kube_nodes {
	const struct conf_pool *pool;
	const struct conf_topology *topology;
	struct kube *kube;
	struct map by_name;
	struct event *later;
	bool changed; /* at least one node is dirty */
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

/* --- report nodes to the daemon --- */

static const char **words_of(const json_t *list, struct strlist *ret)
{
	size_t n = json_array_size(list);
	const char **words = xcalloc(n + 1, sizeof(*words));

	for (size_t i = 0; i < n; i++)
		words[i] = json_string_value(json_array_get(list, i));
	*ret = (struct strlist){ n, words };
	return words;
}

static uint32_t count_of(int64_t n, uint32_t most)
{
	return n < 0 ? 0 : n < most ? (uint32_t)n : most;
}

/* Set the members of info for GPUs, if the node gives its GPUs by
 * ResourceClaims. */
static void put_gpus(struct node_info *info, const struct kube_gpus *gpus)
{
	info->ngpus = gpus->n;
	info->gpu_parts = gpus->parts;
	info->mig = gpus->mig;
	info->used_parts = NULL;
	info->gpu_type = gpus->type ? gpus->type : info->gpu_type;
	info->gpu_numa = gpus->numa;
	info->gpu_link = gpus->link;
	info->gpus_named = true;
	info->gpu_numas_known = gpus->numas_known;
	info->gpus_shared = gpus->shares;
	if (gpus->mem_mib)
		info->gpu_mem_mib = gpus->mem_mib;
	info->gpu_held = gpus->held;
	info->used_gpu_milli = 0;
	for (uint32_t i = 0; i < gpus->n; i++)
		info->used_gpu_milli +=
		    gpus->held[i] + 1000 -
		    mig_parts_free(gpus->parts[i], gpus->mig);
	if (!gpus->drain || info->down || info->cordoned)
		return;
	info->cordoned = true;
	info->reason = gpus->drain;
}

/* Add the partitions that the device plugin counts, on made-up GPUs behind the
 * whole ones. `parts` has room for MAX_GPUS. */
static void put_parts(struct node_info *info, const struct kube_node *node,
                      uint64_t *parts)
{
	uint32_t n = kube_partition_lay(
	    node->said.have.parts, MAX_GPUS - info->ngpus, parts + info->ngpus);

	if (!n)
		return;
	info->ngpus += n;
	info->gpu_parts = parts;
	info->used_parts = node->used.parts;
}

/* Set the members of info for devices other than GPUs that claims give. */
static void put_kinds(struct node_info *info,
                      const struct kube_kinds_told *kinds)
{
	info->kinds_named = kinds->named;
	info->kinds_rooted = kinds->roots_known;
	info->kinds_zoned = kinds->numas_known;
	info->device = kinds->device;
	info->ndevices = kinds->n;
	for (int i = 0; i < DEVICE_KINDS; i++)
		if (kinds->named >> i & 1) {
			info->devs.n[i] = kinds->all.n[i];
			info->used_devs.n[i] = kinds->held.n[i];
		}
}

/* Set the PCIe roots of GPUs and of other devices: equal ones get the same
 * number. */
static void put_roots(struct node_info *info, const struct kube_gpus *gpus,
                      struct kube_kinds_told *kinds, uint16_t ret[MAX_GPUS])
{
	const char *root[LIMIT_GPUS + LIMIT_DEVICES];

	for (uint32_t i = 0; i < gpus->n + kinds->n; i++) {
		uint16_t k = 0;

		root[i] =
		    i < gpus->n ? gpus->root[i] : kinds->root[i - gpus->n];
		while (root[i] && k < i &&
		       (!root[k] || strcmp(root[k], root[i]) != 0))
			k++;
		k = root[i] ? k + 1 : 0;
		if (i < gpus->n)
			ret[i] = k;
		else
			kinds->device[i - gpus->n].root = k;
	}
	info->gpu_root = ret;
}

static struct device_counts devs_of(const int64_t n[DEVICE_KINDS])
{
	struct device_counts ret;

	for (int i = 0; i < DEVICE_KINDS; i++)
		ret.n[i] = (int16_t)count_of(n[i], DEVICE_MAX);
	return ret;
}

static void tell(struct kube_nodes *nodes, struct kube_node *node)
{
	uint64_t parts[MAX_GPUS] = { 0 };
	uint16_t roots[MAX_GPUS] = { 0 };
	static const uint8_t one_group[MAX_GPUS];
	const struct conf_pool *pool = nodes->kube->pool;
	struct kube_amount used = node->used;
	struct kube_gpus gpus;
	struct kube_kinds_told kinds;
	struct node_info info = {
		.name = node->name,
		.cpu_milli =
		    kube_cpus_more(pool, node->said.have.cpu_milli, false),
		.mem_mib = node->said.have.mem_mib,
		.tmp_mib = node->said.have.tmp_mib,
		.slots = count_of(node->said.have.pods, UINT32_MAX),
		.ngpus = count_of(node->said.have.gpus, MAX_GPUS),
		.gpu_type = node->said.gpu_type,
		.gpu_mem_mib = node->said.gpu_mem_mib,
		.gpu_numa = one_group,
		.gpu_link = one_group,
		.down = node->said.down,
		.gone = !node->there,
		.cordoned = node->said.cordoned,
		.reason = node->there ? node->said.reason : "no longer there",
		.topology = node->said.topology,
		.used_cpu_milli = kube_cpus_more(pool, used.cpu_milli, true),
		.used_mem_mib = used.mem_mib,
		.used_tmp_mib = used.tmp_mib,
		.used_gpu_milli =
		    node->said.replicas > 1
			? 0
			: 1000 * (int64_t)count_of(used.gpus, MAX_GPUS),
		.used_slots = count_of(used.pods, UINT32_MAX),
		.devs = devs_of(node->said.have.devs),
		.used_devs = devs_of(used.devs),
	};
	const char **features = words_of(node->said.features, &info.features);
	const char **taints = words_of(node->said.taints, &info.taints);

	node->dirty = false;
	put_parts(&info, node, parts);
	if (kube_devices_show(nodes->kube, node->name, &node->said, &gpus))
		put_gpus(&info, &gpus);
	kube_kinds_show(nodes->kube, node->name, &node->said, &kinds);
	put_kinds(&info, &kinds);
	put_roots(&info, &gpus, &kinds, roots);
	kube_numa_show(nodes->kube, &info);
	nodes->kube->fn(&(struct run_event){ .kind = RUN_NODE, .node = &info },
	                nodes->kube->arg);
	free(features);
	free(taints);
}

static void node_free(struct kube_node *node)
{
	kube_node_said_fini(&node->said);
	free(node->name);
	free(node);
}

/* Whether the node is gone, with all pods that used something there. */
static bool is_over(const struct kube_node *node)
{
	static const struct kube_amount nothing;

	return !node->exists && !node->there && !node->dirty &&
	       !memcmp(&node->used, &nothing, sizeof(nothing));
}

/* Forget nodes that are gone, as others come under new names. */
static void forget(struct kube_nodes *nodes)
{
	struct kube_node *node, **gone = NULL;
	size_t n = 0, cap = 0, at = 0;

	while ((node = map_each(&nodes->by_name, &at))) {
		if (!is_over(node))
			continue;
		gone = GROW(gone, n, &cap);
		gone[n++] = node;
	}
	for (size_t i = 0; i < n; i++) {
		kube_drain_forget(nodes->kube, gone[i]->name);
		map_del(&nodes->by_name, key(gone[i]->name));
		node_free(gone[i]);
	}
	free(gone);
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
	forget(nodes);
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
	node->used.tmp_mib += sign * use->tmp_mib;
	node->used.gpus += sign * use->gpus;
	node->used.pods += sign * use->pods;
	for (int i = 0; i < MIG_PROFILES_MOST; i++)
		node->used.parts[i] += (uint16_t)(sign * use->parts[i]);
	for (int i = 0; i < DEVICE_KINDS; i++)
		node->used.devs[i] += sign * use->devs[i];
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

	return node && node->exists && !node->said.down;
}

void kube_nodes_each(const struct kube_nodes *nodes, kube_nodes_fn *fn,
                     void *arg)
{
	const struct kube_node *node;
	size_t at = 0;

	while ((node = map_each(&nodes->by_name, &at)))
		if (node->there)
			fn(node->name, node->said.features, arg);
}

int64_t kube_nodes_memory(const struct kube_nodes *nodes, const char *name)
{
	const struct kube_node *node = find(nodes, name);

	return node ? node->said.have.mem_mib : 0;
}

void kube_nodes_each_free(const struct kube_nodes *nodes,
                          kube_nodes_free_fn *fn, void *arg)
{
	const struct kube_node *node;
	size_t at = 0;

	while ((node = map_each(&nodes->by_name, &at)))
		if (node->there && !node->said.down && !node->said.cordoned)
			fn(node->name, &node->said, &node->used, arg);
}

const json_t *kube_nodes_features(const struct kube_nodes *nodes,
                                  const char *name)
{
	const struct kube_node *node = find(nodes, name);

	return node ? node->said.features : NULL;
}

int64_t kube_nodes_down_ms(const struct kube_nodes *nodes, const char *name)
{
	const struct kube_node *node = find(nodes, name);

	return node && node->said.down ? clock_boot_ms() - node->down_ms : 0;
}

/* --- handle what the watch reports --- */

static void node_seen(struct kube_nodes *nodes, const json_t *obj, bool deleted)
{
	const json_t *meta = json_object_get(obj, "metadata");
	const char *name = kube_text_at(meta, "name");
	const char *selector = nodes->pool->node_selector;
	bool here = name && !deleted && kube_node_matches(obj, selector);
	struct kube_node *node;
	struct kube_node_said was;
	bool was_there;

	if (!name)
		return;
	node = intern(nodes, name);
	was = node->said;
	was_there = node->there;
	node->exists = !deleted;
	node->there = here;
	node->marked = false;
	if (here || was_there)
		kube_node_read(obj, nodes->pool, &nodes->topology->keys,
		               &node->said);
	else
		kube_node_read_health(obj, nodes->pool, &node->said);
	if (!was.down)
		node->down_ms = clock_boot_ms();
	if (was_there != here ||
	    (here && !kube_node_said_same(&was, &node->said)))
		touch(nodes, node);
	/* The kubelet reports each node now and then, mostly without a change:
	 * claims are not looked at for that. */
	if (was_there != here ||
	    (here && !json_equal(was.features, node->said.features)))
		kube_claims_touch(nodes->kube);
	kube_node_said_fini(&was);
}

static void each(struct kube_nodes *nodes, bool synced)
{
	struct kube_node *node;
	size_t at = 0;

	while ((node = map_each(&nodes->by_name, &at))) {
		if (synced && node->marked) {
			if (node->there) {
				touch(nodes, node);
				kube_claims_touch(nodes->kube);
			}
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

static bool has_unknown_parts(const void *node, const void *arg)
{
	const struct kube_node *it = node;

	(void)arg;
	return it->there && it->said.part_unknown;
}

/* Append that a node has partitions of which jobs cannot ask for any. */
static void put_unknown_parts(const struct kube_nodes *nodes, struct buf *out)
{
	size_t n;
	const struct kube_node *first =
	    kube_first(&nodes->by_name, has_unknown_parts, NULL, &n);

	if (!first)
		return;
	buf_printf(out,
	           "%snode '%s' has resource '%.100s', of a MIG profile that "
	           "aisched does not know: jobs cannot have it",
	           out->len ? "; " : "", first->name, first->said.part_unknown);
	if (n > 1)
		buf_printf(out, ", and %zu more have such", n - 1);
}

static bool has_shared_parts(const void *node, const void *arg)
{
	const struct kube_node *it = node;

	(void)arg;
	return it->there && it->said.part_shared;
}

/* Append that partitions of a node are not given, because pods share each of
 * them. */
static void put_shared_parts(const struct kube_nodes *nodes, struct buf *out)
{
	size_t n;
	const struct kube_node *first =
	    kube_first(&nodes->by_name, has_shared_parts, NULL, &n);

	if (!first)
		return;
	buf_printf(out,
	           "%snode '%s' counts each partition of '%.100s' several "
	           "times, for pods to share: none is given to jobs",
	           out->len ? "; " : "", first->name, first->said.part_shared);
	if (n > 1)
		buf_printf(out, "; so do %zu more", n - 1);
}

static bool has_replicas(const void *node, const void *arg)
{
	const struct kube_node *it = node;

	(void)arg;
	return it->there && it->said.replicas > 1;
}

/* Append that a node's GPUs are not given, because pods share each of them. */
static void put_replicas(const struct kube_nodes *nodes, struct buf *out)
{
	size_t n;
	const struct kube_node *first =
	    kube_first(&nodes->by_name, has_replicas, NULL, &n);

	if (!first)
		return;
	buf_printf(out,
	           "%snode '%s' counts each of its GPUs %" PRIi64
	           " times (%s), for pods to share: none is given to jobs",
	           out->len ? "; " : "", first->name, first->said.replicas,
	           KUBE_LABEL_REPLICAS);
	if (n > 1)
		buf_printf(out, "; so do %zu more", n - 1);
}

static bool lacks_levels(const void *node, const void *arg)
{
	const struct kube_node *it = node;
	const struct conf_topology *topology = arg;

	return it->there && kube_node_depth(&it->said) < topology->levels.n;
}

static void put_levels(const struct kube_nodes *nodes, struct buf *out)
{
	size_t n;
	const struct kube_node *first =
	    kube_first(&nodes->by_name, lacks_levels, nodes->topology, &n);

	if (!first)
		return;
	buf_printf(out, "node '%s' has no label for level '%s'", first->name,
	           nodes->topology->levels.s[kube_node_depth(&first->said)]);
	if (n > 1)
		buf_printf(out, ", and %zu more lack some", n - 1);
}

const char *kube_nodes_lacks(struct kube_nodes *nodes)
{
	buf_clear(&nodes->lacks);
	put_levels(nodes, &nodes->lacks);
	put_unknown_parts(nodes, &nodes->lacks);
	put_shared_parts(nodes, &nodes->lacks);
	put_replicas(nodes, &nodes->lacks);
	return nodes->lacks.len ? nodes->lacks.data : NULL;
}

struct kube_nodes *kube_nodes_new(struct kube *kube, struct event_base *base,
                                  const struct conf_pool *pool,
                                  const struct conf_topology *topology)
{
	struct kube_nodes *nodes = xcalloc(1, sizeof(*nodes));

	nodes->pool = pool;
	nodes->topology = topology;
	nodes->kube = kube;
	nodes->later = evtimer_new(base, on_later, nodes);
	return nodes;
}

void kube_nodes_free(struct kube_nodes *nodes)
{
	struct kube_node *node;
	size_t at = 0;

	if (!nodes)
		return;
	while ((node = map_each(&nodes->by_name, &at)))
		node_free(node);
	map_free(&nodes->by_name);
	event_free(nodes->later);
	buf_free(&nodes->lacks);
	free(nodes);
}
