/*
 * volume.h - read volume claims, and match nodes against their volumes
 *
 * Pure.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_VOLUME_H
#define AISCHEDD_RUN_KUBE_OBJECT_VOLUME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/runner.h"

/* Annotation of a claim: the node for which its volume is to be made. */
#define KUBE_NOTE_SELECTED "volume.kubernetes.io/selected-node"

/* A PersistentVolumeClaim. Texts are borrowed from the object. */
struct kube_claim_said {
	const char *name, *uid;
	const char *volume;   /* "": none yet */
	const char *class;    /* StorageClass; "": none */
	const char *selected; /* KUBE_NOTE_SELECTED, or "" */
	bool bound, lost, deleting;
	enum volume_share share;
};

void kube_claim_read(const json_t *obj, struct kube_claim_said *ret);

/* A claim that waits for a free volume may have this many access modes and, in
 * its selector, labels, rules and values together: users make claims, and each
 * is compared with many volumes. */
enum { KUBE_CLAIM_RULES = 64 };

/* Returns how many these are, or KUBE_CLAIM_RULES + 1 if there are more. */
uint32_t kube_claim_rules(const json_t *claim);

/* Whether a PersistentVolume is free and could be bound to this claim, by the
 * rules of Kubernetes: its class, size, mode, access modes and labels suit the
 * claim. If so, *ret_size becomes its size in bytes. */
bool kube_volume_suits(const json_t *volume, const json_t *claim,
                       int64_t *ret_size);

/*
 * Whether a NodeSelector of the API, such as the nodeAffinity of a volume,
 * matches a node with this name and these features ("label=value"). NULL
 * matches all nodes.
 */
bool kube_selector_matches(const json_t *selector, const char *node,
                           const json_t *features);

/* Whether the allowedTopologies of a StorageClass match a node with these
 * features. */
bool kube_topologies_match(const json_t *list, const json_t *features);

/* PATCH of a claim: name the node for which its volume is to be made. */
json_t *kube_claim_select(const char *uid, const char *node);

/* PATCH of a claim: name the volume that it is to be bound to. */
json_t *kube_claim_take(const char *uid, const char *volume);

#endif
