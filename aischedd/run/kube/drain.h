/*
 * drain.h - nodes that an admin of ours drains are cordoned
 *
 * An annotation says that it was us, and why; only what we cordoned is
 * uncordoned by us.  Whoever else cordons or uncordons a node is not argued
 * with.
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
	struct err trouble; /* why one is not cordoned; code 0: all are */
};

/* As runner_ops says. */
void kube_drain(struct runner *r, const char *node, const char *reason);

/* As the watch of nodes tells it. */
void kube_drain_seen(struct kube *kube, const json_t *obj, bool deleted);

/* Do what is to be done. */
void kube_drain_step(struct kube *kube);

void kube_drain_free(struct kube *kube);

#endif
