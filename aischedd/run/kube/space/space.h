/*
 * space.h - the namespaces of a pool
 *
 * All namespaces share the nodes of the pool; a job and all its objects are in
 * one namespace. Jobs and volume claims are watched in each namespace, so a
 * Role there is all that the daemon needs. If a namespace is forbidden, only
 * its jobs wait.
 *
 * `state_dir/namespaces/POOL` has a file for each namespace in use. So when a
 * namespace is taken out of the configuration, the next daemon still watches
 * it, until no job of ours is left there.
 */
#ifndef AISCHEDD_RUN_KUBE_SPACE_SPACE_H
#define AISCHEDD_RUN_KUBE_SPACE_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aischedd/run/kube/ask.h"
#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/space/ports.h"
#include "libcommon/err.h"

struct kube;

enum {
	SEE_NODES,
	SEE_PODS,
	SEE_JOBS,   /* this and the next one: watched in each namespace */
	SEE_CLAIMS, /* this and the next two: for jobs that mount volumes */
	SEE_VOLUMES,
	SEE_CLASSES,
	SEE_SLICES, /* this and the next three: for GPUs given by claims */
	SEE_GRANTS,
	SEE_DEVICE_CLASSES,
	SEE_GRANT_TEMPLATES, /* for Jobs made with kubectl */
	SEE_TOPOLOGIES, /* NUMA nodes of nodes, where agents publish them */
	SEE_N
};

/* The watches of the cluster, or of one namespace. */
struct kube_sight {
	struct kube_watch *watch[SEE_N];
	bool synced[SEE_N];
	/* why a watch does not work; code 0: it does */
	struct err blind[SEE_N];
};

struct kube_space {
	struct kube *kube;
	char *name;
	bool leaving; /* it is no longer configured: start nothing there */
	bool left;    /* leaving, and nothing of ours is there */
	struct kube_sight sight; /* SEE_JOBS and SEE_CLAIMS */
	struct kube_refused refused[ASK_KINDS];
	int64_t why_ms; /* why.c: when Events may be read again */
	struct kube_ports_list ports;
	/* claim/claims.c */
	bool listed; /* the daemon was told that it knows all claims */
	struct err claims_why; /* why claims cannot be watched, as the daemon
	                          was told; code 0: they can */
};

struct kube_spaces {
	struct kube_space **s; /* the first one is pool->namespace */
	size_t n;
};

/* Set up the namespaces. Before kube_space_free() frees them, call
 * kube_space_blind() for each. */
void kube_space_init(struct kube *kube);
void kube_space_free(struct kube *kube);

/* End the watches of the namespace. */
void kube_space_blind(struct kube_space *space);

/* Returns the namespace of this name, or NULL if it is not one of the pool's.
 */
struct kube_space *kube_space_find(const struct kube *kube, const char *name);

/* Returns the namespace in which Jobs made with kubectl may name the queue. */
struct kube_space *kube_space_of_queue(const struct kube *kube,
                                       const char *queue);

/* The key of maps by namespace and name. */
uint64_t kube_space_key(const struct kube_space *space, const char *name);

/* Returns kube->home for objects in this namespace. */
struct kube_home kube_space_home(const struct kube_space *space);

/* Whether the Jobs of the namespace have been listed. */
bool kube_space_is_known(const struct kube_space *space);

/* Whether the Jobs of all namespaces have been listed. */
bool kube_space_all_known(const struct kube *kube);

/* Whether the Jobs of each namespace have been listed or cannot be listed.
 * Those of the first namespace must have been listed. */
bool kube_space_all_tried(const struct kube *kube);

/* Forget namespaces that are no longer configured and have no job of ours. */
void kube_space_step(struct kube *kube);

#endif
