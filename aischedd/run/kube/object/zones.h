/*
 * zones.h - read a NodeResourceTopology: the NUMA nodes of a node
 *
 * An agent on the node publishes this object, such as the topology updater of
 * Node Feature Discovery: its zones are NUMA nodes, its attributes say how the
 * kubelet's topology manager is configured. The object has the node's name.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_ZONES_H
#define AISCHEDD_RUN_KUBE_OBJECT_ZONES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"
#include "libcommon/limits.h"

/* The resources of a NUMA node that pods can have. */
struct kube_zone_amount {
	int64_t cpus, mem_mib, gpus; /* whole CPUs */
};

struct kube_zone {
	int64_t number; /* of the NUMA node, as the kernel counts */
	struct kube_zone_amount all;
	int64_t free_cpus, free_gpus; /* as far as the kubelet knows */
};

struct kube_zones {
	enum node_policy policy;
	/* why the zones cannot be used; they are none then; NULL: they can */
	char *wrong;
	uint32_t n; /* sorted by number */
	struct kube_zone zone[LIMIT_SOCKETS];
};

/* Read the object. Free ret with kube_zones_fini(). */
void kube_zones_read(const json_t *obj, const struct conf_pool *pool,
                     struct kube_zones *ret);

/* Whether nothing has changed between a and b. */
bool kube_zones_same(const struct kube_zones *a, const struct kube_zones *b);
void kube_zones_fini(struct kube_zones *zones);

#endif
