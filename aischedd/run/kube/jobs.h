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

struct kube;
struct kube_shared;

/* A Job of ours. */
struct kube_job {
	struct kube_shared *shared; /* or NULL */
	char *name, *uid;
	char *queue; /* the job's, if it needs a Service; else NULL */
	struct kube_owner owner;
	uint32_t indexes, tasks; /* its indexes now, its tasks at the start */
	uint32_t replace; /* pods of each index that may fail and be replaced */
	bool once;        /* KUBE_NOTE_ONCE */
	bool marked;      /* not yet seen in the list being read */
	/* deleting: the cluster deletes it; removing: we asked for that */
	bool deleting, removing;
	int64_t rest_ms; /* if our deletion was refused: do not ask again before
	                    this time */
};

/* Handle what the watch of Jobs reports. */
void kube_jobs_news(struct kube *kube, enum kube_news news, json_t *obj);
void kube_jobs_free(struct kube *kube);

/* Note that our deletion of the Job was refused; kube_recover_sweep() asks
 * again later. */
void kube_jobs_remove_later(struct kube_job *job);

#endif
