/*
 * give.h - give the pods of an attempt their GPUs by ResourceClaims
 *
 * If a node gives its GPUs by claims, each pod that needs some of these gets a
 * claim before it is bound, alone or with other pods of its gang (gang.h); then
 * the GPUs of the plan are allocated to the claim. The same claim requests the
 * pod's devices of other kinds that claims give (kinds.h), also if a plugin
 * gives its GPUs. The Job owns the claim, so both are deleted together; the
 * cluster frees the devices when the pods have ended. A Job of one pod names
 * the claim in its template. The pods of other Jobs request an extended
 * resource of the DeviceClass, and we name the claim in the status of each pod.
 * If a task of such a Job is lost and placed anew, its claim is deleted once
 * the cluster has freed the devices, and another one of the same name is made.
 */
#ifndef AISCHEDD_RUN_KUBE_DEVICE_GIVE_H
#define AISCHEDD_RUN_KUBE_DEVICE_GIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/device/gang.h"
#include "libcommon/err.h"

struct kube_attempt;
struct kube_part;
struct kube_task;
struct kube_answer;
struct run_job;

struct kube_gives {
	bool by_claims; /* the attempt gets its GPUs by claims */
	bool devs;      /* and other devices (kinds.h) */
	bool named;     /* the Job's template names the claim */
	struct kube_gang gang;
};

/* Whether pods of the attempt get devices by claims. */
bool kube_give_is_claimed(const struct kube_attempt *a);

/* Decide whether the attempt gets its GPUs by claims, and which pods have one
 * together; its slots must be set.
 * Returns false, and makes the start fail, if only some of its nodes give GPUs
 * by claims, or if the cluster is too old for claims in Jobs of several
 * pods. */
bool kube_give_order(struct kube_attempt *a, const struct run_job *job);

/* Returns the GPUs of the pod of this index for which its claim was made, one
 * bit each; 0: there is no claim. *ret_part: the partition, if it is for one.
 */
uint64_t kube_give_found(const struct kube_attempt *a, uint32_t index,
                         struct kube_part *ret_part);

/* Returns the other devices for which that claim was made, as
 * kube_kinds_text() does; NULL: none, or there is no claim. */
const char *kube_give_devs(const struct kube_attempt *a, uint32_t index);

/* Whether there is a claim of ours for the pod of this index. */
bool kube_give_is_made(const struct kube_attempt *a, uint32_t index);

/* Whether the claim of the pod of this index still has its GPUs, which the
 * cluster's controller takes back some time after the pod has ended. */
bool kube_give_holds(const struct kube_attempt *a, uint32_t index);

/* Set the devices of the attempt's slots from its claims, after a restart of
 * the daemon. */
void kube_give_recall(struct kube_attempt *a);

/* Make the next calls about the claims of pods that can be bound. Returns
 * whether all these pods have their GPUs. */
bool kube_give_step(struct kube_attempt *a);

/* Handle the answer to a call that kube_give_step() has made. */
void kube_give_answered(struct kube_attempt *a, struct kube_task *task,
                        const struct kube_answer *answer);

#endif
