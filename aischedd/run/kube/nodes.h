/*
 * nodes.h - the nodes of a cluster, and what pods of others use there
 *
 * Fed with what the watches of nodes and pods tell; what came of it is told
 * at once, or a little later where many changes come one after another.
 */
#ifndef AISCHEDD_RUN_KUBE_NODES_H
#define AISCHEDD_RUN_KUBE_NODES_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/object/pod.h"
#include "aischedd/run/runner.h"

struct event_base;
struct kube_nodes;

/* levels: the topology's, widest first; pool and levels are borrowed. */
struct kube_nodes *kube_nodes_new(struct event_base *base,
                                  const struct conf_pool *pool,
                                  const struct strlist *levels,
                                  run_event_fn *fn, void *arg);
void kube_nodes_free(struct kube_nodes *nodes); /* NULL is fine */

/* As a watch of nodes tells it. */
void kube_nodes_news(struct kube_nodes *nodes, enum kube_news news,
                     json_t *obj);

/* A pod that is not a task of ours uses this of its node; on, then off. */
void kube_nodes_use(struct kube_nodes *nodes, const char *node,
                    const struct kube_amount *use, bool on);

/* Tell now what would be told later. */
void kube_nodes_flush(struct kube_nodes *nodes);

/* Whether the node is there and is heard of. */
bool kube_nodes_is_up(const struct kube_nodes *nodes, const char *node);

/* For how long it has not been ready, as far as we have seen; 0: it is. */
int64_t kube_nodes_down_ms(const struct kube_nodes *nodes, const char *node);

/* Tell it although nothing has changed: what it said was forgotten. */
void kube_nodes_retell(struct kube_nodes *nodes, const char *name);

bool kube_nodes_is_there(const struct kube_nodes *nodes, const char *node);

/* Levels of the topology that no node has a label for, or NULL. */
const char *kube_nodes_lacks(struct kube_nodes *nodes);

#endif
