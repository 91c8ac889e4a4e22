/* zones.c - read a NodeResourceTopology: the NUMA nodes of a node */
#include "aischedd/run/kube/object/zones.h"

#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/object/object.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

enum {
	ZONES_SEEN_MOST = 1024, /* zones of any type; no machine has more */
	NUMBER_MOST = 4095      /* of a NUMA node, as in Linux */
};

#define BYTES_MOST ((int64_t)1 << 52) /* of memory of a zone */

/* --- the policy ----------------------------------------------------------- */

/* The names of policies: that of the kubelet's option, and the beginning of the
 * words in topologyPolicies, which older agents write. */
static const struct {
	const char *name, *old;
} policies[NODE_POLICIES] = {
	[NODE_POLICY_NONE] = { "none", "None" },
	[NODE_POLICY_BEST_EFFORT] = { "best-effort", "BestEffort" },
	[NODE_POLICY_RESTRICTED] = { "restricted", "Restricted" },
	[NODE_POLICY_SINGLE] = { "single-numa-node", "SingleNUMANode" },
};

static enum node_policy policy_of(const char *name, bool old)
{
	for (int i = NODE_POLICY_NONE; name && i < NODE_POLICIES; i++) {
		const char *word = old ? policies[i].old : policies[i].name;

		if (old ? !strncmp(name, word, strlen(word))
		        : !strcmp(name, word))
			return (enum node_policy)i;
	}
	return NODE_POLICY_UNKNOWN;
}

static enum node_policy read_policy(const json_t *obj)
{
	const json_t *old = json_object_get(obj, "topologyPolicies"), *attr;
	size_t i;

	json_array_foreach(json_object_get(obj, "attributes"), i, attr) {
		const char *name = kube_text_at(attr, "name");

		if (name && !strcmp(name, "topologyManagerPolicy"))
			return policy_of(kube_text_at(attr, "value"), false);
	}
	return policy_of(json_string_value(json_array_get(old, 0)), true);
}

/* --- zones ---------------------------------------------------------------- */

/* Returns the number in the name of a zone, "node-1"; -1: it has none. */
static int64_t number_of(const char *name)
{
	const char *digits = name ? strrchr(name, '-') : NULL;
	int64_t n;

	if (!digits || parse_int(digits + 1, 0, NUMBER_MOST, &n, NULL) < 0)
		return -1;
	return n;
}

/* Returns the resource of this name in a zone, or NULL. */
static const json_t *resource_of(const json_t *zone, const char *name)
{
	const json_t *r;
	size_t i;

	json_array_foreach(json_object_get(zone, "resources"), i, r) {
		const char *is = kube_text_at(r, "name");

		if (is && !strcmp(is, name))
			return r;
	}
	return NULL;
}

/* Read how much of a resource the zone has (key: "allocatable", "available"),
 * by kube_whole_of() or kube_milli_of(). Returns 0, or -1 if that is no number
 * from 0 to `most`. */
static int read_amount(const json_t *zone, const char *name, const char *key,
                       int (*of)(const json_t *, int64_t *, struct err *),
                       int64_t most, int64_t *ret)
{
	const json_t *r = resource_of(zone, name);
	struct err err;

	*ret = 0;
	if (!json_object_get(r, key))
		return 0;
	if (of(json_object_get(r, key), ret, &err) < 0)
		return -1;
	return *ret < 0 || *ret > most ? -1 : 0;
}

/* Read the amounts of a zone. Returns the name of the resource of which it has
 * no possible amount, or NULL. */
static const char *read_all(const json_t *zone, const struct conf_pool *pool,
                            struct kube_zone *ret)
{
	const char *all = "allocatable", *avail = "available";
	int64_t milli, nfree, bytes;

	if (read_amount(zone, "cpu", all, kube_milli_of, LIMIT_CPUS * 1000,
	                &milli) < 0 ||
	    read_amount(zone, "cpu", avail, kube_milli_of, milli, &nfree) < 0)
		return "cpu";
	if (read_amount(zone, "memory", all, kube_whole_of, BYTES_MOST,
	                &bytes) < 0)
		return "memory";
	if (read_amount(zone, pool->gpu_resource, all, kube_whole_of,
	                LIMIT_GPUS, &ret->all.gpus) < 0 ||
	    read_amount(zone, pool->gpu_resource, avail, kube_whole_of,
	                ret->all.gpus, &ret->free_gpus) < 0)
		return pool->gpu_resource;
	ret->all.cpus = milli / 1000;
	ret->free_cpus = nfree / 1000;
	ret->all.mem_mib = kube_mib_down(bytes);
	return NULL;
}

/* Insert a zone in order of the numbers. Returns NULL, or why it cannot be. */
static char *insert(struct kube_zones *zones, const struct kube_zone *zone)
{
	uint32_t i = zones->n;

	if (zones->n == LIMIT_SOCKETS)
		return xasprintf("it has more than %d zones", LIMIT_SOCKETS);
	for (uint32_t k = 0; k < zones->n; k++)
		if (zones->zone[k].number == zone->number)
			return xasprintf("it has zone %d twice",
			                 (int)zone->number);
	for (; i && zones->zone[i - 1].number > zone->number; i--)
		zones->zone[i] = zones->zone[i - 1];
	zones->zone[i] = *zone;
	zones->n++;
	return NULL;
}

static char *read_zone(const json_t *obj, const struct conf_pool *pool,
                       struct kube_zones *ret)
{
	const char *type = kube_text_at(obj, "type");
	const char *name = kube_text_at(obj, "name"), *bad;
	struct kube_zone zone = { .number = number_of(name) };

	if (!type || strcmp(type, "Node") != 0)
		return NULL;
	if (zone.number < 0)
		return xasprintf("zone '%.40s' has no number of a NUMA node",
		                 name ? name : "");
	bad = read_all(obj, pool, &zone);
	if (bad)
		return xasprintf("zone '%.40s' has no possible amount of "
		                 "'%.100s'",
		                 name, bad);
	return insert(ret, &zone);
}

static char *read_zones(const json_t *list, const struct conf_pool *pool,
                        struct kube_zones *ret)
{
	int64_t cpus = 0;
	const json_t *obj;
	size_t i;

	if (json_array_size(list) > ZONES_SEEN_MOST)
		return xasprintf("it has more than %d zones", LIMIT_SOCKETS);
	json_array_foreach(list, i, obj) {
		char *wrong = read_zone(obj, pool, ret);

		if (wrong)
			return wrong;
	}
	for (uint32_t k = 0; k < ret->n; k++)
		cpus += ret->zone[k].all.cpus;
	if (cpus > LIMIT_CPUS)
		return xasprintf("its zones have more than %d CPUs",
		                 LIMIT_CPUS);
	return NULL;
}

void kube_zones_read(const json_t *obj, const struct conf_pool *pool,
                     struct kube_zones *ret)
{
	*ret = (struct kube_zones){ .policy = read_policy(obj) };
	ret->wrong = read_zones(json_object_get(obj, "zones"), pool, ret);
	if (ret->wrong)
		ret->n = 0;
}

bool kube_zones_same(const struct kube_zones *a, const struct kube_zones *b)
{
	if (a->policy != b->policy || a->n != b->n || !a->wrong != !b->wrong ||
	    (a->wrong && strcmp(a->wrong, b->wrong) != 0))
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (memcmp(&a->zone[i], &b->zone[i], sizeof(a->zone[i])) != 0)
			return false;
	return true;
}

void kube_zones_fini(struct kube_zones *zones)
{
	free(zones->wrong);
	*zones = (struct kube_zones){ 0 };
}
