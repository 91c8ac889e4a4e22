/* numa.c - NUMA nodes of nodes whose kubelets choose CPUs and GPUs */
#include "aischedd/run/kube/device/numa.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/kube.h"
#include "aischedd/run/kube/object/zones.h"
#include "libcommon/mem.h"

struct kube_numa_node {
	char *name;
	bool marked; /* the list being read has not shown it yet */
	struct kube_zones zones;
	/* columns that struct node_info refers to */
	uint8_t *cpu_numa, gpu_numa[LIMIT_GPUS];
	uint16_t *cpu_core;
	int64_t mem_mib[LIMIT_SOCKETS];
	int64_t free_gpus[LIMIT_SOCKETS], free_cpus[LIMIT_SOCKETS];
};

/* --- handle what the watch reports ---------------------------------------- */

static struct kube_numa_node *find(const struct kube *kube, const char *name)
{
	return map_find(&kube->numa.nodes, kube_text_key(name));
}

static void node_free(struct kube_numa_node *node)
{
	kube_zones_fini(&node->zones);
	free(node->cpu_numa);
	free(node->cpu_core);
	free(node->name);
	free(node);
}

static void forget(struct kube *kube, struct kube_numa_node *node)
{
	map_del(&kube->numa.nodes, kube_text_key(node->name));
	kube_nodes_retell(kube->nodes, node->name);
	node_free(node);
}

static void seen(struct kube *kube, const char *name, const json_t *obj)
{
	struct kube_numa_node *node = find(kube, name);
	struct kube_zones zones;

	if (!node) {
		node = xcalloc(1, sizeof(*node));
		node->name = xstrdup(name);
		map_set(&kube->numa.nodes, kube_text_key(name), node);
	}
	node->marked = false;
	kube_zones_read(obj, kube->pool, &zones);
	if (!kube_zones_same(&node->zones, &zones))
		kube_nodes_retell(kube->nodes, name);
	kube_zones_fini(&node->zones);
	node->zones = zones;
}

static void each(struct kube *kube, bool synced)
{
	struct kube_numa_node *node;
	size_t at = 0;

	while ((node = map_each(&kube->numa.nodes, &at))) {
		if (synced && node->marked) {
			kube_zones_fini(&node->zones);
			kube_nodes_retell(kube->nodes, node->name);
		}
		node->marked = !synced;
	}
}

void kube_numa_news(struct kube *kube, enum kube_news news, const json_t *obj)
{
	const char *name =
	    kube_text_at(json_object_get(obj, "metadata"), "name");
	struct kube_numa_node *node = name ? find(kube, name) : NULL;

	if (news == KUBE_RESET || news == KUBE_SYNCED)
		each(kube, news == KUBE_SYNCED);
	else if (news == KUBE_DELETED && node)
		forget(kube, node);
	else if (name && (news == KUBE_ADDED || news == KUBE_MODIFIED))
		seen(kube, name, obj);
}

/* --- report nodes to the daemon ------------------------------------------- */

/* Set the NUMA node of each GPU: as many as the zones have, in order. */
static void deal_gpus(struct kube_numa_node *node, uint32_t ngpus)
{
	const struct kube_zones *zones = &node->zones;
	int64_t left = zones->zone[0].all.gpus;
	uint8_t z = 0;

	for (uint32_t i = 0; i < ngpus; i++, left--) {
		for (; !left && z + 1u < zones->n; z++)
			left = zones->zone[z + 1].all.gpus;
		node->gpu_numa[i] = z;
	}
}

/* Make up a list of the CPUs, each a core of its own. Returns how many these
 * are. */
static uint32_t deal_cpus(struct kube_numa_node *node)
{
	const struct kube_zones *zones = &node->zones;
	uint32_t n = 0;

	free(node->cpu_numa);
	free(node->cpu_core);
	for (uint32_t z = 0; z < zones->n; z++)
		n += (uint32_t)zones->zone[z].all.cpus;
	node->cpu_numa = xcalloc(n + 1, sizeof(*node->cpu_numa));
	node->cpu_core = xcalloc(n + 1, sizeof(*node->cpu_core));
	n = 0;
	for (uint32_t z = 0; z < zones->n; z++)
		for (int64_t i = 0; i < zones->zone[z].all.cpus; i++, n++) {
			node->cpu_numa[n] = (uint8_t)z;
			node->cpu_core[n] = (uint16_t)n;
		}
	return n;
}

/* Whether the zones say where that many GPUs are. */
static bool has_all(const struct kube_zones *zones, uint32_t ngpus)
{
	int64_t n = 0;

	for (uint32_t z = 0; z < zones->n; z++)
		n += zones->zone[z].all.gpus;
	return zones->n && n >= ngpus;
}

void kube_numa_show(struct kube *kube, struct node_info *info)
{
	const struct conf_pool *pool = kube->pool;
	struct kube_numa_node *node = find(kube, info->name);
	const struct kube_zones *zones = node ? &node->zones : NULL;
	int64_t sum = 0;

	if (!node || info->gpus_named || !has_all(zones, info->ngpus))
		return;
	info->policy = zones->policy;
	if (zones->policy < NODE_POLICY_RESTRICTED)
		return;
	deal_gpus(node, info->ngpus);
	info->gpu_numa = node->gpu_numa;
	for (uint32_t z = 0; z < zones->n; z++) {
		node->free_gpus[z] = zones->zone[z].free_gpus;
		node->free_cpus[z] = zones->zone[z].free_cpus;
	}
	memset(node->free_gpus + zones->n, 0,
	       (LIMIT_SOCKETS - zones->n) * sizeof(int64_t));
	memset(node->free_cpus + zones->n, 0,
	       (LIMIT_SOCKETS - zones->n) * sizeof(int64_t));
	info->zone_gpus = node->free_gpus;
	info->zone_cpus = node->free_cpus;
	/* The kubelet chooses CPUs only for pods whose limit is their
	 * request. */
	if (pool->cpus_unlimited || pool->cpu_overcommit > 1000)
		return;
	info->ncpus = deal_cpus(node);
	info->cpu_numa = node->cpu_numa;
	info->cpu_core = node->cpu_core;
	/* A kubelet without static managers has no CPUs and no memory to show:
	 * it places GPUs only. */
	for (uint32_t z = 0; z < zones->n; z++)
		sum += node->mem_mib[z] = zones->zone[z].all.mem_mib;
	info->nnumas = sum ? zones->n : 0;
	info->numa_mem = node->mem_mib;
}

void kube_numa_lacks(const struct kube *kube, struct buf *out)
{
	const struct kube_numa_node *node, *first = NULL;
	size_t n = 0, at = 0;

	while ((node = map_each(&kube->numa.nodes, &at))) {
		if (!node->zones.wrong)
			continue;
		if (n++ == 0 || strcmp(node->name, first->name) < 0)
			first = node;
	}
	if (!n)
		return;
	buf_printf(out, "%sNodeResourceTopology '%s' cannot be used: %s",
	           out->len ? "; " : "", first->name, first->zones.wrong);
	if (n > 1)
		buf_printf(out, ", and %zu more are alike", n - 1);
}

void kube_numa_free(struct kube *kube)
{
	struct kube_numa_node *node;
	size_t at = 0;

	while ((node = map_each(&kube->numa.nodes, &at)))
		node_free(node);
	map_free(&kube->numa.nodes);
}
