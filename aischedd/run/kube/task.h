/*
 * task.h - one pod of our Jobs, and what its state means
 *
 * A task without attempt is called loose: the attempt was freed before the pod
 * was deleted, or is not known yet.
 */
#ifndef AISCHEDD_RUN_KUBE_TASK_H
#define AISCHEDD_RUN_KUBE_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/object/pod.h"

struct kube;
struct kube_attempt;

struct kube_task {
	TAILQ_ENTRY(kube_task) of_list;
	struct kube_pod pod;
	struct kube_owner owner;
	struct kube_attempt *attempt; /* NULL: loose */
	bool marked;                  /* not yet seen in the list being read */
	bool counted;                 /* its use counts as use by others */
	bool gone; /* the pod is deleted; the task is kept for its outcome */
	/* calls were made and not refused: ASK_BIND, ASK_LEAVE, ASK_FORCE */
	bool binding, leaving, forced;
	bool mapped;     /* its status names its ResourceClaim */
	bool giving;     /* a call about its ResourceClaim is not answered */
	int64_t gone_ms; /* when its deletion was first seen; 0: never */
};

TAILQ_HEAD(kube_tasks, kube_task);

bool kube_task_is_bound(const struct kube_task *task);

/* Whether the script failed by itself: not because the pod was told to end,
 * deleted or lost. */
bool kube_task_has_failed(const struct kube_task *task);

/* Whether it may use its node's resources: it is bound and has not ended. */
bool kube_task_is_alive(const struct kube_task *task);

/* Whether its pod was deleted without waiting for the kubelet (ASK_FORCE), as
 * its node can no longer report the end. */
bool kube_task_is_given_up(const struct kube_task *task);

/* Returns why a pod disappeared that was not told to end. */
const char *kube_task_loss(const struct kube_attempt *a,
                           const struct kube_task *task);

/* Count its resources as used by others if it has no attempt that accounts for
 * them; stop counting them if it has one. */
void kube_task_count(struct kube *kube, struct kube_task *task);

/* The task must be loose. */
void kube_task_free(struct kube *kube, struct kube_task *task);

#endif
