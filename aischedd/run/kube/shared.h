/*
 * shared.h - Secrets that the tasks of an array share
 *
 * Script and environment are the same for all tasks of an array, and may be a
 * megabyte. For 1,000 tasks sharing saves 999 POSTs, up to two thirds of all
 * that a start sends, and as many objects in etcd.
 */
#ifndef AISCHEDD_RUN_KUBE_SHARED_H
#define AISCHEDD_RUN_KUBE_SHARED_H

#include <stdbool.h>

struct err;
struct kube;
struct kube_attempt;
struct kube_job;

struct kube_shared {
	struct kube *kube;
	char *name;
	unsigned users; /* attempts, and Jobs that stay */
	bool there;     /* it exists, as far as we know */
	bool asking;    /* a call to make or delete it is unanswered */
};

/* Add or remove a user; without users it is deleted. */
struct kube_shared *kube_shared_get(struct kube *kube, const char *name);
void kube_shared_put(struct kube_shared *shared); /* NULL is allowed */

/* Called once recover() has been answered: delete those without users. */
void kube_shared_recall(struct kube *kube);

/* Make the Secret of a, unless it exists. */
void kube_shared_make(struct kube_attempt *a);

/* The Job is about to go and is no longer a user. Returns true if its Secret
 * goes first; kube_shared_gone() then removes the Job. */
bool kube_shared_goes_first(struct kube_job *job);

/* Handle the answers to kube_ask_shared(); gone() may free it. */
void kube_shared_made(struct kube_shared *shared, const struct err *err);
void kube_shared_gone(struct kube_shared *shared, const struct err *err);

/* Call it before attempts and Jobs are freed. */
void kube_shared_free(struct kube *kube);

#endif
