/*
 * reach.h - find the nodes that reach a volume, and answer equal questions once
 *
 * Users make claims, and each is compared with volumes and nodes. So answers
 * are kept until something changes, and comparisons are counted: a call of
 * kube_claims_tell() makes KUBE_REACH_MAX of them, and those of one claim more.
 */
#ifndef AISCHEDD_RUN_KUBE_CLAIM_REACH_H
#define AISCHEDD_RUN_KUBE_CLAIM_REACH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "libcommon/buf.h"
#include "libcommon/map.h"

struct kube;

enum { KUBE_REACH_MAX = 50000 };

struct kube_reach {
	struct map known; /* by the hash of their keys: struct kube_reached */
	uint64_t work;    /* comparisons since kube_claims_tell() was called */
};

/* An answer. */
struct kube_reached {
	char *key;        /* the question */
	bool anywhere;    /* each node; only from kube_spare_nodes() */
	struct buf nodes; /* else the names of nodes, each with a comma */
};

/* Returns the answer to this question. If it has not been asked since the last
 * change, sets *ret_new and returns an empty answer, which the caller fills. */
struct kube_reached *kube_reach_ask(struct kube_reach *reach, const char *key,
                                    bool *ret_new);

/* Append the names of the nodes that match both the NodeSelector and the
 * allowedTopologies (either may be NULL), each followed by a comma. */
void kube_reach_nodes(struct kube *kube, const json_t *selector,
                      const json_t *topologies, struct buf *ret);

/* Returns the node named by a selector whose only rule is "label In [name of a
 * node]", as of volumes on a node's own disk, if that node has the label; else
 * NULL. */
const char *kube_reach_only(const struct kube *kube, const json_t *selector);

/* Forget all answers. */
void kube_reach_forget(struct kube_reach *reach);

#endif
