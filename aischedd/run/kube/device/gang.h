/*
 * gang.h - join pods of an attempt that have one claim
 *
 * A claim frees its devices only all at once, so most pods have a claim of
 * their own. But if the number of tasks cannot change, and no task is replaced
 * or placed anew, the tasks hold their devices until all of them have ended:
 * then the pods of such a gang on one node have one claim, with a request for
 * each pod. Only whole GPUs are given in this way. The claim has the name of
 * the first pod's.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_GANG_H
#define AISCHEDD_RUN_KUBE_DEVICE_GANG_H

#include <stdint.h>

struct kube_attempt;
struct run_job;

struct kube_gang {
	uint32_t n; /* number of indexes; 0: each pod has a claim of its own */
	/* by index of a pod: the index of the first and the next pod that have
	 * the same claim. next 0: none, as pod 0 is always a first one */
	uint32_t *first, *next;
};

/* Decide which pods have one claim; the slots of the attempt must be set. */
void kube_gang_order(struct kube_attempt *a, const struct run_job *job);

/* Set this from the claims, after a restart of the daemon. */
void kube_gang_recall(struct kube_attempt *a);

/* Returns the index of the first pod that has the same claim as this one. */
uint32_t kube_gang_first(const struct kube_attempt *a, uint32_t index);

/* Returns the index of the next pod that has the same claim; 0: there is none.
 */
uint32_t kube_gang_next(const struct kube_attempt *a, uint32_t index);

void kube_gang_free(struct kube_gang *gang);

#endif
