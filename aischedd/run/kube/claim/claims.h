/*
 * claims.h - find where volume claims can be mounted, and have their
 * volumes made
 *
 * The watches of PersistentVolumeClaims, PersistentVolumes and StorageClasses
 * report here. Once a tick the daemon is told of each claim whose state has
 * changed. If a claim has no volume because its StorageClass waits for the
 * first consumer, a start writes the node of the plan to the claim as an
 * annotation, which makes the provisioner create the volume for that node. Then
 * the pods are bound.
 */
#ifndef AISCHEDD_RUN_KUBE_CLAIM_CLAIMS_H
#define AISCHEDD_RUN_KUBE_CLAIM_CLAIMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/client/watch.h"
#include "libcommon/err.h"
#include "libcommon/map.h"

struct kube;
struct kube_space;

struct kube_claims {
	struct map claims;           /* by kube_space_key() */
	struct map volumes, classes; /* by name */
	bool changed; /* kube_claims_tell() has something to tell */
	bool at_once; /* kube_claims_tell() must run before any job starts, not
	                 at the next tick */
};

/* Handle what a watch reports: SEE_CLAIMS of this namespace, SEE_VOLUMES or
 * SEE_CLASSES. */
void kube_claims_news(struct kube *kube, struct kube_space *space, int what,
                      enum kube_news news, json_t *obj);

/* Make the next tick look at all claims again. Call it when a node, or a pod
 * that mounts a claim, has appeared or changed. */
void kube_claims_touch(struct kube *kube);

/* Tell the daemon of the claims that have changed. */
void kube_claims_tell(struct kube *kube);

enum kube_claims_state {
	CLAIMS_READY, /* all volumes can be mounted on the nodes */
	CLAIMS_ASK, /* write ret->node to ret->claim, to have its volume made */
	CLAIMS_WAIT,   /* wait for a volume, or for a missing claim */
	CLAIMS_REFUSED /* a volume could not be made, or cannot be mounted on
	                  one of the nodes */
};

/* The result of kube_claims_look() for the volume claims of a job that
 * starts. */
struct kube_claims_next {
	const char *claim, *uid, *node; /* for CLAIMS_ASK; borrowed */
	/* how often provisioners have failed to make volumes for the job's
	 * claims */
	uint32_t refusals;
	char text[512]; /* why the claims are not ready */
};

/*
 * Returns whether the volume claims in `mount` (as in --mount) of this
 * namespace have volumes that can be mounted on these n nodes, or what must be
 * done first. refusals: UINT32_MAX in the first call of a start, then the
 * ret->refusals of that call. If provisioners have failed more often since, the
 * result is CLAIMS_REFUSED.
 */
enum kube_claims_state kube_claims_look(struct kube_space *space,
                                        const char *mount,
                                        const char *const *node, uint32_t n,
                                        uint32_t refusals,
                                        struct kube_claims_next *ret);

/* Handle the claim that a PATCH returned, so that the PATCH is not repeated
 * before the watch reports the change. */
void kube_claims_answered(struct kube *kube, json_t *obj);
void kube_claims_free(struct kube_claims *claims);

#endif
