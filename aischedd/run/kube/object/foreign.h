/*
 * foreign.h - a Job that somebody else made, as the queue sees it
 *
 * Pure.  Made with kubectl, suspended, with a queue in its label
 * aisched.io/queue and our schedulerName, it is a job like any other: what its
 * pods ask for, counted as Kubernetes counts, is what a task asks for, and
 * labels or annotations aisched.io/OPTION say what the options of aisub would.
 */
#ifndef AISCHEDD_RUN_KUBE_OBJECT_FOREIGN_H
#define AISCHEDD_RUN_KUBE_OBJECT_FOREIGN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "aischedd/run/kube/object/object.h"
#include "libcommon/err.h"
#include "libcommon/mem.h"
#include "libcommon/spec.h"

#define KUBE_SCHEDULER "aisched"
#define KUBE_NOTE_USER "aisched.io/user"

/* Before the name of a user of a cluster: who has that name on this machine is
 * another.  No namespace is called so. */
#define KUBE_USER_PREFIX "k8s:user:"

enum { KUBE_USER_MAX = 253 };

/* Where it stands; of texts, the caller's object is the owner. */
struct kube_foreign {
	const char *name, *uid, *version; /* resourceVersion */
	int64_t generation;
	bool queued;    /* it has our label */
	bool suspended; /* it is to be */
	bool deleting;
	bool complete, failed;
	bool late; /* failed: it ran for longer than it may */
	const char *reason, *message; /* of the end, or "" */
	uint32_t width;               /* pods at a time when it begins */
	int64_t rest; /* pods that have not succeeded; INT64_MAX: any number */
	/* As a daemon that took it has written on it. */
	bool taken, ours;
	uint64_t job; /* ours: the number, 0: none */
};

/* Fails: EINVAL it has no name or no uid. */
int kube_foreign_look(json_t *obj, const struct kube_home *home,
                      struct kube_foreign *ret, struct err *err);

/*
 * What it asks for.  *ret_user: KUBE_USER_PREFIX and what its annotation says,
 * if the pool believes that, else NULL.  Texts are in the arena. Fails: EINVAL,
 * it cannot be taken; the sentence is for who made it.
 */
int kube_foreign_read(json_t *obj, const struct conf_pool *pool, int64_t now,
                      struct arena *arena, struct spec *ret,
                      const char **ret_user, struct err *err);

/* PATCH: it is ours from now on, if it is still what it was. */
json_t *kube_foreign_claim(const struct kube_home *home, const char *uid,
                           const char *version, uint64_t job);

/* PATCH: it runs, or it does not. */
json_t *kube_foreign_suspend(const char *uid, bool suspend);

/* PATCH: its time is over. */
json_t *kube_foreign_expire(const char *uid);

#endif
