/*
 * shared.h - Secrets that the tasks of an array share
 *
 * Script and environment are the same for all tasks of an array, and may be a
 * megabyte. For an array of 1,000 tasks, sharing saves 999 POSTs, up to two
 * thirds of the bytes that the starts send, and 999 objects in etcd.
 */
#ifndef AISCHEDD_RUN_KUBE_SHARED_H
#define AISCHEDD_RUN_KUBE_SHARED_H

#include <stdbool.h>

struct err;
struct kube;
struct kube_attempt;
struct kube_job;
struct kube_space;

struct kube_shared {
	struct kube *kube;
	struct kube_space *space;
	char *name;
	unsigned users; /* attempts and Jobs that use the Secret */
	bool there;     /* the Secret exists, as far as we know */
	bool asking;    /* a call to make or delete it is unanswered */
};

/* Add or remove a user of the Secret. When it has no user left, it is
 * deleted. */
struct kube_shared *kube_shared_get(struct kube_space *space, const char *name);
void kube_shared_put(struct kube_shared *shared); /* NULL is allowed */

/* Delete the shared Secrets that have no users. Called after recover() has been
 * answered. */
void kube_shared_recall(struct kube *kube);

/* Make the shared Secret of attempt a, unless it exists. */
void kube_shared_make(struct kube_attempt *a);

/* Note that the Job is about to be deleted, so that it no longer uses its
 * Secret. If it was the last user, deletes the Secret first and returns true;
 * then kube_shared_gone() deletes the Job. */
bool kube_shared_goes_first(struct kube_job *job);

/* Handle the answers to kube_ask_shared(): to making the Secret, and to
 * deleting it. kube_shared_gone() may free `shared`. */
void kube_shared_made(struct kube_shared *shared, const struct err *err);
void kube_shared_gone(struct kube_shared *shared, const struct err *err);

/* Free all shared Secrets. Must be called before attempts and Jobs are
 * freed. */
void kube_shared_free(struct kube *kube);

#endif
