/*
 * numa.h - NUMA nodes of nodes whose kubelets choose CPUs and GPUs
 *
 * The watch of NodeResourceTopology objects reports here. The daemon is told
 * the NUMA nodes of a node only if its kubelet refuses pods that it cannot
 * place as its policy demands, for only then is the kubelet's choice known in
 * advance. Where the cluster does not have such objects, or the daemon may not
 * see them, the policies are not known.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_NUMA_H
#define AISCHEDD_RUN_KUBE_DEVICE_NUMA_H

#include <jansson.h>

#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/runner.h"
#include "libcommon/map.h"

struct buf;
struct kube;
struct kube_numa_node;

struct kube_numa {
	struct map nodes; /* by name: struct kube_numa_node */
};

void kube_numa_news(struct kube *kube, enum kube_news news, const json_t *obj);

/* Set the members of info that are about NUMA nodes, CPUs to bind and the
 * policy, as far as they are known. They are valid until the next call for this
 * node. */
void kube_numa_show(struct kube *kube, struct node_info *info);

/* Append a text that names a node whose object cannot be used, and says why;
 * append nothing if there is none. */
void kube_numa_lacks(const struct kube *kube, struct buf *out);

void kube_numa_free(struct kube *kube);

#endif
