/*
 * claims.h - find where volume claims can be mounted, and have their
 * volumes made
 *
 * The watches of PersistentVolumeClaims, PersistentVolumes and StorageClasses
 * report here. Once a tick the daemon is told of each claim whose state has
 * changed. A claim may have no volume because its StorageClass waits for the
 * first consumer. Then a start writes the node of the plan to the claim as an
 * annotation, which makes the provisioner create the volume for that node. If
 * admins make the volumes of that class, the start instead writes the name of a
 * free volume to the claim (spare.h). When this is done, the pods are bound.
 */
#ifndef AISCHEDD_RUN_KUBE_CLAIM_CLAIMS_H
#define AISCHEDD_RUN_KUBE_CLAIM_CLAIMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/claim/reach.h"
#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/runner.h"
#include "libcommon/err.h"
#include "libcommon/map.h"

struct kube;
struct kube_space;

/* A claim, volume or StorageClass, as the watch last reported it. */
struct kube_seen {
	const struct kube_space *space; /* of a claim */
	char *name;
	json_t *obj;
	bool marked; /* the list being read has not shown it yet */
	bool gone;   /* deleted, but the daemon has not been told yet */
	bool late;   /* a claim: appeared when all had been listed */
	char *told;  /* a claim: what the daemon was last told; NULL: nothing */
	uint32_t refusals; /* a claim: how often the cluster failed to make its
	                      volume */
	/* a claim: the free volume that a start last chose for it, or NULL; and
	 * when */
	char *picked;
	int64_t picked_ms;
	bool asked; /* the claim is, or was, changed to get that volume */
	/* a volume: the claim that gets it, as kube_spare_mark() found; only to
	 * be compared */
	const struct kube_seen *kept_for;
	/* a claim: the volume that is kept for it, or NULL */
	const struct kube_seen *kept;
	/* a claim: the pod of others that mounts it, as kube_pods_mark() found;
	 * NULL: none */
	const char *pod, *pod_node;
	bool urgent; /* a claim: a pod of others mounts it, or no longer does;
	                the daemon has not been told yet */
};

struct kube_claims {
	struct map claims;           /* by kube_space_key() */
	struct map volumes, classes; /* by name */
	bool changed; /* kube_claims_tell() has to look at all claims again */
	bool at_once; /* some claims are urgent: kube_claims_tell() must run
	                 before any job starts, not at the next tick */
	/* The walk of kube_claims_tell(), which may take several ticks: where
	 * it goes on, and at how many more claims it has to look. */
	size_t at, left;
	bool unlisted; /* the daemon may have to be told that all claims of a
	                  namespace are known */
	struct kube_reach reach;
	/* when kube_claims_tell() has to look again, because no volume is kept
	 * any longer for the claim for which it was picked; 0: never */
	int64_t picked_until_ms;
};

/* Handle what a watch reports: SEE_CLAIMS of this namespace, SEE_VOLUMES or
 * SEE_CLASSES. */
void kube_claims_news(struct kube *kube, struct kube_space *space, int what,
                      enum kube_news news, json_t *obj);

/* Make the next tick look at all claims again. Call it when a node has
 * appeared or disappeared, or its labels have changed. */
void kube_claims_touch(struct kube *kube);

/* The same if a pod of others mounts these claims (names), or no longer does.
 * The daemon is told first of those that have volumes. */
void kube_claims_mounted(const struct kube_space *space, const json_t *names);

/* Tell the daemon of the claims that have changed. Users make claims, so if
 * there are many, one call looks at some of them only (reach.h), and the next
 * call goes on there. */
void kube_claims_tell(struct kube *kube);

enum kube_claims_state {
	CLAIMS_READY,  /* all volumes can be mounted on the nodes */
	CLAIMS_ASK,    /* change ret->claim, so that it gets its volume */
	CLAIMS_WAIT,   /* wait for a volume, or for a missing claim */
	CLAIMS_REFUSED /* a volume could not be made, or cannot be mounted on
	                  one of the nodes */
};

/* The result of kube_claims_look() for the volume claims of a job that
 * starts. */
struct kube_claims_next {
	/* for CLAIMS_ASK, borrowed: the claim to change, and what is written to
	 * it: the volume or, if `volume` is NULL, the node */
	const char *claim, *uid, *node, *volume;
	/* how often provisioners have failed to make volumes for the job's
	 * claims */
	uint32_t refusals;
	/* for CLAIMS_REFUSED: FAULT_SYSTEM if no volume could be made on the
	 * node, FAULT_POOL if another claim or node got the volume */
	enum start_fault fault;
	char text[512]; /* why the claims are not ready */
};

/*
 * Returns whether the volume claims in `mount` (as in --mount) of this
 * namespace have volumes that can be mounted on these n nodes, or what must be
 * done first. No claim is changed before each of them can have a volume.
 * refusals: UINT32_MAX in the first call of a start, then the
 * ret->refusals of that call. If provisioners have failed more often since, the
 * result is CLAIMS_REFUSED.
 */
enum kube_claims_state kube_claims_look(struct kube_space *space,
                                        const char *mount,
                                        const char *const *node, uint32_t n,
                                        uint32_t refusals,
                                        struct kube_claims_next *ret);

/* Returns the PATCH of ret->claim for CLAIMS_ASK. */
json_t *kube_claims_patch(const struct kube_claims_next *next);

/* Returns a PersistentVolume's rule for nodes that reach it; NULL: all do. */
const json_t *kube_claims_affinity(const json_t *volume);

/* Handle the claim that a PATCH returned, so that the PATCH is not repeated
 * before the watch reports the change. */
void kube_claims_answered(struct kube *kube, json_t *obj);
void kube_claims_free(struct kube_claims *claims);

#endif
