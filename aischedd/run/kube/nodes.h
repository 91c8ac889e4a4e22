/*
 * nodes.h - the nodes of a cluster, and what pods of others use there
 *
 * The watches of nodes and pods report here. The daemon is told of the changes
 * of all nodes together, a fraction of a second after the first one.
 */
#ifndef AISCHEDD_RUN_KUBE_NODES_H
#define AISCHEDD_RUN_KUBE_NODES_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/object/pod.h"
#include "aischedd/run/runner.h"

struct event_base;
struct kube;
struct kube_nodes;
struct kube_node_said;

/* kube, pool and topology are borrowed. */
struct kube_nodes *kube_nodes_new(struct kube *kube, struct event_base *base,
                                  const struct conf_pool *pool,
                                  const struct conf_topology *topology);
void kube_nodes_free(struct kube_nodes *nodes); /* NULL is allowed */

/* Handle what the watch of nodes reports. */
void kube_nodes_news(struct kube_nodes *nodes, enum kube_news news,
                     json_t *obj);

/* Note that a pod which is not ours uses this amount of its node (on), or no
 * longer does (!on). */
void kube_nodes_use(struct kube_nodes *nodes, const char *node,
                    const struct kube_amount *use, bool on);

/* Tell the daemon now of the changes that it has not been told yet. */
void kube_nodes_flush(struct kube_nodes *nodes);

/* Whether the node exists and is ready, according to its latest status. */
bool kube_nodes_is_up(const struct kube_nodes *nodes, const char *node);

/* Returns for how many ms we have seen the node down; 0: it is not down. */
int64_t kube_nodes_down_ms(const struct kube_nodes *nodes, const char *node);

/* Tell the daemon the state of the node again, although it has not changed. */
void kube_nodes_retell(struct kube_nodes *nodes, const char *name);

/* Whether the node exists. */
bool kube_nodes_is_there(const struct kube_nodes *nodes, const char *node);

/* Call fn for each node of the pool, with its labels in the form "label=value".
 */
typedef void kube_nodes_fn(const char *name, const json_t *features, void *arg);
void kube_nodes_each(const struct kube_nodes *nodes, kube_nodes_fn *fn,
                     void *arg);

/* Returns the memory that the node has for pods, in MiB; 0: not known. */
int64_t kube_nodes_memory(const struct kube_nodes *nodes, const char *node);

/* Call fn for each node of the pool where pods can start, with what pods that
 * are not ours use there. */
typedef void kube_nodes_free_fn(const char *name,
                                const struct kube_node_said *said,
                                const struct kube_amount *used, void *arg);
void kube_nodes_each_free(const struct kube_nodes *nodes,
                          kube_nodes_free_fn *fn, void *arg);

/* Returns the labels of the node ("label=value"), or NULL. */
const json_t *kube_nodes_features(const struct kube_nodes *nodes,
                                  const char *node);

/* Returns a text that names a node without the label of a level of the
 * topology, and counts other nodes that lack labels. Returns NULL if all nodes
 * have all labels. */
const char *kube_nodes_lacks(struct kube_nodes *nodes);

#endif
