/*
 * jobs.h - our Jobs, as the watch reports them
 */
#ifndef AISCHEDD_RUN_KUBE_JOBS_H
#define AISCHEDD_RUN_KUBE_JOBS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/client/watch.h"
#include "aischedd/run/kube/object/object.h"
#include "libcommon/spec/spec.h"

struct kube;
struct kube_shared;
struct kube_space;

/* A Job of ours. */
struct kube_job {
	/* the shared Secret that the Job names; or NULL */
	struct kube_shared *shared;
	struct kube_space *space;
	char *name, *uid;
	/* queue of the job if the job needs a Service; else NULL */
	char *queue;
	struct kube_owner owner;
	/* number of indexes now, and of tasks at the start */
	uint32_t indexes, tasks;
	uint32_t replace; /* pods of each index that may fail and be replaced */
	struct spec_loss loss; /* what happens when its pods are lost */
	bool once;             /* it has KUBE_NOTE_ONCE */
	bool marked;           /* the list being read has not shown it yet */
	/* deleting: it has a deletionTimestamp; removing: we have begun to
	 * delete it, perhaps with its Secret first */
	bool deleting, removing;
	/* time before which a refused DELETE is not repeated */
	int64_t rest_ms;
};

/* Handle what the watch of Jobs in a namespace reports. */
void kube_jobs_news(struct kube_space *space, enum kube_news news, json_t *obj);

/* Returns the number of tasks with which the job of the Job started; 0: others
 * made the Job. */
uint32_t kube_jobs_tasks(const json_t *obj);

/* Returns what happens when pods of the Job are lost with their nodes. */
struct spec_loss kube_jobs_loss(const json_t *obj);

/* Returns our Job of this name, or NULL. */
struct kube_job *kube_jobs_find(const struct kube_space *space,
                                const char *name);

void kube_jobs_free(struct kube *kube);

/* Note that our deletion of the Job was refused; kube_recover_sweep() asks
 * again later. */
void kube_jobs_remove_later(struct kube_job *job);

#endif
