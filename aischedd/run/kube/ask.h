/*
 * ask.h - make calls for attempts, and pass on the answers
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
struct kube_ports;
struct kube_shared;
struct kube_space;
struct kube_task;

enum kube_ask_kind {
	ASK_JOB,  /* make the Job */
	ASK_LOOK, /* read the existing Job */
	ASK_SECRET,
	ASK_UNSHARE, /* delete a shared Secret */
	ASK_SERVICE,
	ASK_POLICY,     /* make the NetworkPolicy of isolate_network */
	ASK_PORTS,      /* make the Service that leads to the job's ports */
	ASK_PORTS_LOOK, /* read that Service */
	ASK_PORTS_LIST, /* list these Services of a namespace */
	ASK_UNPORTS,    /* delete that Service */
	ASK_INDEXES,    /* set how many indexes the Job has */
	ASK_CLAIM,      /* set the node for which a claim's volume is made */
	ASK_GRANT,      /* make a ResourceClaim */
	ASK_GRANT_KEEP, /* add the finalizer that the ResourceClaim lost */
	ASK_GRANT_FILL, /* allocate devices to the ResourceClaim */
	ASK_GRANT_MAP,  /* name the ResourceClaim in its pod's status */
	ASK_GRANT_DROP, /* delete the ResourceClaim of a task that moves */
	ASK_GRANT_STIR, /* make the controller look at the ResourceClaim */
	ASK_BIND,
	ASK_LEAVE,  /* set the deadline of a pod to now, so that it ends */
	ASK_LOSE,   /* set a pod to Failed, as its node is lost */
	ASK_DELETE, /* delete the Job of an attempt that does not end */
	ASK_FORCE,  /* delete a pod without waiting for its node */
	ASK_REMOVE, /* delete a Job that belongs to no attempt */
	ASK_WHY,    /* read the Events that say why some Jobs have no pods */
	ASK_KINDS
};

/* How long an attempt that has started makes no calls after one was refused,
 * and how long a refused DELETE of a Job is not repeated. */
enum { KUBE_REST_MS = 5000 };

/* Why the API server refuses calls of a kind in a namespace; code 0: it does
 * not. */
struct kube_refused {
	struct err err;
	int64_t ms; /* time of the latest refusal */
};

/* All calls in progress. */
struct kube_asks {
	TAILQ_HEAD(, kube_ask) list;
};

/* The calls of one attempt. */
struct kube_calls {
	unsigned open[ASK_KINDS]; /* unanswered calls */
	/* time before which an attempt that has started makes no calls */
	int64_t rest_ms;
};

/* Make a call about the Job of an attempt, or about one of its pods; takes the
 * body. */
void kube_ask_job(struct kube_attempt *a, enum kube_ask_kind kind,
                  json_t *body);
void kube_ask_pod(struct kube_attempt *a, enum kube_ask_kind kind,
                  const struct kube_task *task, json_t *body);

/* Make an ASK_CLAIM call about this volume claim; takes the body. */
void kube_ask_claim(struct kube_attempt *a, const char *claim, json_t *body);

/* Make a call about the ResourceClaim of this name, for whose answer no attempt
 * waits; takes the body. */
void kube_ask_loose_grant(struct kube_space *space, enum kube_ask_kind kind,
                          const char *name, json_t *body);

/* Make a call about the ResourceClaim of a pod; takes the body. name: the name
 * of the object that the call changes, the ResourceClaim or the pod. */
void kube_ask_grant(struct kube_attempt *a, enum kube_ask_kind kind,
                    struct kube_task *task, const char *name, json_t *body);

/* Whether a call about the attempt is not answered yet. */
bool kube_ask_is_open(const struct kube_attempt *a);

/* Delete a Job that belongs to no attempt. If it is the last user of a shared
 * Secret, delete that first. */
void kube_ask_remove(struct kube_job *job);

/* Make the shared Secret from a->make.secret; if a is NULL, delete the
 * Secret. */
void kube_ask_shared(struct kube_shared *shared, struct kube_attempt *a);

/* Make a call about the Service that leads to a job's ports; takes the body. a:
 * the attempt that waits for the answer, or NULL. */
void kube_ask_ports(struct kube_ports *p, struct kube_attempt *a,
                    enum kube_ask_kind kind, json_t *body);

/* List these Services of a namespace, from this page on; NULL: the first. */
void kube_ask_ports_list(struct kube_space *space, const char *page);

/* Read the Events that say why Jobs of a namespace have no pods. */
void kube_ask_why(struct kube_space *space);

void kube_ask_free_all(struct kube *kube);

#endif
