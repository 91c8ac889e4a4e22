/*
 * task.h - one pod of our Jobs, and what its state means
 *
 * A task without attempt is loose: its pod outlived the attempt, or the attempt
 * is not known yet.
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
	bool counted;                 /* counted as use of its node by others */
	bool gone; /* the pod is deleted; kept for its outcome */
	bool binding, leaving, forced; /* calls made and not refused */
	bool mapped;                   /* its status was told its claim */
	bool giving;     /* a call about its claim is not answered yet */
	int64_t gone_ms; /* when its deletion was first seen; 0: never */
};

TAILQ_HEAD(kube_tasks, kube_task);

bool kube_task_is_bound(const struct kube_task *task);

/* Whether the script failed, other than by being told to end. */
bool kube_task_has_failed(const struct kube_task *task);

/* Whether it holds its node. */
bool kube_task_is_alive(const struct kube_task *task);

/* Whether it was deleted for good on a node that can no longer report its end:
 * its object is deleted with its Job. */
bool kube_task_is_given_up(const struct kube_task *task);

/* Returns why a pod has gone that should have stayed. */
const char *kube_task_loss(const struct kube_attempt *a,
                           const struct kube_task *task);

/* Count its node as used by others, unless its attempt accounts for it. */
void kube_task_count(struct kube *kube, struct kube_task *task);

/* The task must be loose. */
void kube_task_free(struct kube *kube, struct kube_task *task);

#endif
