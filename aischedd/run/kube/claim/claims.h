/*
 * claims.h - volume claims: where they can be mounted; making their volumes
 *
 * Fed by the watches of PersistentVolumeClaims, PersistentVolumes and
 * StorageClasses. Once a tick the daemon is told of each claim whose state has
 * changed. A claim without a volume whose StorageClass waits for the first
 * consumer gets the node of the plan as an annotation. Its provisioner makes
 * the volume there; after that the pods are bound.
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

struct kube_claims {
	struct map claims, volumes, classes; /* by name */
	bool changed;     /* the daemon is to be told of changes, */
	bool at_once;     /* before anything starts */
	bool listed;      /* the daemon was told that it knows all claims */
	struct err blind; /* as told; code 0: claims can be watched */
};

/* what: SEE_CLAIMS, SEE_VOLUMES or SEE_CLASSES. */
void kube_claims_news(struct kube *kube, int what, enum kube_news news,
                      json_t *obj);

/* Look at the claims again: a node has appeared or changed, or a pod that
 * mounts a claim. */
void kube_claims_touch(struct kube *kube);

/* Tell the daemon what has changed. */
void kube_claims_tell(struct kube *kube);

enum kube_claims_state {
	CLAIMS_READY,
	CLAIMS_ASK,    /* say for which node a volume shall be made */
	CLAIMS_WAIT,   /* wait for that */
	CLAIMS_REFUSED /* the volume was not made, or is on another node */
};

/* The next step of a start. */
struct kube_claims_next {
	const char *claim, *uid, *node; /* borrowed */
	/* refusals of all its claims, since they were made */
	uint32_t refusals;
	char text[512]; /* unless it is ready */
};

/*
 * Look whether the claims of --mount have volumes that reach these nodes.
 * refusals: UINT32_MAX in the first call of a start, then ret->refusals of that
 * call.
 */
enum kube_claims_state kube_claims_look(struct kube *kube, const char *mount,
                                        const char *const *node, uint32_t n,
                                        uint32_t refusals,
                                        struct kube_claims_next *ret);

/* Take over a claim as the answer to a PATCH shows it, so that nobody asks
 * again before the watch brings the same. */
void kube_claims_answered(struct kube *kube, json_t *obj);
void kube_claims_free(struct kube_claims *claims);

#endif
