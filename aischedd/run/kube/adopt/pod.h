/*
 * pod.h - the pods of Jobs that others made, and their nodes
 */
#ifndef AISCHEDD_RUN_KUBE_ADOPT_POD_H
#define AISCHEDD_RUN_KUBE_ADOPT_POD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/object/pod.h"

struct kube;
struct kube_adopt_slot;
struct kube_adoptee;

struct kube_adopt_pod {
	TAILQ_ENTRY(kube_adopt_pod) of_list;
	struct kube_adoptee *of;
	struct kube_pod pod;
	struct kube_adopt_slot *slot; /* NULL: none */
	bool marked;                  /* not yet seen in the list being read */
	bool gone;                    /* deleted; kept for its outcome */
	bool former;                  /* of an earlier attempt */
	bool counted;                 /* its use counts as use by others */
	bool binding, forced; /* we bound or deleted it, and were not refused */
	int64_t gone_ms;      /* when its deletion was first seen; 0: never */
};

TAILQ_HEAD(kube_adopt_pods, kube_adopt_pod);

/* Handle what the watch reports of a pod if its Job is an adoptee; takes pod.
 * Else returns false. */
bool kube_adopt_pod_seen(struct kube *kube, struct kube_pod *pod, bool deleted);
void kube_adopt_pod_news(struct kube *kube, enum kube_news news);
void kube_adopt_pod_free(struct kube_adopt_pod *p);

/* Returns its pod of that uid, or NULL. */
struct kube_adopt_pod *kube_adopt_pod_find(struct kube_adoptee *j,
                                           const char *uid);
bool kube_adopt_pod_is_alive(const struct kube_adopt_pod *p);
bool kube_adopt_pod_any_alive(const struct kube_adoptee *j);

/* Free the slots of pods that are over, and assign free slots to other pods. */
void kube_adopt_pod_deal(struct kube_adoptee *j);

/* Count the resources of its pods as used by others, as long as no attempt
 * accounts for them. */
void kube_adopt_pod_count(struct kube_adoptee *j);

#endif
