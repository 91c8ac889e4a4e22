/*
 * nodes.h - the nodes of a cluster, and what foreign pods use there
 *
 * Fed by the watches of nodes and pods. Changes are told at once; many changes
 * in a row a little later, together.
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

/* Borrowed: kube, pool and topology. */
struct kube_nodes *kube_nodes_new(struct kube *kube, struct event_base *base,
                                  const struct conf_pool *pool,
                                  const struct conf_topology *topology);
void kube_nodes_free(struct kube_nodes *nodes); /* NULL is allowed */

/* Handle what the watch of nodes reports. */
void kube_nodes_news(struct kube_nodes *nodes, enum kube_news news,
                     json_t *obj);

/* Note that a foreign pod uses this on its node (on), or no longer does. */
void kube_nodes_use(struct kube_nodes *nodes, const char *node,
                    const struct kube_amount *use, bool on);

/* Report at once the changes that wait to be reported together. */
void kube_nodes_flush(struct kube_nodes *nodes);

/* Whether the node exists and reports. */
bool kube_nodes_is_up(const struct kube_nodes *nodes, const char *node);

/* Returns for how many ms it has not been ready, as far as we saw; 0: it is. */
int64_t kube_nodes_down_ms(const struct kube_nodes *nodes, const char *node);

/* Report its state again, although it has not changed: the receiver forgot it.
 */
void kube_nodes_retell(struct kube_nodes *nodes, const char *name);

bool kube_nodes_is_there(const struct kube_nodes *nodes, const char *node);

/* Call fn for each node of the pool, with its labels in the form "label=value".
 */
typedef void kube_nodes_fn(const char *name, const json_t *features, void *arg);
void kube_nodes_each(const struct kube_nodes *nodes, kube_nodes_fn *fn,
                     void *arg);

/* Returns the labels of the node, or NULL. */
const json_t *kube_nodes_features(const struct kube_nodes *nodes,
                                  const char *node);

/* Returns the levels of the topology for which no node has a label, or NULL. */
const char *kube_nodes_lacks(struct kube_nodes *nodes);

#endif
