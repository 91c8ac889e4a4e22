/*
 * drain.h - cordon the nodes that an admin drains
 *
 * When we cordon a node, we add an annotation with the reason, and later
 * uncordon only nodes with this annotation. If somebody else cordons or
 * uncordons a node, we do not undo that.
 */
#ifndef AISCHEDD_RUN_KUBE_DRAIN_H
#define AISCHEDD_RUN_KUBE_DRAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "aischedd/run/runner.h"
#include "libcommon/err.h"
#include "libcommon/map.h"

struct kube;

struct kube_drains {
	struct map nodes; /* by name: struct drain_node */
	TAILQ_HEAD(, drain_call) calls;
	struct err trouble; /* why a node could not be (un)cordoned; code 0:
	                       the last call succeeded */
};

/* See runner_ops. */
void kube_drain(struct runner *r, const char *node, const char *reason);

/* Handle what the watch of nodes reports. */
void kube_drain_seen(struct kube *kube, const json_t *obj, bool deleted);

/* Cordon the nodes that an admin drains, and uncordon nodes whose drain has
 * ended. Nodes that need no change are skipped. */
void kube_drain_step(struct kube *kube);

/* Forget a node that is gone, unless an admin drains it: then it is cordoned
 * when it comes back. */
void kube_drain_forget(struct kube *kube, const char *node);

void kube_drain_free(struct kube *kube);

#endif
