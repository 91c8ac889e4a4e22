/*
 * ask.h - calls of attempts, and to whom their answers go
 */
#ifndef AISCHEDD_RUN_KUBE_ASK_H
#define AISCHEDD_RUN_KUBE_ASK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "libcommon/err.h"

struct kube;
struct kube_attempt;
struct kube_job;
struct kube_shared;
struct kube_task;

enum kube_ask_kind {
	ASK_JOB,
	ASK_LOOK, /* at the Job that is there already */
	ASK_SECRET,
	ASK_UNSHARE, /* delete a Secret that was shared */
	ASK_SERVICE,
	ASK_INDEXES,
	ASK_BIND,
	ASK_LEAVE,
	ASK_DELETE, /* the Job, of an attempt that does not end */
	ASK_FORCE,  /* delete a pod without waiting for its node */
	ASK_REMOVE, /* the Job of nobody */
	ASK_WHY,    /* the cluster makes no pods of some Jobs */
	ASK_KINDS
};

/* Refused calls that are not those of a start are made again after this. */
enum { KUBE_REST_MS = 5000 };

/* Why calls of a kind are not allowed; code 0: they are. */
struct kube_refused {
	struct err err;
	int64_t ms; /* the last time */
};

/* Calls under way, of all attempts. */
struct kube_asks {
	TAILQ_HEAD(, kube_ask) list;
	struct kube_refused refused[ASK_KINDS];
};

/* Those of one attempt. */
struct kube_calls {
	unsigned open[ASK_KINDS]; /* not answered yet */
	int64_t rest_ms; /* nothing but a start is asked for before then */
};

/* body is taken.  of: the pod. */
void kube_ask_job(struct kube_attempt *a, enum kube_ask_kind kind,
                  json_t *body);
void kube_ask_pod(struct kube_attempt *a, enum kube_ask_kind kind,
                  const struct kube_task *task, json_t *body);

/* Whether a call about the attempt is not answered yet. */
bool kube_ask_is_open(const struct kube_attempt *a);

/* Delete a Job that belongs to no attempt; first its Secret, if that is shared
 * with no other. */
void kube_ask_remove(struct kube *kube, struct kube_job *job);

/* Make the Secret of a, or (NULL) delete it. */
void kube_ask_shared(struct kube_shared *shared, struct kube_attempt *a);

/* Events about Jobs of which no pods can be made. */
void kube_ask_why(struct kube *kube);

void kube_ask_free_all(struct kube *kube);

#endif
