/*
 * foreign.h - read Jobs of others as requests
 *
 * Pure. A suspended Job that was made with kubectl and has our schedulerName
 * and a queue in its label aisched.io/queue is a job like any other. A task
 * asks for as much as its pod requests, counted as Kubernetes counts it; labels
 * or annotations aisched.io/OPTION stand for options of aisub.
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

/* Prefix of the name of a user of a cluster, to tell them from a user of this
 * machine with that name. No namespace has such a name. */
#define KUBE_USER_PREFIX "k8s:user:"

enum { KUBE_USER_MAX = 253 };

/* The state of such a Job; strings are borrowed from the caller's object. */
struct kube_foreign {
	const char *name, *uid, *version; /* resourceVersion */
	int64_t generation;
	bool queued;    /* it has the label KUBE_LABEL_QUEUE */
	bool suspended; /* spec.suspend is set */
	bool deleting;
	bool complete, failed;
	bool late;                    /* it failed at its time limit */
	const char *reason, *message; /* of its end, or "" */
	const char *priority_class;   /* of its pods, or "" */
	uint32_t width;               /* pods that run at once at its start */
	int64_t rest; /* pods still to succeed; INT64_MAX: any number */
	/* taken: its labels say that some daemon has taken it; ours: that it
	 * was this daemon. */
	bool taken, ours;
	uint64_t job; /* if ours: its job, 0: none */
};

/* Fails with EINVAL if it has no name or uid. */
int kube_foreign_look(json_t *obj, const struct kube_home *home,
                      struct kube_foreign *ret, struct err *err);

/*
 * Read what the Job requests. *ret_user: KUBE_USER_PREFIX and the name in the
 * Job's annotation, if the pool trusts that, else NULL. Strings are in the
 * arena. Fails with EINVAL if it cannot become a job; the error is meant for
 * the Job's owner.
 */
int kube_foreign_read(json_t *obj, const struct conf_pool *pool,
                      const struct conf_topology *topology, int64_t now,
                      struct arena *arena, struct spec *ret,
                      const char **ret_user, struct err *err);

/* PATCH: label the Job as ours, unless it has changed since this version. */
json_t *kube_foreign_claim(const struct kube_home *home, const char *uid,
                           const char *version, uint64_t job);

/* PATCH: suspend the Job, or unsuspend it. */
json_t *kube_foreign_suspend(const char *uid, bool suspend);

/* PATCH: make the Job fail, as it exceeded its time limit. */
json_t *kube_foreign_expire(const char *uid);

#endif
