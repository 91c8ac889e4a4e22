/*
 * task.h - a pod of our Jobs, and what its state means
 *
 * A task without attempt is called loose: its attempt was freed before the pod
 * was deleted, or is not known yet.
 */
#ifndef AISCHEDD_RUN_KUBE_TASK_H
#define AISCHEDD_RUN_KUBE_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "aischedd/run/kube/object/object.h"
#include "aischedd/run/kube/object/pod.h"
#include "aischedd/run/kube/use/use.h"

struct kube;
struct kube_attempt;

struct kube_task {
	TAILQ_ENTRY(kube_task) of_list;
	struct kube_pod pod;
	struct kube_owner owner;
	struct kube_attempt *attempt; /* NULL: loose */
	bool marked;  /* the list being read has not shown it yet */
	bool counted; /* its resources are counted as used by others */
	bool gone;    /* the pod is deleted; the task is kept for its outcome */
	/* whether a call was made, and not refused: ASK_BIND, ASK_LEAVE,
	 * ASK_FORCE, ASK_LOSE */
	bool binding, leaving, forced, losing;
	bool mapped;     /* its status names its ResourceClaim */
	bool giving;     /* a call about its ResourceClaim is not answered */
	int64_t gone_ms; /* when its deletion was first seen; 0: never */
	struct kube_task_use use;
};

TAILQ_HEAD(kube_tasks, kube_task);

bool kube_task_is_bound(const struct kube_task *task);

/* Whether the script in the pod failed, although the pod was neither told to
 * end, deleted nor lost. */
bool kube_task_has_failed(const struct kube_task *task);

/* Whether the pod may use resources of its node: it is bound and has not
 * ended. */
bool kube_task_is_alive(const struct kube_task *task);

/* Whether its pod was deleted without waiting for the kubelet (ASK_FORCE), as
 * its node can no longer report the end. */
bool kube_task_is_given_up(const struct kube_task *task);

/* Whether the pod is lost: kube_task_is_given_up(), or the pod was evicted,
 * deleted by somebody else, or ended in another way that neither its script nor
 * we caused. */
bool kube_task_is_lost(const struct kube_attempt *a,
                       const struct kube_task *task);

/* Whether the pod was lost and the Job controller makes another one for its
 * index. */
bool kube_task_comes_back(const struct kube_attempt *a,
                          const struct kube_task *task);

/* Returns a text on why the pod is lost: its node is gone or down, or the pod
 * was deleted. */
const char *kube_task_loss(const struct kube_attempt *a,
                           const struct kube_task *task);

/* Count the pod's resources as used by others if no attempt accounts for them;
 * stop counting them if one does. An attempt about which recover() is not
 * answered yet accounts for them, too. */
void kube_task_count(struct kube *kube, struct kube_task *task);

/* Free a loose task. */
void kube_task_free(struct kube *kube, struct kube_task *task);

#endif
