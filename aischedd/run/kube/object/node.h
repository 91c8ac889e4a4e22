/*
 * node.h - read a node as the API server reports it
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_NODE_H
#define AISCHEDD_RUN_KUBE_OBJECT_NODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "aischedd/run/kube/object/pod.h"
#include "libcommon/conf/conf.h"

/* Annotation of a node that the daemon has cordoned: the reason. */
#define KUBE_NOTE_DRAINED "aisched.io/drained"

#define KUBE_GPU            "nvidia.com/gpu"
#define KUBE_LABEL_REPLICAS KUBE_GPU ".replicas"

struct kube_node_said {
	bool down;
	/* it is cordoned, or in a condition in which no pods are started */
	bool cordoned;
	char *reason; /* why down or cordoned; NULL: neither */
	struct kube_amount have;
	char *gpu_type;      /* or NULL */
	int64_t gpu_mem_mib; /* of each GPU; 0: unknown */
	/* How often the device plugin counts each GPU, for several pods to
	 * share it; 1: once. If more, `have` has no GPUs: none of those that
	 * are counted is a whole one. */
	int64_t replicas;
	/* a resource of partitions whose profile is not known; or NULL */
	char *part_unknown;
	/* A resource of partitions that the device plugin counts several times,
	 * for several pods to share each; or NULL. `have` has none of them. */
	char *part_shared;
	json_t *features, *taints;
	bool dedicated; /* our taint keeps pods of others away */
	char *runtime;  /* "containerd://2.2.1"; or NULL */
	/* its labels for the levels of the topology, from the top down to the
	 * first level without label; NULL: none */
	char *topology;
};

/* Whether the node has all labels of the selector, such as "pool=gpu,disk";
 * NULL matches all nodes. */
bool kube_node_matches(const json_t *obj, const char *selector);

/* Read a node; kube_node_read_health() reads only `down`, `cordoned` and the
 * reason. levels: the label keys of the topology's levels, widest first. Free
 * ret with kube_node_said_fini(). */
void kube_node_read_health(const json_t *obj, const struct conf_pool *pool,
                           struct kube_node_said *ret);
void kube_node_read(const json_t *obj, const struct conf_pool *pool,
                    const struct strlist *levels, struct kube_node_said *ret);

/* Whether nothing has changed between a and b; nodes report every few minutes
 * even without a change. */
bool kube_node_said_same(const struct kube_node_said *a,
                         const struct kube_node_said *b);

/* Returns for how many levels of the topology the node has labels. */
size_t kube_node_depth(const struct kube_node_said *said);

void kube_node_said_fini(struct kube_node_said *said);

#endif
