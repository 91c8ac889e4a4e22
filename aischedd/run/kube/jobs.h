/*
 * jobs.h - what is heard of our Jobs
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

/* A Job of ours, as the watch tells. */
struct kube_job {
	struct kube_shared *shared; /* or NULL */
	char *name, *uid;
	char *queue; /* if its pods are to find each other; else NULL */
	struct kube_owner owner;
	uint32_t indexes, tasks; /* now; that it was started with */
	uint32_t replace;        /* pods of each index, if they fail */
	bool marked;             /* not seen yet in the list being read */
	bool deleting, removing; /* by whomever; asked by us */
	int64_t rest_ms;         /* its removal was refused: not before then */
};

/* As the watch of Jobs tells it. */
void kube_jobs_news(struct kube *kube, enum kube_news news, json_t *obj);
void kube_jobs_free(struct kube *kube);

/* Its removal was refused; a sweep asks again. */
void kube_jobs_remove_later(struct kube_job *job);

#endif
