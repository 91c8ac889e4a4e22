/*
 * give.h - make and fill the claims of an attempt, before its pods are bound
 *
 * Each pod that needs GPUs of a node that gives them by claims has a claim of
 * its own. The Job owns it, so it goes with the Job; the cluster takes the
 * devices back when the pod has ended. A Job of one pod names the claim in its
 * template. Pods of other Jobs ask for the class, and their status says which
 * claim it is.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_GIVE_H
#define AISCHEDD_RUN_KUBE_DEVICE_GIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/err.h"

struct kube_attempt;
struct kube_task;
struct kube_answer;

struct kube_gives {
	bool by_claims; /* its GPUs are given so */
	bool named;     /* its template names the claim */
};

/* Decide how the attempt is given its GPUs; its slots are set. If some nodes
 * give them by claims and others do not, the start fails: returns false. */
bool kube_give_order(struct kube_attempt *a);

/* Returns the devices for which the claim of that index was made; 0: there is
 * none. */
uint64_t kube_give_found(const struct kube_attempt *a, uint32_t index);

/* Find the devices of its slots after a restart. */
void kube_give_recall(struct kube_attempt *a);

/* Do what is next for the claims of pods that can be bound. Returns whether all
 * of them have their devices. */
bool kube_give_step(struct kube_attempt *a);

/* The answer to one of these calls. */
void kube_give_answered(struct kube_attempt *a, struct kube_task *task,
                        const struct kube_answer *answer);

#endif
