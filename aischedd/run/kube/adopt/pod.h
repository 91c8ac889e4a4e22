/*
 * pod.h - the pods of Jobs made with kubectl, and the slots in which they run
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
struct kube_space;

struct kube_adopt_pod {
	TAILQ_ENTRY(kube_adopt_pod) of_list;
	struct kube_adoptee *of;
	struct kube_pod pod;
	/* the slot in which it runs; NULL: none */
	struct kube_adopt_slot *slot;
	bool marked;  /* the list being read has not shown it yet */
	bool gone;    /* deleted; kept for its outcome */
	bool former;  /* of an earlier attempt */
	bool counted; /* its resources are counted as used by others */
	/* we have sent a Binding or a DELETE, which was not refused */
	bool binding, forced;
	int64_t gone_ms; /* when its deletion was first seen; 0: never */
};

TAILQ_HEAD(kube_adopt_pods, kube_adopt_pod);

/* Handle what the watch reports about a pod. Returns false if its Job is not
 * adopted; else takes *pod. */
bool kube_adopt_pod_seen(struct kube *kube, struct kube_pod *pod, bool deleted);
void kube_adopt_pod_news(struct kube *kube, enum kube_news news);
/* Free those pods of the Job that are not in this namespace. Call this when the
 * watch has shown that the Job itself is in this namespace. */
void kube_adopt_pod_keep(struct kube_adoptee *j,
                         const struct kube_space *space);
void kube_adopt_pod_free(struct kube_adopt_pod *p);

/* Returns the Job's pod of this uid, or NULL. */
struct kube_adopt_pod *kube_adopt_pod_find(struct kube_adoptee *j,
                                           const char *uid);
bool kube_adopt_pod_any_alive(const struct kube_adoptee *j);

/* Free the slots of pods that are over, and give free slots to pods without
 * slot. */
void kube_adopt_pod_deal(struct kube_adoptee *j);

/* Count the resources of the Job's pods as used by others, as long as no
 * attempt accounts for them. */
void kube_adopt_pod_count(struct kube_adoptee *j);

#endif
