/*
 * node.h - read a node of the cluster
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_NODE_H
#define AISCHEDD_RUN_KUBE_OBJECT_NODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "aischedd/run/kube/object/pod.h"
#include "libcommon/conf/conf.h"

/* The annotation with the reason of a node that the daemon cordoned. */
#define KUBE_NOTE_DRAINED "aisched.io/drained"

struct kube_node_said {
	bool down;
	bool cordoned; /* cordoned, or in a condition in which nothing starts
	                  there */
	char *reason;  /* why down or cordoned; NULL: neither */
	struct kube_amount have;
	char *gpu_type; /* or NULL */
	json_t *features, *taints;
	bool dedicated; /* our taint keeps pods of others off */
	char *runtime;  /* "containerd://2.2.1"; or NULL */
	char *topology; /* levels from the top down to the first without label;
	                   NULL: none */
};

/* Whether it has all labels of "pool=gpu,disk"; NULL: any node does. */
bool kube_node_matches(const json_t *obj, const char *selector);

/* levels: the labels of the levels, widest first. health: read only down,
 * cordoned and the reason. Free ret with kube_node_said_fini(). */
void kube_node_read_health(const json_t *obj, const struct conf_pool *pool,
                           struct kube_node_said *ret);
void kube_node_read(const json_t *obj, const struct conf_pool *pool,
                    const struct strlist *levels, struct kube_node_said *ret);

/* Whether both say the same; nodes report every few minutes without a
 * change. */
bool kube_node_said_same(const struct kube_node_said *a,
                         const struct kube_node_said *b);

/* Returns how many levels of the topology it has labels for. */
size_t kube_node_depth(const struct kube_node_said *said);

void kube_node_said_fini(struct kube_node_said *said);

#endif
