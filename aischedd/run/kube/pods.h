/*
 * pods.h - pods, ours and others, as the watch reports them
 */
#ifndef AISCHEDD_RUN_KUBE_PODS_H
#define AISCHEDD_RUN_KUBE_PODS_H

#include <jansson.h>
#include <stdbool.h>

#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/task.h"
#include "libcommon/map.h"

struct kube;
struct kube_space;

struct kube_pods {
	struct map ours;         /* by uid: struct kube_task */
	struct map others;       /* by uid: struct other_pod */
	struct kube_tasks loose; /* our pods without attempt */
};

/* Handle what the watch of all pods reports. obj: as in kube_watch_fn. */
void kube_pods_news(struct kube *kube, enum kube_news news, json_t *obj);
/* Note in each claim a pod of others that is on a node and mounts it. */
void kube_pods_mark(struct kube *kube);

/* Returns our pod of this uid, or NULL. */
struct kube_task *kube_pods_find(const struct kube *kube, const char *uid);

void kube_pods_free(struct kube *kube);

#endif
