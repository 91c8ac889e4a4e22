/*
 * node.h - what an object of a node says that matters to us
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_NODE_H
#define AISCHEDD_RUN_KUBE_OBJECT_NODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "aischedd/run/kube/object/pod.h"
#include "libcommon/conf/conf.h"

/* An annotation of a node that the daemon cordoned: why. */
#define KUBE_NOTE_DRAINED "aisched.io/drained"

struct kube_node_said {
	bool down, cordoned;
	char *reason; /* of either; NULL: it is neither */
	struct kube_amount have;
	char *gpu_type; /* or NULL */
	json_t *features, *taints;
	char *topology; /* from the top down to the first level that it has no
	                 * label for; NULL: none */
};

/* Whether it has all labels of "pool=gpu,disk"; NULL: any node has. */
bool kube_node_matches(const json_t *obj, const char *selector);

/* gpu: the resource; levels: widest first.  health: no more than down, cordoned
 * and the reason.  ret needs kube_node_said_fini(). */
void kube_node_read_health(const json_t *obj, struct kube_node_said *ret);
void kube_node_read(const json_t *obj, const char *gpu,
                    const struct strlist *levels, struct kube_node_said *ret);

/* A node says every few minutes that it lives, which changes nothing. */
bool kube_node_said_same(const struct kube_node_said *a,
                         const struct kube_node_said *b);

/* How many levels of the topology it has labels for. */
size_t kube_node_depth(const struct kube_node_said *said);

void kube_node_said_fini(struct kube_node_said *said);

#endif
