/*
 * foreign.h - read Jobs made with kubectl as requests for jobs
 *
 * Pure. A suspended Job made with kubectl that has our schedulerName, and a
 * queue in its label aisched.io/queue, becomes a job like any other. A task
 * requests as much as the Job's pod, counted as Kubernetes counts it; labels or
 * annotations aisched.io/OPTION stand for options of aisub.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_FOREIGN_H
#define AISCHEDD_RUN_KUBE_OBJECT_FOREIGN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/object.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"
#include "libcommon/spec/spec.h"

#define KUBE_SCHEDULER "aisched"
#define KUBE_NOTE_USER "aisched.io/user"

/* Prefix of the names of cluster users, so that they differ from users of this
 * machine, and from namespaces. */
#define KUBE_USER_PREFIX "k8s:user:"

enum { KUBE_USER_MAX = 253 };

/* The state of a Job made with kubectl, or of a pod without one. Strings are
 * borrowed from its JSON. */
struct kube_foreign {
	const char *name, *uid, *version; /* version: resourceVersion */
	int64_t generation;
	int64_t start;  /* status.startTime: when it was resumed; 0: not */
	bool plain;     /* it is a pod, read by plain.h */
	bool queued;    /* it has the label KUBE_LABEL_QUEUE */
	bool suspended; /* spec.suspend is set */
	bool deleting;
	bool complete, failed;
	bool late; /* it failed because its time limit passed */
	const char *reason, *message; /* why it ended, or "" */
	const char *priority_class;   /* priorityClassName of its pods, or "" */
	uint32_t width; /* how many pods run at once at its start */
	int64_t rest;   /* pods still to succeed; INT64_MAX: any number */
	/* taken: its labels or annotations say that a daemon has taken it;
	 * ours: this daemon has. */
	bool taken, ours;
	uint64_t job; /* if ours: the id of its job; 0: none */
};

/* Read the state of the Job into *ret. Fails with EINVAL if it has no name or
 * uid. */
int kube_foreign_look(json_t *obj, const struct kube_home *home,
                      struct kube_foreign *ret, struct err *err);

struct kube_wanted;

/*
 * Read what the Job requests into *ret. wanted: which GPUs the ResourceClaims
 * of its pods ask for, as kube_wanted_read() found; NULL: the pool gives none
 * by claims, so a Job with claims is refused. *ret_user becomes
 * KUBE_USER_PREFIX and the user named in the Job's annotation; NULL if the pool
 * does not trust this annotation. Strings are in the arena. Fails with EINVAL
 * if the Job cannot become a job; the error is meant for the Job's owner.
 */
int kube_foreign_read(json_t *obj, const struct conf_pool *pool,
                      const struct conf_topology *topology,
                      const struct kube_wanted *wanted, int64_t now,
                      struct arena *arena, struct spec *ret,
                      const char **ret_user, struct err *err);

/* Returns the user named in the annotation of the Job, if the pool trusts that,
 * else "". Borrowed from obj. */
const char *kube_foreign_user(json_t *obj, const struct conf_pool *pool);

/* PATCH: claim the Job for this daemon and job. Fails if the Job has changed
 * since this version. */
json_t *kube_foreign_claim(const struct kube_home *home, const char *uid,
                           const char *version, uint64_t job);

/* PATCH: suspend the Job, or resume it. */
json_t *kube_foreign_suspend(const char *uid, bool suspend);

/* PATCH: make the Job fail at once with DeadlineExceeded. */
json_t *kube_foreign_expire(const char *uid);

#endif
